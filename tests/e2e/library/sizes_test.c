/* A library of several sizes in a C11 program, used through mlc_sizes.h. Prints each failed
   expectation; exits with 1 if any. */
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "expectations.h"
#include "expected.h"
#include "first/first.h"
#include "sized/sized.h"

enum { kRows = 6, kGuard = 64 };

typedef struct Row {
  int64_t batch;
  int64_t length;
  const float* tokens;
  const float* scores;
} Row;

static const Row kSizes[kRows] = {
    {1, 2, kSized1x2_0, kSized1x2_1}, {1, 5, kSized1x5_0, kSized1x5_1},
    {3, 2, kSized3x2_0, kSized3x2_1}, {3, 5, kSized3x5_0, kSized3x5_1},
    {4, 2, kSized4x2_0, kSized4x2_1}, {4, 5, kSized4x5_0, kSized4x5_1}};

/* Buffers of the largest sizes, with bytes behind them that must stay. */
typedef struct Buffers {
  _Alignas(64) char x[SIZED_INPUT_0_BYTES + kGuard];
  _Alignas(64) char y[SIZED_INPUT_1_BYTES + kGuard];
  _Alignas(64) char tokens[SIZED_OUTPUT_0_BYTES + 2 * kGuard];
  _Alignas(64) char scores[SIZED_OUTPUT_1_BYTES + 2 * kGuard];
} Buffers;

/* The tensors of one run. */
typedef struct Call {
  Buffers buffers;
  int64_t x_dims[3];
  int64_t y_dims[2];
  mlc_tensor inputs[2];
  mlc_tensor outputs[2];
} Call;

static const mlc_sizes_api* Api(void) { return sized_model.sizes; }

static mlc_model* Open(void) {
  mlc_model* model = NULL;
  ExpectStatus(sized_model.open(&sized_model, NULL, &model), MLC_OK, "the model opens");
  return model;
}

static mlc_session* Session(const mlc_model* model) {
  const mlc_session_options options = {2};
  mlc_session* session = NULL;
  ExpectStatus(sized_model.create_session(model, &options, &session), MLC_OK, "a session");
  return session;
}

/* A right call at these sizes, with buffers `shift` bytes behind an aligned address. */
static void Prepare(Call* call, int64_t batch, int64_t length, int shift) {
  Buffers* buffers = &call->buffers;
  memset(buffers, 0xff, sizeof(*buffers));
  call->x_dims[0] = call->y_dims[0] = batch;
  call->x_dims[1] = length;
  call->x_dims[2] = call->y_dims[1] = 16;
  call->inputs[0] = (mlc_tensor){buffers->x + shift, call->x_dims, SIZED_INPUT_0_BYTES, 3, MLC_F32};
  call->inputs[1] = (mlc_tensor){buffers->y + shift, call->y_dims, SIZED_INPUT_1_BYTES, 2, MLC_F32};
  call->outputs[0] = (mlc_tensor){buffers->tokens + shift, NULL, SIZED_OUTPUT_0_BYTES, 0, 0};
  call->outputs[1] = (mlc_tensor){buffers->scores + shift, NULL, SIZED_OUTPUT_1_BYTES, 0, 0};
}

static void Fill(Call* call, const Row* row) {
  FillInput(call->inputs[0].data, 0, row->batch * row->length * 16);
  FillInput(call->inputs[1].data, 1, row->batch * 16);
}

static int HasDims(const mlc_tensor* tensor, int32_t rank, const int64_t* dims) {
  if (tensor->rank != rank || tensor->dtype != MLC_F32) return 0;
  return memcmp(tensor->dims, dims, (size_t)rank * sizeof(int64_t)) == 0;
}

