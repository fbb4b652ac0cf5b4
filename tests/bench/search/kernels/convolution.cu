// A convolution of a padded image with a square filter. A block computes block_size_x * tile_size_x by
// block_size_y * tile_size_y outputs, a thread tile_size_x by tile_size_y of them.
#define input_width (output_width + filter_size - 1)
#define columns (block_size_x * tile_size_x)
#define rows (block_size_y * tile_size_y)

extern "C" __global__ void convolution(const float* image, const float* filter, float* out) {
  const int x0 = blockIdx.x * columns, y0 = blockIdx.y * rows;
#if use_shared
  __shared__ float tile[rows + filter_size - 1][columns + filter_size - 1 + padding];
  for (int y = threadIdx.y; y < rows + filter_size - 1; y += block_size_y) {
    for (int x = threadIdx.x; x < columns + filter_size - 1; x += block_size_x) {
      tile[y][x] = image[(y0 + y) * input_width + x0 + x];
    }
  }
  __syncthreads();
#define pixel(y, x) tile[y][x]
#else
#define pixel(y, x) image[(y0 + (y)) * input_width + x0 + (x)]
#endif
  float sum[tile_size_y][tile_size_x] = {};
  for (int fy = 0; fy < filter_size; ++fy) {
#pragma unroll filter_unroll
    for (int fx = 0; fx < filter_size; ++fx) {
      const float weight = filter[fy * filter_size + fx];
#pragma unroll
      for (int i = 0; i < tile_size_y; ++i) {
#pragma unroll
        for (int j = 0; j < tile_size_x; ++j) {
          sum[i][j] += weight * pixel(threadIdx.y + i * block_size_y + fy, threadIdx.x + j * block_size_x + fx);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < tile_size_y; ++i) {
#pragma unroll
    for (int j = 0; j < tile_size_x; ++j) {
      out[(y0 + threadIdx.y + i * block_size_y) * output_width + x0 + threadIdx.x + j * block_size_x] = sum[i][j];
    }
  }
}
