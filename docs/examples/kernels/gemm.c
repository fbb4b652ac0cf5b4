// C = A * B, one block of block_rows x block_columns of C a call.
void gemm(int block_x, int block_y, int block_z, int n, const float* a, const float* b, float* c) {
  (void)block_z;
  const int first_row = block_y * block_rows;
  const int first_column = block_x * block_columns;
  for (int row = first_row; row < first_row + block_rows; row += tile_rows) {
    for (int column = first_column; column < first_column + block_columns; column += tile_columns) {
      float sum[tile_rows][tile_columns] = {{0}};
      for (int k = 0; k < n; ++k) {
#if order == 0
        for (int i = 0; i < tile_rows; ++i) {
          for (int j = 0; j < tile_columns; ++j) {
            sum[i][j] += a[(row + i) * n + k] * b[k * n + column + j];
          }
        }
#else
        for (int j = 0; j < tile_columns; ++j) {
          for (int i = 0; i < tile_rows; ++i) {
            sum[i][j] += a[(row + i) * n + k] * b[k * n + column + j];
          }
        }
#endif
      }
      for (int i = 0; i < tile_rows; ++i) {
        for (int j = 0; j < tile_columns; ++j) c[(row + i) * n + column + j] = sum[i][j];
      }
    }
  }
}