/* Whether outputs are right and nothing was written behind them. */
static void ExpectOutputs(const Call* call, const Row* row, const char* claim) {
  const int64_t tokens = row->batch * row->length * 24, scores = row->batch * 16;
  Expect(Near(call->outputs[0].data, row->tokens, tokens), claim);
  Expect(Near(call->outputs[1].data, row->scores, scores), claim);
  const char* ends[] = {(const char*)call->outputs[0].data + tokens * 4,
                        (const char*)call->outputs[1].data + scores * 4};
  for (int i = 0; i < 2; ++i) {
    for (int b = 0; b < kGuard; ++b) {
      Expect(ends[i][b] == (char)0xff, "nothing is written behind an output");
    }
  }
}

static void ExpectRun(mlc_session* session, const Row* row, int shift, const char* claim) {
  Call call;
  Prepare(&call, row->batch, row->length, shift);
  Fill(&call, row);
  ExpectStatus(Api()->run_tensors(session, call.inputs, call.outputs), MLC_OK, claim);
  const int64_t tokens[] = {row->batch, row->length, 24}, scores[] = {row->batch, 16};
  Expect(HasDims(&call.outputs[0], 3, tokens), "the shape of tokens is told");
  Expect(HasDims(&call.outputs[1], 2, scores), "the shape of scores is told");
  ExpectOutputs(&call, row, claim);
}

static void TestDescription(void) {
  const mlc_sizes_api* api = Api();
  Expect(first_model.sizes == NULL, "a library of one size has no table of sizes");
  Expect(api != NULL && api->struct_bytes == sizeof(mlc_sizes_api), "the table has its size");
  Expect(api->dim_count == 2 && api->dim_count == SIZED_DIM_COUNT, "two dimensions");
  Expect(api->size_count == kRows && api->size_count == SIZED_SIZE_COUNT, "six combinations");
  Expect(strcmp(api->dims[0].name, "batch") == 0 && strcmp(api->dims[1].name, "length") == 0,
         "by name");
  Expect(api->dims[0].least == 1 && api->dims[0].most == 4, "the range of batch");
  Expect(SIZED_DIM_1_LEAST == 2 && SIZED_DIM_1_MOST == 5, "the range of length");
  for (int r = 0; r < kRows; ++r) {
    Expect(api->sizes[2 * r] == kSizes[r].batch && api->sizes[2 * r + 1] == kSizes[r].length,
           "the rows are in ascending order");
  }
  Expect(SIZED_INPUT_0_BYTES == 4 * 5 * 16 * 4 && SIZED_OUTPUT_0_BYTES == 4 * 5 * 24 * 4,
         "bytes are those of the largest sizes");
}

static void TestEverySize(void) {
  mlc_model* model = Open();
  mlc_session* session = Session(model);
  const long before = AllocationsHeld();
  for (int round = 0; round < 3; ++round) {
    for (int r = 0; r < kRows; ++r) {
      ExpectRun(session, &kSizes[(r * 5) % kRows], 0, "up and down through the sizes");
    }
  }
  Expect(AllocationsHeld() == before, "other sizes allocate nothing");
  for (int r = 0; r < kRows; ++r) ExpectRun(session, &kSizes[r], 4, "unaligned buffers");
  const long copies = AllocationsHeld();
  for (int r = kRows; r-- > 0;) ExpectRun(session, &kSizes[r], 60, "unaligned buffers again");
  Expect(AllocationsHeld() == copies, "a copy is made once for all sizes");
  sized_model.destroy_session(session);
  sized_model.close(model);
}

