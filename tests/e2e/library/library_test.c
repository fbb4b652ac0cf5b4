/* Three compiled models in one C11 program, used through mlc_model.h alone: two from static
   archives, one with its weights in a file. Prints each failed expectation; exits with 1 if any.
     library_test FOLDER_OF_THE_MODELS SCRATCH_FOLDER */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "beside/beside.h"
#include "expectations.h"
#include "expected.h"
#include "first/first.h"
#include "second/second.h"

static mlc_model* Open(const mlc_model_api* api, const char* weights) {
  mlc_model* model = NULL;
  ExpectStatus(api->open(api, weights, &model), MLC_OK, "the model opens");
  return model;
}

static mlc_session* Session(const mlc_model_api* api, const mlc_model* model, int32_t threads) {
  const mlc_session_options options = {threads};
  mlc_session* session = NULL;
  ExpectStatus(api->create_session(model, &options, &session), MLC_OK, "a session is created");
  return session;
}

/* Buffers of a perceptron's run, `shift` bytes behind an aligned address. */
typedef struct Buffers {
  _Alignas(64) char x[FIRST_INPUT_0_BYTES + 64];
  _Alignas(64) char probabilities[FIRST_OUTPUT_0_BYTES + 64];
  _Alignas(64) char mean[FIRST_OUTPUT_1_BYTES + 64];
} Buffers;

static mlc_status RunPerceptron(const mlc_model_api* api, mlc_session* session, Buffers* buffers,
                                int shift) {
  const void* inputs[] = {buffers->x + shift};
  void* outputs[] = {buffers->probabilities + shift, buffers->mean + shift};
  memset(buffers->probabilities, 0xff, sizeof(buffers->probabilities));
  memset(buffers->mean, 0xff, sizeof(buffers->mean));
  return api->run(session, inputs, outputs);
}

static void ExpectPerceptron(const mlc_model_api* api, mlc_session* session, int shift,
                             const char* claim) {
  Buffers buffers;
  FillInput((float*)(void*)(buffers.x + shift), 0, 4 * 32);
  ExpectStatus(RunPerceptron(api, session, &buffers, shift), MLC_OK, claim);
  Expect(Near((float*)(void*)(buffers.probabilities + shift), kPerceptron0, 40), claim);
  Expect(Near((float*)(void*)(buffers.mean + shift), kPerceptron1, 4), claim);
  const char* end = buffers.mean + shift + FIRST_OUTPUT_1_BYTES;
  Expect(shift == 64 || *end == (char)0xff, "nothing is written behind an output");
}

static void TestPorts(void) {
  const mlc_model_api* api = &first_model;
  Expect(api->abi_version == MLC_MODEL_ABI_VERSION, "the interface has the header's version");
  Expect(api->struct_bytes == sizeof(mlc_model_api), "the table has the header's size");
  mlc_model* model = Open(api, NULL);
  Expect(api->input_count(model) == FIRST_INPUT_COUNT, "one input");
  Expect(api->output_count(model) == FIRST_OUTPUT_COUNT, "two outputs");
  const mlc_port* x = api->input(model, 0);
  Expect(strcmp(x->name, "x") == 0 && x->rank == 2 && x->dims[0] == 4 && x->dims[1] == 32 &&
             x->dtype == MLC_F32 && x->bytes == FIRST_INPUT_0_BYTES,
         "the input is x: f32[4,32]");
  const mlc_port* mean = api->output(model, 1);
  Expect(strcmp(mean->name, "mean") == 0 && mean->rank == 1 && mean->dims[0] == 4, "mean: [4]");
  Expect(api->input(model, 1) == NULL && api->input(model, -1) == NULL, "no other input");
  Expect(api->output(model, 2) == NULL && api->output(model, -1) == NULL, "no other output");
  const int64_t one = api->session_bytes(model, 1), two = api->session_bytes(model, 2);
  Expect(one >= 0 && two >= one && two < 1 << 20, "the memory plan is small and known");
  api->close(model);
  api->close(NULL);
}

