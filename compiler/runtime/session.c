/* Running a model: one arena, one thread pool, and per step the table of its buffers. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "compiler/runtime/counted_ports.h"
#include "compiler/runtime/image.h"
#include "compiler/runtime/padded_ports.h"
#include "compiler/runtime/row_bounds.h"
#include "compiler/runtime/session_state.h"
#include "compiler/runtime/thread_pool.h"

enum { kAlignment = 64, kMaxThreads = 1024 };

static int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/* Arena and scratch. */
static int64_t MemoryBytes(const mlc_image* image, int32_t threads) {
  return Aligned(image->arena_bytes) + Aligned(image->workspace_bytes) +
         Aligned(image->thread_bytes) * threads;
}

int64_t mlc_runtime_session_bytes(const mlc_model* model, int32_t threads) {
  return MemoryBytes(model->image, threads) + mlc_ports_bytes(model->image);
}

/* Sets every buffer of an image that stays the same over all runs; returns the end of its table. */
static void** BindFixedBuffers(const mlc_session* session, const mlc_image* image, void** next) {
  char* shared = session->memory + Aligned(image->arena_bytes);
  char* thread_scratch = shared + Aligned(image->workspace_bytes);
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    for (int32_t i = 0; i < step->operand_count; ++i, ++next) {
      const mlc_operand* operand = &step->operands[i];
      if (operand->kind == MLC_AT_ARENA) *next = session->memory + operand->byte_offset;
      if (operand->kind == MLC_AT_WEIGHTS) {
        *next = (void*)(session->model->weights + operand->byte_offset);
      }
    }
    *next++ = shared;
    *next++ = thread_scratch;
  }
  return next;
}

static void BindAllFixedBuffers(const mlc_session* session) {
  const mlc_image* image = session->model->image;
  void** next = session->buffers;
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    next = BindFixedBuffers(session, mlc_plan(image, p), next);
  }
}

static void BindPorts(mlc_session* session) {
  const mlc_image* image = session->image;
  void** next = session->step_buffers;
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    for (int32_t i = 0; i < step->operand_count; ++i, ++next) {
      const mlc_operand* operand = &step->operands[i];
      if (operand->kind == MLC_AT_INPUT) {
        *next = (char*)session->inputs[operand->index] + operand->byte_offset;
      } else if (operand->kind == MLC_AT_OUTPUT) {
        *next = (char*)session->outputs[operand->index] + operand->byte_offset;
      }
    }
    next += 2;
  }
}

/* Follows a change of the session's plan. */
static void TakePlan(mlc_session* session) {
  const mlc_image* image = session->model->image;
  session->step_buffers = session->buffers;
  for (int32_t p = 0; p < session->plan; ++p) {
    session->step_buffers += mlc_plan(image, p)->operand_count;
  }
  mlc_counted_reset(session);
  mlc_bounds_resize(session);
}

static mlc_status AllocateMemory(mlc_session* session) {
  const int64_t bytes = MemoryBytes(session->model->image, session->threads);
  session->memory_bytes = bytes > 0 ? (size_t)bytes : kAlignment;
  void* memory =
      mmap(NULL, session->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return MLC_OUT_OF_MEMORY;
  /* Fewer TLB misses; refused without harm where huge pages are off. */
  madvise(memory, session->memory_bytes, MADV_HUGEPAGE);
  session->memory = memory;
  return MLC_OK;
}

/* The pairs whose buffer can be the session's own: all sizes share it, so it must fit all. */
static void FindCaches(mlc_session* session) {
  const mlc_image* image = session->model->image;
  for (int32_t o = 0; o < image->output_count; ++o) {
    session->cache_inputs[o] = mlc_runtime_in_place_input(session->model, o);
    for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
      const int64_t bytes = mlc_plan(image, p)->outputs[o].bytes;
      if (bytes != mlc_plan(image, 0)->outputs[o].bytes) session->cache_inputs[o] = -1;
    }
  }
}

