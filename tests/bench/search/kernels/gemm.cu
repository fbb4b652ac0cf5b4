// C = A * B through tiles in shared memory: a block computes tile_m by tile_n elements in steps of tile_k, a thread
// work_y by work_x of them. `vector_floats` floats are loaded at a time.
#define tile_m (block_size_y * work_y)
#define tile_n (block_size_x * work_x)
#define threads (block_size_x * block_size_y)

struct __align__(vector_floats * 4) Floats {
  float at[vector_floats];
};

extern "C" __global__ void gemm(const float* a, const float* b, float* c) {
  __shared__ float a_tile[tile_k][tile_m + 1];
  __shared__ __align__(16) float b_tile[tile_k][tile_n];
  const int row0 = blockIdx.y * tile_m, column0 = blockIdx.x * tile_n;
  const int thread = threadIdx.y * block_size_x + threadIdx.x;
  float sum[work_y][work_x] = {};
  for (int k0 = 0; k0 < matrix_size; k0 += tile_k) {
#pragma unroll
    for (int i = thread * vector_floats; i < tile_m * tile_k; i += threads * vector_floats) {
      const Floats some = *(const Floats*)&a[(row0 + i / tile_k) * matrix_size + k0 + i % tile_k];
#pragma unroll
      for (int v = 0; v < vector_floats; ++v) a_tile[i % tile_k + v][i / tile_k] = some.at[v];
    }
#pragma unroll
    for (int i = thread * vector_floats; i < tile_n * tile_k; i += threads * vector_floats) {
      *(Floats*)&b_tile[i / tile_n][i % tile_n] = *(const Floats*)&b[(k0 + i / tile_n) * matrix_size + column0 + i % tile_n];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_k; ++k) {
      float left[work_y], right[work_x];
#pragma unroll
      for (int i = 0; i < work_y; ++i) left[i] = a_tile[k][threadIdx.y + i * block_size_y];
#pragma unroll
      for (int j = 0; j < work_x; ++j) right[j] = b_tile[k][threadIdx.x + j * block_size_x];
#pragma unroll
      for (int i = 0; i < work_y; ++i) {
#pragma unroll
        for (int j = 0; j < work_x; ++j) sum[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < work_y; ++i) {
#pragma unroll
    for (int j = 0; j < work_x; ++j) {
      c[(row0 + threadIdx.y + i * block_size_y) * matrix_size + column0 + threadIdx.x + j * block_size_x] = sum[i][j];
    }
  }
}