static void TestRuns(void) {
  const mlc_model_api* api = &first_model;
  mlc_model* model = Open(api, NULL);
  for (int32_t threads = 0; threads <= 3; ++threads) {
    mlc_session* session = Session(api, model, threads);
    ExpectPerceptron(api, session, 0, "aligned buffers");
    ExpectPerceptron(api, session, 4, "unaligned buffers");
    ExpectPerceptron(api, session, 60, "unaligned buffers again, other ones");
    ExpectPerceptron(api, session, 0, "aligned buffers after unaligned ones");
    api->destroy_session(session);
  }
  api->close(model);
}

/* Archives of several models meet in this program. */
static void TestTwoModels(void) {
  mlc_model* perceptron = Open(&first_model, NULL);
  mlc_model* convolutional = Open(&second_model, NULL);
  mlc_session* a = Session(&first_model, perceptron, 2);
  mlc_session* b = Session(&second_model, convolutional, 2);
  float inputs[2][3 * 16 * 16], scores[10];
  FillInput(inputs[0], 0, 3 * 16 * 16);
  FillInput(inputs[1], 1, 3 * 16 * 16);
  const void* in[] = {inputs[0], inputs[1]};
  void* out[] = {scores};
  for (int round = 0; round < 3; ++round) {
    memset(scores, 0xff, sizeof(scores));
    ExpectStatus(second_model.run(b, in, out), MLC_OK, "the second model runs");
    Expect(Near(scores, kConvolutional0, 10), "the second model is right");
    ExpectPerceptron(&first_model, a, 0, "the first model runs between");
  }
  first_model.destroy_session(a);
  second_model.destroy_session(b);
  first_model.close(perceptron);
  second_model.close(convolutional);
}

typedef struct Worker {
  const mlc_model* model;
  int threads;
  int wrong;
} Worker;

static void* RunOften(void* argument) {
  Worker* worker = argument;
  const mlc_session_options options = {worker->threads};
  mlc_session* session = NULL;
  worker->wrong = first_model.create_session(worker->model, &options, &session) != MLC_OK;
  Buffers buffers;
  FillInput((float*)(void*)buffers.x, 0, 4 * 32);
  for (int i = 0; i < 200 && worker->wrong == 0; ++i) {
    worker->wrong = RunPerceptron(&first_model, session, &buffers, 0) != MLC_OK ||
                    !Near((float*)(void*)buffers.probabilities, kPerceptron0, 40) ||
                    !Near((float*)(void*)buffers.mean, kPerceptron1, 4);
  }
  first_model.destroy_session(session);
  return NULL;
}

static void TestSessionsOnThreads(void) {
  enum { kWorkers = 6 };
  mlc_model* model = Open(&first_model, NULL);
  Worker workers[kWorkers];
  pthread_t threads[kWorkers];
  for (int i = 0; i < kWorkers; ++i) {
    workers[i] = (Worker){model, 1 + i % 3, 0};
    Expect(pthread_create(&threads[i], NULL, RunOften, &workers[i]) == 0, "a thread starts");
  }
  for (int i = 0; i < kWorkers; ++i) {
    pthread_join(threads[i], NULL);
    Expect(workers[i].wrong == 0, "sessions on several threads are right");
  }
  first_model.close(model);
}