static mlc_status AllocateTables(mlc_session* session) {
  const mlc_image* image = session->model->image;
  const size_t ports = (size_t)image->input_count + (size_t)image->output_count;
  size_t operands = 0;
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    operands += (size_t)mlc_plan(image, p)->operand_count;
  }
  session->buffers = calloc(operands + 1, sizeof(void*));
  session->input_copies = calloc(3 * ports + 1, sizeof(void*));
  if (session->buffers == NULL || session->input_copies == NULL) return MLC_OUT_OF_MEMORY;
  session->output_copies = session->input_copies + image->input_count;
  session->inputs = (const void**)(session->output_copies + image->output_count);
  session->outputs = (void**)(session->inputs + image->input_count);
  session->given_inputs = (const void**)(session->outputs + image->output_count);
  session->given_outputs = (void**)(session->given_inputs + image->input_count);
  session->caches = calloc((size_t)image->output_count + 1, sizeof(void*));
  session->cache_inputs = calloc((size_t)image->output_count + 1, sizeof(int32_t));
  if (session->caches == NULL || session->cache_inputs == NULL) return MLC_OUT_OF_MEMORY;
  FindCaches(session);
  return MLC_OK;
}

mlc_status mlc_runtime_create_session(const mlc_model* model, const mlc_session_options* options,
                                      mlc_session** session) {
  if (model == NULL || session == NULL) return MLC_INVALID_ARGUMENT;
  int32_t threads = options != NULL ? options->threads : 0;
  if (threads == 0) threads = model->image->threads;
  if (threads < 1 || threads > kMaxThreads) return MLC_INVALID_ARGUMENT;
  mlc_session* created = calloc(1, sizeof(mlc_session));
  if (created == NULL) return MLC_OUT_OF_MEMORY;
  created->model = model;
  created->image = model->image;
  created->threads = threads;
  created->take_plan = TakePlan;
  created->run = mlc_runtime_run;
  if (model->image->sizes != NULL) {
    const mlc_sizes_api* sizes = &model->image->sizes->api;
    memcpy(created->sizes, sizes->sizes, (size_t)sizes->dim_count * sizeof(int64_t));
  }
  mlc_status status = AllocateMemory(created);
  if (status == MLC_OK) status = AllocateTables(created);
  if (status == MLC_OK) status = mlc_ports_create(created);
  if (status == MLC_OK) status = mlc_ports_create_copies(created);
  if (status == MLC_OK) status = mlc_counted_create(created);
  if (status == MLC_OK) {
    created->pool = mlc_pool_create(threads, 0);
    if (created->pool == NULL) status = MLC_OUT_OF_MEMORY;
  }
  if (status != MLC_OK) {
    mlc_runtime_destroy_session(created);
    return status;
  }
  created->step_buffers = created->buffers;
  BindAllFixedBuffers(created);
  status = mlc_bounds_create(created);
  if (status != MLC_OK) {
    mlc_runtime_destroy_session(created);
    return status;
  }
  *session = created;
  return MLC_OK;
}

void mlc_runtime_destroy_session(mlc_session* session) {
  if (session == NULL) return;
  if (session->pool != NULL) mlc_pool_destroy(session->pool);
  if (session->memory != NULL) munmap(session->memory, session->memory_bytes);
  if (session->input_copies != NULL) {
    const mlc_image* image = session->model->image;
    for (int32_t i = 0; i < image->input_count + image->output_count; ++i) {
      free(session->input_copies[i]);
    }
  }
  mlc_ports_destroy(session);
  mlc_counted_destroy(session);
  mlc_bounds_destroy(session);
  if (session->caches != NULL) {
    for (int32_t i = 0; i < session->model->image->output_count; ++i) free(session->caches[i]);
  }
  free(session->caches);
  free(session->cache_inputs);
  free(session->input_copies);
  free(session->buffers);
  free(session);
}

/* The buffer itself when it is aligned and as large as the plan's, else a copy's memory, made once
   a session for all sizes. */
