// The acceleration of bodies of equal mass. A thread has `bodies` of them; the block_size_y threads of one x share
// the others out, and their sums are added at the end.
#define share (count / block_size_y)

extern "C" __global__ void nbody(const float* position, float* acceleration) {
  __shared__ float sums[block_size_y][block_size_x * 3];
  const int first = (blockIdx.x * bodies) * block_size_x + threadIdx.x;
  float own[bodies][3], sum[bodies][3] = {};
#pragma unroll
  for (int b = 0; b < bodies; ++b) {
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) own[b][axis] = position[3 * (first + b * block_size_x) + axis];
  }
#if use_shared
  __shared__ float others[block_size_y][block_size_x * 3];
  for (int j0 = threadIdx.y * share; j0 < (threadIdx.y + 1) * share; j0 += block_size_x) {
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const int place = axis * block_size_x + threadIdx.x;
      others[threadIdx.y][place] = position[3 * j0 + place];
    }
    __syncthreads();
#pragma unroll unroll_depth
    for (int j = 0; j < block_size_x; ++j) {
      const float* other = &others[threadIdx.y][3 * j];
#else
  {
#pragma unroll unroll_depth
    for (int j = threadIdx.y * share; j < (threadIdx.y + 1) * share; ++j) {
      const float* other = &position[3 * j];
#endif
#pragma unroll
      for (int b = 0; b < bodies; ++b) {
        const float x = other[0] - own[b][0], y = other[1] - own[b][1], z = other[2] - own[b][2];
        const float square = x * x + y * y + z * z + 0.01f;
#if use_rsqrt
        const float inverse = rsqrtf(square);
#else
        const float inverse = 1.0f / sqrtf(square);
#endif
        const float cube = inverse * inverse * inverse;
        sum[b][0] += x * cube;
        sum[b][1] += y * cube;
        sum[b][2] += z * cube;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int b = 0; b < bodies; ++b) {
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) sums[threadIdx.y][axis * block_size_x + threadIdx.x] = sum[b][axis];
    __syncthreads();
    if (threadIdx.y == 0) {
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        float total = 0;
        for (int y = 0; y < block_size_y; ++y) total += sums[y][axis * block_size_x + threadIdx.x];
        acceleration[3 * (first + b * block_size_x) + axis] = total;
      }
    }
    __syncthreads();
  }
}