static void TestSetSizes(void) {
  mlc_model* model = Open();
  mlc_session* session = Session(model);
  const mlc_sizes_api* api = Api();
  Expect(api->input(session, 0)->dims[0] == 1 && api->input(session, 0)->dims[1] == 2,
         "a session begins with the first sizes");
  for (int r = kRows; r-- > 0;) {
    const Row* row = &kSizes[r];
    ExpectStatus(api->set_sizes(session, api->sizes + 2 * r), MLC_OK, "sizes are set");
    Expect(api->input(session, 1)->dims[0] == row->batch, "the ports are those of the sizes");
    Expect(api->output(session, 0)->bytes == row->batch * row->length * 24 * 4, "bytes, too");
    Call call;
    Prepare(&call, row->batch, row->length, 0);
    Fill(&call, row);
    const void* inputs[] = {call.inputs[0].data, call.inputs[1].data};
    void* outputs[] = {call.outputs[0].data, call.outputs[1].data};
    double times[32];
    const int32_t steps = api->step_count(session);
    Expect(steps > 1 && steps < 32 && api->step_label(session, steps - 1) != NULL, "a few steps");
    Expect(api->step_label(session, steps) == NULL, "no label behind the last step");
    times[steps] = -1;
    ExpectStatus(sized_model.run_profiled(session, inputs, outputs, times), MLC_OK, "a profile");
    Expect(times[steps] == -1, "one time a step");
    ExpectOutputs(&call, row, "a profiled run at its sizes");
    ExpectStatus(sized_model.run(session, inputs, outputs), MLC_OK, "a run at its sizes");
    ExpectOutputs(&call, row, "a run at its sizes");
  }
  Expect(api->input(session, 2) == NULL && api->output(session, -1) == NULL, "no other ports");
  ExpectStatus(api->set_sizes(session, NULL), MLC_INVALID_ARGUMENT, "no sizes");
  ExpectStatus(api->set_sizes(NULL, api->sizes), MLC_INVALID_ARGUMENT, "no session");
  sized_model.destroy_session(session);
  sized_model.close(model);
}

/* The interface of one size works on a library of several: with the first ones. */
static void TestWithoutSizes(void) {
  mlc_model* model = Open();
  mlc_session* session = Session(model);
  Expect(sized_model.input(model, 0)->bytes == 2 * 16 * 4, "the model shows the first sizes");
  Call call;
  Prepare(&call, 1, 2, 0);
  Fill(&call, &kSizes[0]);
  const void* inputs[] = {call.inputs[0].data, call.inputs[1].data};
  void* outputs[] = {call.outputs[0].data, call.outputs[1].data};
  ExpectStatus(sized_model.run(session, inputs, outputs), MLC_OK, "a plain run");
  ExpectOutputs(&call, &kSizes[0], "a plain run");
  sized_model.destroy_session(session);
  sized_model.close(model);
}

static void ExpectRefused(mlc_session* session, Call* call, mlc_status status, const char* text) {
  char before[sizeof(call->buffers)];
  memcpy(before, &call->buffers, sizeof(before));
  ExpectStatus(Api()->run_tensors(session, call->inputs, call->outputs), status, text);
  const char* said = sized_model.session_error(session);
  if (strcmp(said, text) != 0) fprintf(stderr, "said: %s\n", said);
  Expect(strcmp(said, text) == 0, text);
  Expect(memcmp(before, &call->buffers, sizeof(before)) == 0, "a refused call writes nothing");
  Expect(Api()->input(session, 0)->dims[0] == 3, "the session keeps its sizes");
}

static void TestWrongSizes(mlc_session* session) {
  const struct {
    int64_t batch, length;
    const char* text;
  } wrong[] = {
      {2, 2, "batch = 2 is not a size of this library, which has 1, 3, 4"},
      {0, 2, "batch = 0 is not a size of this library, which has 1, 3, 4"},
      {-1, 2, "batch = -1 is not a size of this library, which has 1, 3, 4"},
      {5, 5, "batch = 5 is not a size of this library, which has 1, 3, 4"},
      {4, 3, "length = 3 is not a size of this library, which has 2, 5"},
      {INT64_MAX, 2,
       "batch = 9223372036854775807 is not a size of this library, which has 1, 3, 4"},
      {4, INT64_MIN, "length = -9223372036854775808 is not a size of this library, which has 2, 5"},
  };
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    Call call;
    Prepare(&call, wrong[i].batch, wrong[i].length, 0);
    ExpectRefused(session, &call, MLC_UNSUPPORTED_SIZE, wrong[i].text);
    const int64_t sizes[] = {wrong[i].batch, wrong[i].length};
    ExpectStatus(Api()->set_sizes(session, sizes), MLC_UNSUPPORTED_SIZE, "the sizes alone");
  }
}

