// C = A * B with tiles in shared memory; each thread computes work outputs of a column.
extern "C" __global__ void __launch_bounds__(tile * tile / work)
    gemm(int n, const float* a, const float* b, float* c) {
  __shared__ float a_tile[tile][tile];
  __shared__ float b_tile[tile][tile];
  const int column = blockIdx.x * tile + threadIdx.x;
  const int row = blockIdx.y * tile + threadIdx.y * work;
  float sum[work] = {};
  for (int k0 = 0; k0 < n; k0 += tile) {
    for (int i = 0; i < work; ++i) {
      const int y = threadIdx.y * work + i;
      a_tile[y][threadIdx.x] = a[(row + i) * n + k0 + threadIdx.x];
      b_tile[y][threadIdx.x] = b[(k0 + y) * n + column];
    }
    __syncthreads();
#pragma unroll unroll_depth
    for (int k = 0; k < tile; ++k) {
      for (int i = 0; i < work; ++i) {
        sum[i] += a_tile[threadIdx.y * work + i][k] * b_tile[k][threadIdx.x];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < work; ++i) c[(row + i) * n + column] = sum[i];
}
