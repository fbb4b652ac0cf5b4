/* An output that may lie where an input does: the run updates the buffer. Prints each failed
   expectation; exits with 1 if any. */
#include <string.h>

#include "cache/cache.h"
#include "expectations.h"
#include "first/first.h"

enum { kRows = 6, kColumns = 4, kElements = kRows * kColumns };

/* The second cache is the output of runs that do not update the first. */
typedef struct Buffers {
  _Alignas(64) float past[kElements + 1];
  _Alignas(64) float present[kElements];
  _Alignas(64) float row[kColumns];
  _Alignas(64) int64_t place;
  _Alignas(64) float twice[kElements];
} Buffers;

static void Prepare(Buffers* buffers, int64_t place) {
  FillInput(buffers->past, 0, kElements);
  FillInput(buffers->row, 1, kColumns);
  buffers->place = place;
}

static void ExpectResult(const float* present, const Buffers* buffers, const char* claim) {
  float expected[kElements], twice[kElements];
  FillInput(expected, 0, kElements);
  FillInput(expected + buffers->place * kColumns, 1, kColumns);
  for (int i = 0; i < kElements; ++i) twice[i] = 2 * expected[i];
  Expect(memcmp(present, expected, sizeof(expected)) == 0, claim);
  Expect(memcmp(buffers->twice, twice, sizeof(twice)) == 0, "later kernels read what was written");
}

static void Run(mlc_session* session, Buffers* buffers, float* past, float* present) {
  const void* inputs[] = {past, buffers->row, &buffers->place};
  void* outputs[] = {present, buffers->twice};
  memset(buffers->twice, 0xff, sizeof(buffers->twice));
  ExpectStatus(cache_model.run(session, inputs, outputs), MLC_OK, "a run");
}

/* Both buffers of the pair are the session's. */
static void RunsKeepTheCache(mlc_session* session, Buffers* buffers) {
  float cache[kElements];
  Prepare(buffers, 2);
  ExpectStatus(cache_model.write_cache(session, 0, buffers->past), MLC_OK, "the cache is written");
  Run(session, buffers, NULL, NULL);
  ExpectStatus(cache_model.read_cache(session, 0, cache), MLC_OK, "the cache is read");
  ExpectResult(cache, buffers, "the session's cache is updated");
  ExpectStatus(cache_model.write_cache(session, 0, NULL), MLC_OK, "the cache becomes zeros");
  Run(session, buffers, NULL, NULL);
  ExpectStatus(cache_model.read_cache(session, 0, cache), MLC_OK, "the cache is read");
  for (int i = 0; i < kElements; ++i) {
    const float expected = i / kColumns == 2 ? buffers->row[i % kColumns] : 0;
    Expect(cache[i] == expected, "one row of zeros is written");
  }
  const void* inputs[] = {NULL, buffers->row, &buffers->place};
  void* outputs[] = {buffers->present, buffers->twice};
  ExpectStatus(cache_model.run(session, inputs, outputs), MLC_INVALID_ARGUMENT, "half a pair");
  outputs[1] = NULL;
  inputs[0] = buffers->past;
  ExpectStatus(cache_model.run(session, inputs, outputs), MLC_INVALID_ARGUMENT, "no pair");
  ExpectStatus(cache_model.read_cache(session, 1, cache), MLC_INVALID_ARGUMENT, "no cache");
  ExpectStatus(cache_model.read_cache(session, 0, NULL), MLC_INVALID_ARGUMENT, "no buffer");
  ExpectStatus(cache_model.write_cache(session, 2, cache), MLC_INVALID_ARGUMENT, "no output");
  ExpectStatus(cache_model.write_cache(NULL, 0, cache), MLC_INVALID_ARGUMENT, "no session");
}

int main(void) {
  mlc_model *model = NULL, *other = NULL;
  mlc_session* session = NULL;
  ExpectStatus(cache_model.open(&cache_model, NULL, &model), MLC_OK, "the model opens");
  ExpectStatus(cache_model.create_session(model, NULL, &session), MLC_OK, "a session");
  Expect(CACHE_OUTPUT_0_IN_PLACE_INPUT == 0, "the header has the pair");
  Expect(cache_model.in_place_input(model, 0) == 0, "the library has the pair");
  Expect(cache_model.in_place_input(model, 1) == -1, "other outputs have buffers of their own");
  Expect(cache_model.in_place_input(model, -1) == -1, "no output");
  Expect(cache_model.in_place_input(model, 2) == -1, "no output");
  ExpectStatus(first_model.open(&first_model, NULL, &other), MLC_OK, "another model opens");
  Expect(first_model.in_place_input(other, 0) == -1, "a model without caches");

  static Buffers buffers;
  for (int64_t place = 0; place < kRows; ++place) {
    Prepare(&buffers, place);
    Run(session, &buffers, buffers.past, buffers.past);
    ExpectResult(buffers.past, &buffers, "the cache is updated");
    Prepare(&buffers, place);
    memset(buffers.present, 0xff, sizeof(buffers.present));
    Run(session, &buffers, buffers.past, buffers.present);
    ExpectResult(buffers.present, &buffers, "the cache is copied");
    Prepare(&buffers, place);
    float* unaligned = buffers.past + 1;
    memmove(unaligned, buffers.past, kElements * sizeof(float));
    Run(session, &buffers, unaligned, unaligned);
    ExpectResult(unaligned, &buffers, "an unaligned cache is updated");
  }
  RunsKeepTheCache(session, &buffers);
  cache_model.destroy_session(session);
  cache_model.close(model);
  first_model.close(other);
  return failures == 0 ? 0 : 1;
}
