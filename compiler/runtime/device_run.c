/* Runs on a GPU: with host buffers, with the caller's memory and stream, timed, profiled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/device_state.h"

enum {
  kBufferAlignment = 16,
  kTimedAtOnce = 64, /* runs between two waits */
  kStepRepeats = 16  /* launches of a step that one time is of */
};

static mlc_device_session* Held(mlc_session* session) {
  return (mlc_device_session*)(void*)session;
}

static mlc_status Misuse(mlc_device_session* session, const char* text) {
  snprintf(session->error, sizeof session->error, "%s", text);
  return MLC_INVALID_ARGUMENT;
}

static const void* PortBuffer(const mlc_device_session* session, int32_t port,
                              const void* const* inputs, void* const* outputs) {
  const int32_t count = session->model->image->base.input_count;
  return port < count ? inputs[port] : outputs[port - count];
}

/* Whether the caller leaves the port, one of an in-place pair, to the session: both are null. */
static int IsOwn(const mlc_device_session* session, int32_t port, const void* const* inputs,
                 void* const* outputs) {
  for (int32_t i = session->model->image->base.input_count;
       i < mlc_device_port_count(session->model); ++i) {
    const int32_t input = session->own_ports[i];
    if (input == i || (port != i && port != input)) continue;
    return PortBuffer(session, i, inputs, outputs) == NULL && inputs[input] == NULL;
  }
  return 0;
}

static mlc_status CheckBuffers(mlc_device_session* session, const void* const* inputs,
                               void* const* outputs) {
  const mlc_image* image = &session->model->image->base;
  if ((inputs == NULL && image->input_count > 0) || (outputs == NULL && image->output_count > 0)) {
    return Misuse(session, "the table of inputs or of outputs is a null pointer");
  }
  for (int32_t i = 0; i < mlc_device_port_count(session->model); ++i) {
    if (PortBuffer(session, i, inputs, outputs) == NULL && !IsOwn(session, i, inputs, outputs)) {
      return Misuse(session, "an input or output is a null pointer");
    }
  }
  return MLC_OK;
}

/* The place of port i in the pinned memory: as in the session's own memory. */
static char* Pinned(mlc_device_session* session, int32_t port) {
  return session->pinned + (session->own.ports[port] - session->own.ports[0]);
}

static int SendInputs(mlc_device_session* session, const void* const* inputs) {
  const mlc_image* image = &session->model->image->base;
  int result = MLC_CUDA_SUCCESS;
  for (int32_t i = 0; i < image->input_count && result == MLC_CUDA_SUCCESS; ++i) {
    const size_t bytes = (size_t)image->inputs[i].bytes;
    if (bytes == 0 || inputs[i] == NULL) continue;
    memcpy(Pinned(session, i), inputs[i], bytes);
    result = session->model->cuda.memcpy_htod_async(session->own.ports[i], Pinned(session, i),
                                                    bytes, session->stream);
  }
  return result;
}

/* Ends when the outputs are there. */
static int FetchOutputs(mlc_device_session* session, void* const* outputs) {
  const mlc_image* image = &session->model->image->base;
  const mlc_cuda* cuda = &session->model->cuda;
  int result = MLC_CUDA_SUCCESS;
  for (int32_t i = 0; i < image->output_count && result == MLC_CUDA_SUCCESS; ++i) {
    const int32_t port = image->input_count + i;
    const size_t bytes = (size_t)image->outputs[i].bytes;
    if (bytes == 0 || outputs[i] == NULL) continue;
    result = cuda->memcpy_dtoh_async(Pinned(session, port), session->own.ports[port], bytes,
                                     session->stream);
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(session->stream);
  for (int32_t i = 0; i < image->output_count && result == MLC_CUDA_SUCCESS; ++i) {
    if (outputs[i] == NULL) continue;
    memcpy(outputs[i], Pinned(session, image->input_count + i), (size_t)image->outputs[i].bytes);
  }
  return result;
}

/* Runs share one memory: one on another stream waits for the one before. */
static int Follow(mlc_device_session* session, mlc_cu_stream stream) {
  if (!session->has_run || session->last_stream == stream) return MLC_CUDA_SUCCESS;
  return session->model->cuda.stream_wait_event(stream, session->last_run, 0);
}

/* Notes that a run was launched, with what result. */
static int Launched(mlc_device_session* session, int result, mlc_cu_stream stream) {
  if (result == MLC_CUDA_SUCCESS) {
    result = session->model->cuda.event_record(session->last_run, stream);
  }
  session->has_run = 1;
  session->last_stream = stream;
  return result;
}

static int Launch(mlc_device_session* session, mlc_device_binding* binding, mlc_cu_stream stream) {
  return Launched(session, session->model->cuda.graph_launch(binding->exec, stream), stream);
}

mlc_status mlc_device_run(mlc_session* session, const void* const* inputs, void* const* outputs) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = Held(session);
  const mlc_status status = CheckBuffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  result = Follow(held, held->stream);
  if (result == MLC_CUDA_SUCCESS) result = SendInputs(held, inputs);
  if (result == MLC_CUDA_SUCCESS) result = Launch(held, &held->own, held->stream);
  if (result == MLC_CUDA_SUCCESS) result = FetchOutputs(held, outputs);
  mlc_device_leave(held->model);
  return mlc_device_check(held, result, "run the model");
}