static void TestWrongTensors(mlc_session* session) {
  Call call;
  Prepare(&call, 4, 5, 0);
  call.y_dims[0] = 3;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT,
                "batch is 3 on axis 0 of input 'y', but 4 in input 'x'");
  Prepare(&call, 4, 5, 0);
  call.y_dims[1] = 17;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT,
                "axis 1 of input 'y' is 17, the model takes 16");
  Prepare(&call, 4, 5, 0);
  call.inputs[0].rank = 2;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT,
                "input 'x' has rank 2 and type 0, the model takes rank 3 and type 0");
  Prepare(&call, 4, 5, 0);
  call.inputs[1].dtype = MLC_I64;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT,
                "input 'y' has rank 2 and type 8, the model takes rank 2 and type 0");
  Prepare(&call, 4, 5, 0);
  call.inputs[0].data = NULL;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT, "input 'x' has a null pointer");
  Prepare(&call, 4, 5, 0);
  call.inputs[1].dims = NULL;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT, "input 'y' has a null pointer");
  Prepare(&call, 4, 5, 0);
  call.inputs[0].bytes -= 1;
  ExpectRefused(session, &call, MLC_INVALID_ARGUMENT,
                "the buffer of input 'x' has 1279 bytes, its shape needs 1280");
}

/* Right inputs tell the shapes of the outputs, whatever their buffers are. */
static void TestSmallOutputs(mlc_session* session) {
  Call call;
  Prepare(&call, 4, 5, 0);
  call.outputs[0].bytes -= 4;
  ExpectStatus(Api()->run_tensors(session, call.inputs, call.outputs), MLC_INVALID_ARGUMENT,
               "a small output");
  Expect(strcmp(sized_model.session_error(session),
                "the buffer of output 'tokens' has 1916 bytes, its shape needs 1920") == 0,
         "the error tells the bytes");
  const int64_t tokens[] = {4, 5, 24};
  Expect(HasDims(&call.outputs[0], 3, tokens), "the shape of tokens is told");
  Expect(call.buffers.tokens[0] == (char)0xff, "nothing is written");
  call.outputs[0] = (mlc_tensor){NULL, NULL, SIZED_OUTPUT_0_BYTES, 0, 0};
  ExpectStatus(Api()->run_tensors(session, call.inputs, call.outputs), MLC_INVALID_ARGUMENT,
               "no output");
  Expect(HasDims(&call.outputs[0], 3, tokens), "the shape of an output without a buffer is told");
}

static void TestFaults(void) {
  mlc_model* model = Open();
  mlc_session* session = Session(model);
  ExpectRun(session, &kSizes[3], 0, "before the faults");
  TestWrongSizes(session);
  TestWrongTensors(session);
  Call call;
  Prepare(&call, 4, 5, 0);
  ExpectStatus(Api()->run_tensors(session, NULL, call.outputs), MLC_INVALID_ARGUMENT, "no inputs");
  ExpectStatus(Api()->run_tensors(session, call.inputs, NULL), MLC_INVALID_ARGUMENT, "no outputs");
  ExpectStatus(Api()->run_tensors(NULL, call.inputs, call.outputs), MLC_INVALID_ARGUMENT,
               "no session");
  TestSmallOutputs(session);
  for (int r = 0; r < kRows; ++r) ExpectRun(session, &kSizes[r], 0, "after the faults");
  Expect(strcmp(sized_model.session_error(session), "") == 0, "a right run clears the error");
  sized_model.destroy_session(session);
  sized_model.close(model);
}

static int64_t RandomSize(void) {
  static const int64_t kSomeSizes[] = {1, 2, 3, 4, 5, 16, 16, 0, -1, 24, INT64_MAX, INT64_MIN};
  return kSomeSizes[Random(sizeof(kSomeSizes) / sizeof(kSomeSizes[0]))];
}

