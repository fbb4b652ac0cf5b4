/* What the C programs of these tests expect of a library: failed expectations are printed and
   counted. Not thread-safe. */
#ifndef MLC_TESTS_E2E_LIBRARY_EXPECTATIONS_H_
#define MLC_TESTS_E2E_LIBRARY_EXPECTATIONS_H_

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "mlc_model.h"

static int failures;

static inline void Expect(int holds, const char* claim) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s\n", claim);
}

static inline void ExpectStatus(mlc_status actual, mlc_status expected, const char* claim) {
  if (actual == expected) return;
  ++failures;
  fprintf(stderr, "FAILED: %s: status %d, not %d\n", claim, (int)actual, (int)expected);
}

/* As InputValue of small_models.cc. */
static inline void FillInput(float* values, int port, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    values[i] = (float)((i * 37 + port * 11) % 101) / 50.0f - 1.0f;
  }
}

static inline int Near(const float* actual, const float* expected, int64_t count) {
  float largest = 0, difference = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!isfinite(actual[i])) return 0;
    largest = fmaxf(largest, fabsf(expected[i]));
    difference = fmaxf(difference, fabsf(actual[i] - expected[i]));
  }
  return difference <= 1e-4f * largest;
}

/* The same numbers in each run. */
static inline uint64_t Random(uint64_t below) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % below;
}

#endif