/* The binding with the addresses of the run at hand, or null. */
static mlc_device_binding* Known(mlc_device_session* session) {
  const size_t bytes = (size_t)mlc_device_port_count(session->model) * sizeof(mlc_cu_ptr);
  for (int i = 0; i < MLC_DEVICE_CALLERS; ++i) {
    mlc_device_binding* binding = &session->callers[i];
    if (binding->last_use != 0 && memcmp(binding->ports, session->asked.ports, bytes) == 0) {
      return binding;
    }
  }
  return NULL;
}

/* Gives the addresses of the run at hand to the binding that was not used for longest. */
static void Remember(mlc_device_session* session) {
  mlc_device_binding* oldest = &session->callers[0];
  for (int i = 1; i < MLC_DEVICE_CALLERS; ++i) {
    if (session->callers[i].last_use < oldest->last_use) oldest = &session->callers[i];
  }
  const size_t bytes = (size_t)mlc_device_port_count(session->model) * sizeof(mlc_cu_ptr);
  memcpy(oldest->ports, session->asked.ports, bytes);
  oldest->captured = 0;
  oldest->last_use = ++session->uses;
}

static int LaunchEach(mlc_device_session* session, mlc_cu_stream stream) {
  const int result = mlc_device_bind(session, &session->asked);
  return result != MLC_CUDA_SUCCESS ? result : mlc_device_launch_all(session, stream);
}

/* Addresses that come twice get a graph. The first time the kernels are launched one by one: a
   graph takes longer to make than to save. */
static mlc_status RunOn(mlc_device_session* session, mlc_cu_stream stream) {
  const mlc_cuda* cuda = &session->model->cuda;
  int capturing = 0; /* the legacy default stream is never captured */
  int result = stream == NULL ? MLC_CUDA_SUCCESS : cuda->stream_is_capturing(stream, &capturing);
  if (result == MLC_CUDA_SUCCESS && capturing != 0) {
    /* The run becomes a part of the caller's graph, which may not depend on events outside. */
    return mlc_device_check(session, LaunchEach(session, stream), "run the model");
  }
  mlc_device_binding* binding = Known(session);
  if (binding != NULL && !binding->captured) {
    const mlc_status status = mlc_device_capture(session, binding);
    if (status != MLC_OK) return status;
  }
  if (result == MLC_CUDA_SUCCESS) result = Follow(session, stream);
  if (result == MLC_CUDA_SUCCESS && binding != NULL) {
    binding->last_use = ++session->uses;
    result = Launch(session, binding, stream);
  } else if (result == MLC_CUDA_SUCCESS) {
    Remember(session);
    result = Launched(session, LaunchEach(session, stream), stream);
  }
  return mlc_device_check(session, result, "run the model");
}

mlc_status mlc_device_run_device(mlc_session* session, void* stream, const void* const* inputs,
                                 void* const* outputs) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = Held(session);
  mlc_status status = CheckBuffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  for (int32_t i = 0; i < mlc_device_port_count(held->model); ++i) {
    const uintptr_t address = (uintptr_t)PortBuffer(held, i, inputs, outputs);
    if ((address & (kBufferAlignment - 1)) != 0) {
      return Misuse(held, "an input or output is not aligned to 16 bytes");
    }
    held->asked.ports[i] = address == 0 ? held->own.ports[i] : (mlc_cu_ptr)address;
  }
  const int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  status = RunOn(held, (mlc_cu_stream)stream);
  mlc_device_leave(held->model);
  return status;
}