static const Row* FindRow(const Call* call) {
  for (int r = 0; r < kRows; ++r) {
    const Row* row = &kSizes[r];
    if (row->batch == call->x_dims[0] && row->length == call->x_dims[1]) return row;
  }
  return NULL;
}

/* A right call with some numbers of it changed. */
static void PrepareRandom(Call* call) {
  const Row* row = &kSizes[Random(kRows)];
  Prepare(call, row->batch, row->length, Random(2) == 0 ? 0 : 4);
  Fill(call, row);
  for (uint64_t changes = Random(4); changes > 0; --changes) {
    mlc_tensor* tensor = Random(2) == 0 ? &call->inputs[Random(2)] : &call->outputs[Random(2)];
    switch (Random(5)) {
      case 0:
        call->x_dims[Random(3)] = RandomSize();
        break;
      case 1:
        call->y_dims[Random(2)] = RandomSize();
        break;
      case 2:
        tensor->rank = (int32_t)Random(6) - 1;
        break;
      case 3:
        tensor->dtype = (int32_t)Random(12) - 1;
        break;
      default:
        tensor->bytes = Random(2) == 0 ? (int64_t)Random((uint64_t)tensor->bytes + 1) : INT64_MIN;
    }
  }
}

static void TestRandomCalls(void) {
  mlc_model* model = Open();
  mlc_session* session = Session(model);
  int right = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    Call call;
    PrepareRandom(&call);
    const mlc_status status = Api()->run_tensors(session, call.inputs, call.outputs);
    if (status == MLC_OK) {
      const Row* row = FindRow(&call);
      Expect(row != NULL && call.y_dims[0] == call.x_dims[0], "only right shapes run");
      if (row != NULL) ++right;
      continue;
    }
    ++refused;
    Expect(status == MLC_INVALID_ARGUMENT || status == MLC_UNSUPPORTED_SIZE, "wrong calls fail");
    Expect(strlen(sized_model.session_error(session)) > 0, "with a reason");
    Expect(call.buffers.tokens[0] == (char)0xff, "and write nothing");
  }
  Expect(right > 500 && refused > 500, "both happen often");
  for (int r = 0; r < kRows; ++r) ExpectRun(session, &kSizes[r], 0, "after random calls");
  sized_model.destroy_session(session);
  sized_model.close(model);
}

static mlc_status UseOnce(void) {
  const mlc_session_options options = {2};
  mlc_model* model = NULL;
  mlc_session* session = NULL;
  mlc_status status = sized_model.open(&sized_model, NULL, &model);
  if (status == MLC_OK) status = sized_model.create_session(model, &options, &session);
  for (int r = 0; r < kRows && status == MLC_OK; ++r) {
    Call call;
    Prepare(&call, kSizes[r].batch, kSizes[r].length, 4);
    Fill(&call, &kSizes[r]);
    status = Api()->run_tensors(session, call.inputs, call.outputs);
    if (status == MLC_OK) ExpectOutputs(&call, &kSizes[r], "a right run");
  }
  sized_model.destroy_session(session);
  sized_model.close(model);
  return status;
}

static void TestMemoryThatIsRefused(void) {
  const long before = AllocationsHeld();
  mlc_status status = MLC_OUT_OF_MEMORY;
  for (long n = 1; n < 100 && status != MLC_OK; ++n) {
    FailAllocation(n);
    status = UseOnce();
    FailAllocation(0);
    if (status != MLC_OK) ExpectStatus(status, MLC_OUT_OF_MEMORY, "refused memory is reported");
    Expect(AllocationsHeld() == before, "nothing is held after a failure");
  }
  ExpectStatus(status, MLC_OK, "with all its memory it works");
}

int main(void) {
  TestDescription();
  TestEverySize();
  TestSetSizes();
  TestWithoutSizes();
  TestFaults();
  TestRandomCalls();
  TestMemoryThatIsRefused();
  printf("%d failed expectations\n", failures);
  return failures == 0 ? 0 : 1;
}
