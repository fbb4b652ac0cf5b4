#include <math.h>

// The acceleration of bodies of equal mass: `bodies` of them a call, `unroll` sums at a time.
void nbody(int block_x, int block_y, int block_z, const float* position, float* acceleration) {
  (void)block_y, (void)block_z;
  for (int i = block_x * bodies; i < (block_x + 1) * bodies; ++i) {
    float sum[3][unroll] = {{0}};
    for (int j = 0; j < count; j += unroll) {
      for (int u = 0; u < unroll; ++u) {
        const float dx = position[3 * (j + u)] - position[3 * i];
        const float dy = position[3 * (j + u) + 1] - position[3 * i + 1];
        const float dz = position[3 * (j + u) + 2] - position[3 * i + 2];
        const float square = dx * dx + dy * dy + dz * dz + 0.01f;
#if use_sqrt
        const float inverse = 1.0f / sqrtf(square);
        const float cube = inverse * inverse * inverse;
#else
        const float cube = powf(square, -1.5f);
#endif
        sum[0][u] += dx * cube;
        sum[1][u] += dy * cube;
        sum[2][u] += dz * cube;
      }
    }
    for (int axis = 0; axis < 3; ++axis) {
      float total = 0;
      for (int u = 0; u < unroll; ++u) total += sum[axis][u];
      acceleration[3 * i + axis] = total;
    }
  }
}