static void TestWrongArguments(void) {
  const mlc_model_api* api = &first_model;
  mlc_model* model = NULL;
  ExpectStatus(api->open(NULL, NULL, &model), MLC_INVALID_ARGUMENT, "open without a table");
  ExpectStatus(api->open(api, NULL, NULL), MLC_INVALID_ARGUMENT, "open without a result");
  model = Open(api, NULL);
  mlc_session* session = NULL;
  mlc_session_options options = {-1};
  ExpectStatus(api->create_session(model, &options, &session), MLC_INVALID_ARGUMENT, "threads -1");
  options.threads = 1025;
  ExpectStatus(api->create_session(model, &options, &session), MLC_INVALID_ARGUMENT,
               "threads 1025");
  ExpectStatus(api->create_session(NULL, NULL, &session), MLC_INVALID_ARGUMENT, "no model");
  ExpectStatus(api->create_session(model, NULL, NULL), MLC_INVALID_ARGUMENT, "no result");
  Expect(session == NULL, "a failed call leaves the result alone");
  session = Session(api, model, 1);
  Buffers buffers;
  const void* inputs[] = {buffers.x};
  void* outputs[] = {buffers.probabilities, NULL};
  const void* no_input[] = {NULL};
  ExpectStatus(api->run(NULL, inputs, outputs), MLC_INVALID_ARGUMENT, "run without a session");
  ExpectStatus(api->run(session, NULL, outputs), MLC_INVALID_ARGUMENT, "run without inputs");
  ExpectStatus(api->run(session, inputs, NULL), MLC_INVALID_ARGUMENT, "run without outputs");
  ExpectStatus(api->run(session, no_input, outputs), MLC_INVALID_ARGUMENT, "a null input");
  ExpectStatus(api->run(session, inputs, outputs), MLC_INVALID_ARGUMENT, "a null output");
  outputs[1] = buffers.mean;
  ExpectStatus(api->run_profiled(session, inputs, outputs, NULL), MLC_INVALID_ARGUMENT, "no times");
  ExpectPerceptron(api, session, 0, "the session works after refused calls");
  api->destroy_session(session);
  api->destroy_session(NULL);
  api->close(model);
}

static void TestStatusTexts(void) {
  const mlc_status all[] = {MLC_OK,
                            MLC_INVALID_ARGUMENT,
                            MLC_NOT_FOUND,
                            MLC_OUT_OF_MEMORY,
                            MLC_UNSUPPORTED_MACHINE,
                            MLC_BAD_WEIGHTS};
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
    const char* text = first_model.status_text(all[i]);
    Expect(text != NULL && text[0] != '\0' && strcmp(text, "unknown status") != 0, "a text each");
    Expect(strchr(text, '\n') == NULL, "in one line");
  }
  Expect(strcmp(first_model.status_text((mlc_status)99), "unknown status") == 0, "99 is unknown");
}

static void TestProfile(void) {
  const mlc_model_api* api = &first_model;
  mlc_model* model = Open(api, NULL);
  mlc_session* session = Session(api, model, 1);
  const int32_t steps = api->step_count(model);
  Expect(steps >= 2 && steps < 16, "a few steps");
  double times[16];
  for (int i = 0; i < 16; ++i) times[i] = -1;
  Buffers buffers;
  FillInput((float*)(void*)buffers.x, 0, 4 * 32);
  const void* inputs[] = {buffers.x};
  void* outputs[] = {buffers.probabilities, buffers.mean};
  ExpectStatus(api->run_profiled(session, inputs, outputs, times), MLC_OK, "a profiled run");
  for (int32_t i = 0; i < steps; ++i) {
    Expect(times[i] >= 0 && times[i] < 1e10, "each step has its time");
    Expect(strlen(api->step_label(model, i)) > 0, "each step has a label");
  }
  Expect(times[steps] == -1, "no time behind the last step");
  Expect(api->step_label(model, steps) == NULL && api->step_label(model, -1) == NULL, "no others");
  Expect(Near((float*)(void*)buffers.probabilities, kPerceptron0, 40), "profiled runs are right");
  api->destroy_session(session);
  api->close(model);
}

/* A copy of the weights file, `bytes` long at most, with byte `at` changed (none for -1). */
static void CopyWeights(const char* from, const char* to, long bytes, long at) {
  FILE* in = fopen(from, "rb");
  FILE* out = fopen(to, "wb");
  Expect(in != NULL && out != NULL, "the weights file can be copied");
  for (long i = 0; i < bytes; ++i) {
    const int c = getc(in);
    if (c == EOF) break;
    putc(i == at ? c ^ 1 : c, out);
  }
  fclose(in);
  fclose(out);
}