/* Copies between the host and the session's own buffer of an in-place output, after all runs. */
static mlc_status CopyCache(mlc_session* session, int32_t output, void* to, const void* from) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = Held(session);
  const mlc_image* image = &held->model->image->base;
  const int32_t port = image->input_count + output;
  if (output < 0 || output >= image->output_count || held->own_ports[port] == port) {
    return Misuse(held, "the output is not made in place of an input");
  }
  const mlc_cuda* cuda = &held->model->cuda;
  const size_t bytes = (size_t)image->outputs[output].bytes;
  const mlc_cu_ptr cache = held->own.ports[port];
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  result = Follow(held, held->stream);
  if (result == MLC_CUDA_SUCCESS && bytes > 0) {
    if (from != NULL) memcpy(Pinned(held, port), from, bytes);
    if (to != NULL) {
      result = cuda->memcpy_dtoh_async(Pinned(held, port), cache, bytes, held->stream);
    } else if (from != NULL) {
      result = cuda->memcpy_htod_async(cache, Pinned(held, port), bytes, held->stream);
    } else {
      result = cuda->memset_d8_async(cache, 0, bytes, held->stream);
    }
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(held->stream);
  if (result == MLC_CUDA_SUCCESS && to != NULL) memcpy(to, Pinned(held, port), bytes);
  mlc_device_leave(held->model);
  return mlc_device_check(held, result, "copy a cache");
}

mlc_status mlc_device_read_cache(mlc_session* session, int32_t output, void* buffer) {
  return buffer == NULL ? MLC_INVALID_ARGUMENT : CopyCache(session, output, buffer, NULL);
}

mlc_status mlc_device_write_cache(mlc_session* session, int32_t output, const void* buffer) {
  return CopyCache(session, output, NULL, buffer);
}

static void DestroyEvents(mlc_device_session* session, mlc_cu_event* events, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (events[i] != NULL) session->model->cuda.event_destroy(events[i]);
  }
}

static int CreateEvents(mlc_device_session* session, mlc_cu_event* events, int32_t count) {
  int result = MLC_CUDA_SUCCESS;
  for (int32_t i = 0; i < count && result == MLC_CUDA_SUCCESS; ++i) {
    result = session->model->cuda.event_create(&events[i], MLC_CUDA_EVENT_TIMING);
  }
  return result;
}

static int ElapsedNs(mlc_device_session* session, mlc_cu_event start, mlc_cu_event end,
                     double* nanoseconds) {
  float milliseconds = 0;
  const int result = session->model->cuda.event_elapsed_time(&milliseconds, start, end);
  *nanoseconds = (double)milliseconds * 1e6;
  return result;
}

/* One more run goes ahead: while it takes place the timed ones are queued, so that the time between
   two events is the GPU's alone. */
