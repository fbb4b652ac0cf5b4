/* Runs on a GPU: with host buffers, with the caller's memory and stream, timed, profiled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/device_state.h"

enum {
  kTimedAtOnce = 64, /* runs between two waits */
  kStepRepeats = 16  /* launches of a step that one time is of */
};

int mlc_device_follow(mlc_device_session* session, mlc_cu_stream stream) {
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

static mlc_device_binding* Own(mlc_device_session* session) {
  return &session->own[session->base.plan];
}

/* Before a run on the session's own places: its graph, and the inputs. */
static mlc_status Prepare(mlc_device_session* session, const void* const* inputs) {
  const mlc_status status = mlc_device_capture_own(session);
  if (status != MLC_OK) return status;
  int result = mlc_device_follow(session, session->stream);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_send_inputs(session, inputs);
  return mlc_device_check(session, result, "copy the inputs to the GPU");
}

mlc_status mlc_device_run(mlc_session* session, const void* const* inputs, void* const* outputs) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = mlc_device_held(session);
  mlc_status status = mlc_device_check_buffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  status = Prepare(held, inputs);
  if (status == MLC_OK) {
    result = Launch(held, Own(held), held->stream);
    if (result == MLC_CUDA_SUCCESS) result = mlc_device_fetch_outputs(held, outputs);
    status = mlc_device_check(held, result, "run the model");
  }
  mlc_device_leave(held->model);
  return status;
}

/* The binding with the addresses of the run at hand, or null. */
static mlc_device_binding* Known(mlc_device_session* session) {
  const size_t bytes = (size_t)mlc_device_port_count(session->model) * sizeof(mlc_cu_ptr);
  for (int i = 0; i < MLC_DEVICE_CALLERS; ++i) {
    mlc_device_binding* binding = &session->callers[i];
    if (binding->last_use != 0 && binding->plan == session->asked.plan &&
        memcmp(binding->ports, session->asked.ports, bytes) == 0) {
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
  oldest->plan = session->asked.plan;
  oldest->captured = 0;
  oldest->last_use = ++session->uses;
}

static int LaunchEach(mlc_device_session* session, mlc_cu_stream stream) {
  const int result = mlc_device_bind(session, &session->asked);
  return result != MLC_CUDA_SUCCESS ? result : mlc_device_launch_all(session, stream);
}

/* The run becomes a part of the caller's graph, which may not depend on events outside. */
static int Capture(mlc_device_session* session, mlc_cu_stream stream, const void* const* inputs,
                   void* const* outputs) {
  session->in_graph = 1;
  int result = mlc_device_pad_inputs(session, stream, inputs);
  if (result == MLC_CUDA_SUCCESS) result = LaunchEach(session, stream);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_crop_outputs(session, stream, outputs);
  return result;
}

/* Addresses that come twice get a graph. The first time the kernels are launched one by one: a
   graph takes longer to make than to save. */
static mlc_status RunOn(mlc_device_session* session, mlc_cu_stream stream,
                        const void* const* inputs, void* const* outputs) {
  const mlc_cuda* cuda = &session->model->cuda;
  int capturing = 0; /* the legacy default stream is never captured */
  int result = stream == NULL ? MLC_CUDA_SUCCESS : cuda->stream_is_capturing(stream, &capturing);
  if (result == MLC_CUDA_SUCCESS && capturing != 0) {
    return mlc_device_check(session, Capture(session, stream, inputs, outputs), "run the model");
  }
  mlc_device_binding* binding = Known(session);
  if (binding != NULL && !binding->captured) {
    const mlc_status status = mlc_device_capture(session, binding);
    if (status != MLC_OK) return status;
  }
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_follow(session, stream);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_pad_inputs(session, stream, inputs);
  if (result == MLC_CUDA_SUCCESS && binding != NULL) {
    binding->last_use = ++session->uses;
    result = session->model->cuda.graph_launch(binding->exec, stream);
  } else if (result == MLC_CUDA_SUCCESS) {
    Remember(session);
    result = LaunchEach(session, stream);
  }
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_crop_outputs(session, stream, outputs);
  result = Launched(session, result, stream);
  return mlc_device_check(session, result, "run the model");
}

mlc_status mlc_device_run_device(mlc_session* session, void* stream, const void* const* inputs,
                                 void* const* outputs) {
  if (session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* held = mlc_device_held(session);
  mlc_status status = mlc_device_check_buffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  status = mlc_device_ask(held, inputs, outputs);
  if (status != MLC_OK) return status;
  const int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  status = RunOn(held, (mlc_cu_stream)stream, inputs, outputs);
  mlc_device_leave(held->model);
  return status;
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
  int result = Launch(session, Own(session), session->stream);
  if (result == MLC_CUDA_SUCCESS) result = cuda->event_record(events[0], session->stream);
  for (int32_t i = 0; i < runs && result == MLC_CUDA_SUCCESS; ++i) {
    result = cuda->graph_launch(Own(session)->exec, session->stream);
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
  mlc_device_session* held = mlc_device_held(session);
  mlc_status status = mlc_device_check_buffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  status = Prepare(held, inputs);
  if (status == MLC_OK) {
    result = TimeAll(held, runs, run_ns);
    if (result == MLC_CUDA_SUCCESS) result = mlc_device_fetch_outputs(held, outputs);
    status = mlc_device_check(held, result, "time the model");
  }
  mlc_device_leave(held->model);
  return status;
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
  mlc_device_session* held = mlc_device_held(session);
  const mlc_status status = mlc_device_check_buffers(held, inputs, outputs);
  if (status != MLC_OK) return status;
  int result = mlc_device_enter(held->model);
  if (result != MLC_CUDA_SUCCESS) return mlc_device_check(held, result, "use the GPU");
  mlc_cu_event events[2] = {0};
  result = CreateEvents(held, events, 2);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_follow(held, held->stream);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_send_inputs(held, inputs);
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_bind(held, Own(held));
  const int32_t steps = held->base.image->step_count;
  for (int32_t s = 0; s < steps && result == MLC_CUDA_SUCCESS; ++s) {
    result = TimeStep(held, s, events, &step_ns[s]);
  }
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_fetch_outputs(held, outputs);
  DestroyEvents(held, events, 2);
  mlc_device_leave(held->model);
  return mlc_device_check(held, result, "profile the model");
}
