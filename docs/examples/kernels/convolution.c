// A convolution of a padded image with a square filter: tile_rows x tile_columns outputs at a time.
void convolution(int block_x, int block_y, int block_z, const float* image, const float* filter,
                 float* out) {
  (void)block_z;
  for (int y0 = block_y * block_rows; y0 < (block_y + 1) * block_rows; y0 += tile_rows) {
    for (int x0 = block_x * block_columns; x0 < (block_x + 1) * block_columns; x0 += tile_columns) {
      float sum[tile_rows][tile_columns] = {{0}};
      for (int fy = 0; fy < filter_size; ++fy) {
        for (int fx = 0; fx < filter_size; ++fx) {
          const float weight = filter[fy * filter_size + fx];
          for (int y = 0; y < tile_rows; ++y) {
            for (int x = 0; x < tile_columns; ++x) {
              sum[y][x] += weight * image[(y0 + y + fy) * input_width + x0 + x + fx];
            }
          }
        }
      }
      for (int y = 0; y < tile_rows; ++y) {
        for (int x = 0; x < tile_columns; ++x) out[(y0 + y) * output_width + x0 + x] = sum[y][x];
      }
    }
  }
}
