#!/usr/bin/env python3
"""Tunes a kernel in C from Python and calls it.

tune_kernel.py [TRIALS [LOG]]
"""

import sys
import time

import mlc_tune
import numpy as np

SOURCE = """
#include <math.h>

// The rows of a softmax: `rows` of them a call, `lanes` sums and maxima at a time.
void softmax(int block_x, int block_y, int block_z, const float* x, float* y) {
  (void)block_y, (void)block_z;
  for (int row = block_x * rows; row < (block_x + 1) * rows; ++row) {
    const float* from = x + row * columns;
    float* to = y + row * columns;
    float most[lanes], sum[lanes];
    for (int k = 0; k < lanes; ++k) most[k] = from[k], sum[k] = 0;
    for (int i = 0; i < columns; i += lanes) {
      for (int k = 0; k < lanes; ++k) most[k] = most[k] > from[i + k] ? most[k] : from[i + k];
    }
    float top = most[0], total = 0;
    for (int k = 1; k < lanes; ++k) top = top > most[k] ? top : most[k];
    for (int i = 0; i < columns; i += lanes) {
      for (int k = 0; k < lanes; ++k) sum[k] += to[i + k] = expf(from[i + k] - top);
    }
    for (int k = 0; k < lanes; ++k) total += sum[k];
    for (int i = 0; i < columns; ++i) to[i] /= total;
  }
}
"""


@mlc_tune.kernel(
    SOURCE,
    parameters={"rows": [1, 2, 4, 8, 16], "lanes": [1, 4, 8, 16, 32, 64], "columns": [1024]},
    defaults={"lanes": 1},
    grid=lambda x: f"{x.shape[0]} // rows",
    options=["-ffast-math"],
    log="tuning.db",
    threads=1,
)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main(trials=30, log="tuning.db"):
    x = np.random.default_rng(1).standard_normal((256, 1024)).astype(np.float32)
    tuned = softmax.tune(x, trials=int(trials), log=log)
    print(f"{tuned.default_ms:.3f} ms -> {tuned.time_ms:.3f} ms with {tuned.config}")
    start = time.perf_counter()
    y = softmax(x)
    print(f"called in {1e3 * (time.perf_counter() - start):.3f} ms; a row sums to {y[0].sum():.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