static void TestWeightsInAFile(const char* models, const char* scratch) {
  const mlc_model_api* api = &beside_model;
  char weights[4096], copy[4096];
  snprintf(weights, sizeof(weights), "%s/beside/beside.weights", models);
  snprintf(copy, sizeof(copy), "%s/damaged.weights", scratch);
  mlc_model* model = NULL;
  ExpectStatus(api->open(api, NULL, &model), MLC_NOT_FOUND, "no path");
  ExpectStatus(api->open(api, copy, &model), MLC_NOT_FOUND, "a path without a file");
  const long all = 1L << 30;
  CopyWeights(weights, copy, 100, -1);
  ExpectStatus(api->open(api, copy, &model), MLC_BAD_WEIGHTS, "a truncated file");
  CopyWeights(weights, copy, 0, -1);
  ExpectStatus(api->open(api, copy, &model), MLC_BAD_WEIGHTS, "an empty file");
  CopyWeights(weights, copy, all, 3);
  ExpectStatus(api->open(api, copy, &model), MLC_BAD_WEIGHTS, "another model's file");
  ExpectStatus(api->open(api, scratch, &model), MLC_BAD_WEIGHTS, "a folder");
  Expect(model == NULL, "a failed open leaves the result alone");
  CopyWeights(weights, copy, all, -1);
  model = Open(api, copy);
  remove(copy); /* stays mapped */
  mlc_session* session = Session(api, model, 2);
  ExpectPerceptron(api, session, 0, "weights from a file");
  api->destroy_session(session);
  api->close(model);
}

/* Opens, runs with copies, closes; false when memory was refused on the way. */
static mlc_status UseOnce(const char* weights) {
  const mlc_model_api* api = &beside_model;
  const mlc_session_options options = {2};
  mlc_model* model = NULL;
  mlc_session* session = NULL;
  mlc_status status = api->open(api, weights, &model);
  if (status == MLC_OK) status = api->create_session(model, &options, &session);
  if (status == MLC_OK) {
    Buffers buffers;
    FillInput((float*)(void*)(buffers.x + 4), 0, 4 * 32);
    status = RunPerceptron(api, session, &buffers, 4);
    if (status == MLC_OK) {
      Expect(Near((float*)(void*)(buffers.probabilities + 4), kPerceptron0, 40), "a right run");
    }
  }
  api->destroy_session(session);
  api->close(model);
  return status;
}

static void TestMemoryThatIsRefused(const char* models) {
  char weights[4096];
  snprintf(weights, sizeof(weights), "%s/beside/beside.weights", models);
  const long before = AllocationsHeld();
  long refused = 0;
  mlc_status status = MLC_OUT_OF_MEMORY;
  for (long n = 1; n < 100 && status != MLC_OK; ++n) {
    FailAllocation(n);
    status = UseOnce(weights);
    FailAllocation(0);
    if (status != MLC_OK) {
      ++refused;
      ExpectStatus(status, MLC_OUT_OF_MEMORY, "refused memory is reported");
    }
    Expect(AllocationsHeld() == before, "nothing is held after a failure");
  }
  ExpectStatus(status, MLC_OK, "with all its memory it works");
  Expect(refused >= 6, "every allocation was refused once");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long before = AllocationsHeld();
  TestPorts();
  TestRuns();
  TestTwoModels();
  TestSessionsOnThreads();
  TestWrongArguments();
  TestStatusTexts();
  TestProfile();
  Expect(AllocationsHeld() == before, "nothing is held at the end");
  TestWeightsInAFile(argv[1], argv[2]);
  TestMemoryThatIsRefused(argv[1]);
  printf("%d failed expectations\n", failures);
  return failures == 0 ? 0 : 1;
}