static void* PlanBuffer(const mlc_session* session, void* buffer, int is_whole, int is_output,
                        int32_t index) {
  if (is_whole && ((uintptr_t)buffer & (kAlignment - 1)) == 0) return buffer;
  void** copy = &(is_output ? session->output_copies : session->input_copies)[index];
  if (*copy == NULL) {
    const int64_t bytes = mlc_ports_most_bytes(session->model->image, is_output, index);
    *copy = aligned_alloc(kAlignment, (size_t)Aligned(bytes));
  }
  return *copy;
}

/* The session's own buffer of an in-place output; null: no memory. */
static void* OwnCache(const mlc_session* session, int32_t output) {
  void** cache = &session->caches[output];
  if (*cache == NULL) {
    const size_t bytes = (size_t)Aligned(mlc_ports_most_bytes(session->model->image, 1, output));
    *cache = aligned_alloc(kAlignment, bytes);
    if (*cache != NULL) memset(*cache, 0, bytes);
  }
  return *cache;
}

/* Sets both ports of a pair that the caller leaves to the session. */
static mlc_status TakeCache(mlc_session* session, const void* const* inputs, int32_t output) {
  const int32_t input = session->cache_inputs[output];
  if (input < 0 || inputs[input] != NULL) return MLC_INVALID_ARGUMENT;
  void* cache = OwnCache(session, output);
  if (cache == NULL) return MLC_OUT_OF_MEMORY;
  session->inputs[input] = session->outputs[output] = cache;
  return MLC_OK;
}

/* A port that is null is one of a pair of the session's own, or it is missing. */
static mlc_status TakeInput(mlc_session* session, const void* buffer, int32_t index) {
  const mlc_port* plan = &session->image->inputs[index];
  const mlc_port* port = mlc_session_input(session, index);
  const int is_whole = port->bytes == plan->bytes;
  session->inputs[index] = NULL;
  if (buffer == NULL) return MLC_OK;
  void* taken = PlanBuffer(session, (void*)buffer, is_whole, 0, index);
  if (taken == NULL) return MLC_OUT_OF_MEMORY;
  if (!is_whole) {
    mlc_ports_pad(session, index, buffer, taken);
  } else if (taken != buffer) {
    mlc_ports_fill(session, index);
    memcpy(taken, buffer, (size_t)plan->bytes);
  }
  session->inputs[index] = taken;
  return MLC_OK;
}

static mlc_status TakePorts(mlc_session* session, const void* const* inputs, void* const* outputs) {
  const mlc_image* image = session->image;
  const int32_t given = mlc_given_inputs(image);
  for (int32_t i = 0; i < given; ++i) {
    const mlc_status status = TakeInput(session, inputs[i], i);
    if (status != MLC_OK) return status;
  }
  if (given < image->input_count) session->inputs[given] = session->lengths;
  const int32_t taken = mlc_given_outputs(image);
  if (taken < image->output_count) session->outputs[taken] = session->counts;
  for (int32_t i = 0; i < taken; ++i) {
    if (outputs[i] == NULL) {
      const mlc_status status = TakeCache(session, inputs, i);
      if (status != MLC_OK) return status;
      continue;
    }
    const int is_whole = mlc_session_output(session, i)->bytes == image->outputs[i].bytes;
    session->outputs[i] = PlanBuffer(session, outputs[i], is_whole, 1, i);
    if (session->outputs[i] == NULL) return MLC_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < image->input_count; ++i) {
    if (session->inputs[i] == NULL) return MLC_INVALID_ARGUMENT;
  }
  BindPorts(session);
  return MLC_OK;
}

static void GiveOutputs(mlc_session* session, void* const* outputs) {
  const mlc_image* image = session->image;
  for (int32_t i = 0; i < mlc_given_outputs(image); ++i) {
    if (outputs[i] == NULL || session->outputs[i] == outputs[i]) continue;
    mlc_ports_crop(mlc_session_output(session, i), &image->outputs[i], session->outputs[i],
                   outputs[i]);
  }
}

static int HasCache(const mlc_session* session, int32_t output) {
  return session != NULL && output >= 0 && output < session->model->image->output_count &&
         session->cache_inputs[output] >= 0;
}