static int TimeSome(mlc_device_session* session, const mlc_cu_event* events, int32_t runs,
                    double* run_ns) {
  const mlc_cuda* cuda = &session->model->cuda;
  int result = Launch(session, &session->own, session->stream);
  if (result == MLC_CUDA_SUCCESS) result = cuda->event_record(events[0], session->stream);
  for (int32_t i = 0; i < runs && result == MLC_CUDA_SUCCESS; ++i) {
    result = cuda->graph_launch(session->own.exec, session->stream);
    if (result == MLC_CUDA_SUCCESS) result = cuda->event_record(events[i + 1], session->stream);
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(session->stream);
  for (int32_t i = 0; i < runs && result == MLC_CUDA_SUCCESS; ++i) {
    result = ElapsedNs(session, events[i], events[i + 1], &run_ns[i]);
  }
  return result;
}

static int TimeAll(mlc_device_session* session, int32_t runs, double* run_ns) {
  mlc_cu_event events[kTimedAtOnce + 1] = {0};
  int result = CreateEvents(session, events, kTimedAtOnce + 1);
  for (int32_t done = 0; done < runs && result == MLC_CUDA_SUCCESS; done += kTimedAtOnce) {
    const int32_t some = runs - done < kTimedAtOnce ? runs - done : kTimedAtOnce;
    result = TimeSome(session, events, some, run_ns + done);
  }
  DestroyEvents(session, events, kTimedAtOnce + 1);
  return result;
}

mlc_status mlc_device_run_timed(mlc_session* session, const void* const* inputs,
                                void* const* outputs, int32_t runs, double* run_ns) {
  if (session == NULL || runs < 1 || run_ns == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = Held(session);
  const mlc_status status = CheckBuffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  result = Follow(held, held->stream);
  if (result == MLC_CUDA_SUCCESS) result = SendInputs(held, inputs);
  if (result == MLC_CUDA_SUCCESS) result = TimeAll(held, runs, run_ns);
  if (result == MLC_CUDA_SUCCESS) result = FetchOutputs(held, outputs);
  mlc_device_leave(held->model);
  return mlc_device_check(held, result, "time the model");
}

/* A graph of one step, several times over: steps write over none of their operands, so its result
   is that of one. */
static int CaptureStep(mlc_device_session* session, int32_t step, mlc_cu_graph_exec* exec) {
  const mlc_cuda* cuda = &session->model->cuda;
  mlc_cu_graph graph = NULL;
  int result = cuda->stream_begin_capture(session->stream, MLC_CUDA_CAPTURE_THREAD_LOCAL);
  if (result != MLC_CUDA_SUCCESS) return result;
  for (int i = 0; i < kStepRepeats && result == MLC_CUDA_SUCCESS; ++i) {
    result = mlc_device_launch_step(session, session->stream, step, i == 0);
  }
  const int ended = cuda->stream_end_capture(session->stream, &graph);
  if (result == MLC_CUDA_SUCCESS) result = ended;
  if (result == MLC_CUDA_SUCCESS) result = cuda->graph_instantiate(exec, graph, 0);
  if (graph != NULL) cuda->graph_destroy(graph);
  return result;
}

static int TimeStep(mlc_device_session* session, int32_t step, const mlc_cu_event* events,
                    double* step_ns) {
  const mlc_cuda* cuda = &session->model->cuda;
  mlc_cu_graph_exec exec = NULL;
  int result = CaptureStep(session, step, &exec);
  /* The first launch warms up and lets the timed one be queued behind it. */
  if (result == MLC_CUDA_SUCCESS) result = cuda->graph_launch(exec, session->stream);
  if (result == MLC_CUDA_SUCCESS) result = cuda->event_record(events[0], session->stream);
  if (result == MLC_CUDA_SUCCESS) result = cuda->graph_launch(exec, session->stream);
  if (result == MLC_CUDA_SUCCESS) result = cuda->event_record(events[1], session->stream);
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(session->stream);
  if (result == MLC_CUDA_SUCCESS) result = ElapsedNs(session, events[0], events[1], step_ns);
  *step_ns /= kStepRepeats;
  if (exec != NULL) cuda->graph_exec_destroy(exec);
  return result;
}

mlc_status mlc_device_run_profiled(mlc_session* session, const void* const* inputs,
                                   void* const* outputs, double* step_ns) {
  if (session == NULL || step_ns == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = Held(session);
  const mlc_status status = CheckBuffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  mlc_cu_event events[2] = {0};
  result = CreateEvents(held, events, 2);
  if (result == MLC_CUDA_SUCCESS) result = Follow(held, held->stream);
  if (result == MLC_CUDA_SUCCESS) result = SendInputs(held, inputs);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_bind(held, &held->own);
  const int32_t steps = held->model->image->base.step_count;
  for (int32_t s = 0; s < steps && result == MLC_CUDA_SUCCESS; ++s) {
    result = TimeStep(held, s, events, &step_ns[s]);
  }
  if (result == MLC_CUDA_SUCCESS) result = FetchOutputs(held, outputs);
  DestroyEvents(held, events, 2);
  mlc_device_leave(held->model);
  return mlc_device_check(held, result, "profile the model");
}

/* No shape depends on data. */
const mlc_port* mlc_device_result(const mlc_session* session, int32_t index) {
  if (session == NULL) return NULL;
  const mlc_image* image = &((const mlc_device_session*)session)->model->image->base;
  return index < 0 || index >= image->output_count ? NULL : &image->outputs[index];
}