mlc_status mlc_runtime_read_cache(mlc_session* session, int32_t output, void* buffer) {
  if (!HasCache(session, output) || buffer == NULL) return MLC_INVALID_ARGUMENT;
  const void* cache = OwnCache(session, output);
  if (cache == NULL) return MLC_OUT_OF_MEMORY;
  memcpy(buffer, cache, (size_t)session->image->outputs[output].bytes);
  return MLC_OK;
}

mlc_status mlc_runtime_write_cache(mlc_session* session, int32_t output, const void* buffer) {
  if (!HasCache(session, output)) return MLC_INVALID_ARGUMENT;
  void* cache = OwnCache(session, output);
  if (cache == NULL) return MLC_OUT_OF_MEMORY;
  const size_t bytes = (size_t)session->image->outputs[output].bytes;
  if (buffer == NULL) {
    memset(cache, 0, bytes);
  } else {
    memcpy(cache, buffer, bytes);
  }
  return MLC_OK;
}

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Whether each result that begins as a copy of an operand lies where the operand does. */
static int32_t IsInPlace(const mlc_step* step, void* const* buffers) {
  int32_t c = 0;
  while (c < MLC_MOST_COPIES && step->copied[c] >= 0) {
    if (buffers[step->copied[c]] != buffers[step->copy[c]]) return 0;
    ++c;
  }
  return c > 0;
}

static mlc_status Run(mlc_session* session, const void* const* inputs, void* const* outputs,
                      double* step_ns) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  const mlc_image* image = session->image;
  session->error[0] = '\0';
  if ((inputs == NULL && mlc_given_inputs(image) > 0) ||
      (outputs == NULL && mlc_given_outputs(image) > 0)) {
    return MLC_INVALID_ARGUMENT;
  }
  const mlc_status status = TakePorts(session, inputs, outputs);
  if (status != MLC_OK) return status;
  void** buffers = session->step_buffers;
  int32_t phase = 0;
  double started = step_ns != NULL ? NowNs() : 0;
  mlc_pool_begin(session->pool);
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    const int32_t done = IsInPlace(step, buffers);
    if (session->phases == NULL) {
      mlc_run_phases(session->pool, step->phases + done, step->phase_count - done, buffers);
    } else {
      mlc_run_bounded_phases(session->pool, session->phases + phase + done,
                             session->bounds + phase + done, step->phase_count - done, buffers);
      phase += step->phase_count;
    }
    buffers += step->operand_count + 2;
    if (step_ns != NULL) {
      const double now = NowNs();
      step_ns[s] = now - started;
      started = now;
    }
  }
  mlc_pool_end(session->pool);
  mlc_counted_finish(session);
  GiveOutputs(session, outputs);
  return MLC_OK;
}

mlc_status mlc_runtime_run(mlc_session* session, const void* const* inputs, void* const* outputs) {
  return Run(session, inputs, outputs, NULL);
}

const char* mlc_runtime_session_error(const mlc_session* session) {
  return session == NULL ? "" : session->error;
}

mlc_status mlc_runtime_run_device(mlc_session* session, void* stream, const void* const* inputs,
                                  void* const* outputs) {
  (void)session, (void)stream, (void)inputs, (void)outputs;
  return MLC_UNIMPLEMENTED;
}

mlc_status mlc_runtime_run_timed(mlc_session* session, const void* const* inputs,
                                 void* const* outputs, int32_t runs, double* run_ns) {
  if (runs < 1 || run_ns == NULL) return MLC_INVALID_ARGUMENT;
  for (int32_t i = 0; i < runs; ++i) {
    const double started = NowNs();
    const mlc_status status = Run(session, inputs, outputs, NULL);
    if (status != MLC_OK) return status;
    run_ns[i] = NowNs() - started;
  }
  return MLC_OK;
}

mlc_status mlc_runtime_run_profiled(mlc_session* session, const void* const* inputs,
                                    void* const* outputs, double* step_ns) {
  if (step_ns == NULL) return MLC_INVALID_ARGUMENT;
  return Run(session, inputs, outputs, step_ns);
}
