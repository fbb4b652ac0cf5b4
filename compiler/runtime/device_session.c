/* A session on a GPU: its memory, its launches, and the graphs of runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/device_state.h"
#include "compiler/runtime/padded_ports.h"

int64_t mlc_device_aligned(int64_t bytes) {
  return (bytes + MLC_DEVICE_ALIGNMENT - 1) / MLC_DEVICE_ALIGNMENT * MLC_DEVICE_ALIGNMENT;
}

int32_t mlc_device_port_count(const mlc_device_model* model) {
  return model->image->base.input_count + model->image->base.output_count;
}

/* Whether all plans have the output at the same size, so that one buffer can stay in its place. */
static int HasOneSize(const mlc_image* image, int32_t output) {
  for (int32_t p = 1; p < mlc_plan_count(image); ++p) {
    if (mlc_plan(image, p)->outputs[output].bytes != mlc_plan(image, 0)->outputs[output].bytes) {
      return 0;
    }
  }
  return 1;
}

int32_t mlc_device_own_port(const mlc_device_model* model, int32_t index) {
  const mlc_image* image = &model->image->base;
  const int32_t output = index - image->input_count;
  if (output < 0 || !HasOneSize(image, output)) return index;
  const int32_t input = mlc_runtime_in_place_input(&model->base, output);
  return input >= 0 ? input : index;
}

int64_t mlc_device_place_bytes(const mlc_device_model* model, int32_t index) {
  const mlc_image* image = &model->image->base;
  const int is_output = index >= image->input_count;
  return mlc_device_aligned(
      mlc_ports_most_bytes(image, is_output, is_output ? index - image->input_count : index));
}

int64_t mlc_device_port_bytes(const mlc_device_model* model) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < mlc_device_port_count(model); ++i) {
    if (mlc_device_own_port(model, i) == i) bytes += mlc_device_place_bytes(model, i);
  }
  return bytes;
}

int64_t mlc_device_session_bytes(const mlc_model* model, int32_t threads) {
  (void)threads;
  const mlc_device_model* opened = (const mlc_device_model*)(const void*)model;
  const mlc_device_image* image = opened->image;
  return mlc_device_aligned(image->base.arena_bytes) +
         mlc_device_aligned(image->base.workspace_bytes) +
         mlc_device_aligned(image->counter_bytes) + mlc_device_port_bytes(opened);
}

mlc_status mlc_device_check(mlc_device_session* session, int result, const char* what) {
  if (result == MLC_CUDA_SUCCESS) return MLC_OK;
  char text[MLC_DEVICE_TEXT / 2];
  mlc_cuda_error_text(&session->model->cuda, result, text, sizeof text);
  snprintf(session->base.error, sizeof session->base.error, "cannot %s: %s", what, text);
  return result == MLC_CUDA_OUT_OF_MEMORY ? MLC_OUT_OF_MEMORY : MLC_DEVICE_FAILED;
}

const char* mlc_device_session_error(const mlc_session* session) {
  return session == NULL ? "" : session->error;
}

/* Sets every address that stays the same over all runs: those of all plans, and the places of
   ports, which the plans share. */
static void BindFixed(mlc_device_session* session) {
  const mlc_device_model* model = session->model;
  const mlc_image* image = &model->image->base;
  const mlc_cu_ptr scratch = session->memory + (mlc_cu_ptr)mlc_device_aligned(image->arena_bytes);
  const mlc_cu_ptr counters = scratch + (mlc_cu_ptr)mlc_device_aligned(image->workspace_bytes);
  mlc_device_fix_arguments(session, scratch, counters);
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    session->own[p].plan = p;
    session->own[p].ports = session->own_places;
  }
  mlc_cu_ptr place = counters + (mlc_cu_ptr)mlc_device_aligned(model->image->counter_bytes);
  for (int32_t i = 0; i < mlc_device_port_count(model); ++i) {
    session->own_ports[i] = mlc_device_own_port(model, i);
    if (session->own_ports[i] != i) {
      session->own_places[i] = session->own_places[session->own_ports[i]];
      continue;
    }
    session->own_places[i] = place;
    place += (mlc_cu_ptr)mlc_device_place_bytes(model, i);
  }
}

/* Follows a change of the session's plan. */
static void TakePlan(mlc_session* session) { mlc_device_take_arguments(mlc_device_held(session)); }

/* Whether each result that begins as a copy of an operand lies where the operand does. */
static int IsInPlace(const mlc_step* step, const mlc_cu_ptr* buffers) {
  int32_t c = 0;
  while (c < MLC_MOST_COPIES && step->copied[c] >= 0) {
    if (buffers[step->copied[c]] != buffers[step->copy[c]]) return 0;
    ++c;
  }
  return c > 0;
}

int mlc_device_launch_step(mlc_device_session* session, mlc_cu_stream stream, int32_t step,
                           int first) {
  const mlc_device_model* model = session->model;
  const mlc_device_image* image = mlc_device_plan(session);
  const int32_t k = image->step_kernels[step];
  const mlc_device_kernel* kernel = &image->kernels[k];
  const mlc_step* row = &image->base.steps[step];
  const mlc_cu_ptr* buffers = session->steps[step].arguments;
  const int64_t done = IsInPlace(row, buffers);
  for (int64_t i = done; i < kernel->launch_count; ++i) {
    const mlc_device_launch* launch = &kernel->launches[i];
    const int programmatic = launch->awaits != 0 && !(first && i == done);
    const int result = mlc_cuda_launch(&model->cuda, model->functions[model->first_function[k] + i],
                                       launch->grid, launch->block, launch->block_bytes, stream,
                                       session->steps[step].parameters, programmatic);
    if (result != MLC_CUDA_SUCCESS) return result;
  }
  return MLC_CUDA_SUCCESS;
}

int mlc_device_launch_all(mlc_device_session* session, mlc_cu_stream stream) {
  int result = MLC_CUDA_SUCCESS;
  const int32_t steps = session->base.image->step_count;
  for (int32_t s = 0; s < steps && result == MLC_CUDA_SUCCESS; ++s) {
    result = mlc_device_launch_step(session, stream, s, s == 0);
  }
  return result;
}

/* Captured launches copy their arguments: the table may change afterwards. */
static int CaptureLaunches(mlc_device_session* session, mlc_cu_graph* graph) {
  const mlc_cuda* cuda = &session->model->cuda;
  int result = cuda->stream_begin_capture(session->stream, MLC_CUDA_CAPTURE_THREAD_LOCAL);
  if (result != MLC_CUDA_SUCCESS) return result;
  result = mlc_device_launch_all(session, session->stream);
  const int ended = cuda->stream_end_capture(session->stream, graph);
  return result != MLC_CUDA_SUCCESS ? result : ended;
}

mlc_status mlc_device_capture(mlc_device_session* session, mlc_device_binding* binding) {
  const mlc_cuda* cuda = &session->model->cuda;
  mlc_cu_graph graph = NULL;
  int result = mlc_device_bind(session, binding);
  if (result == MLC_CUDA_SUCCESS) result = CaptureLaunches(session, &graph);
  mlc_cu_graph_update info = {0, NULL, NULL};
  if (result == MLC_CUDA_SUCCESS && binding->exec != NULL &&
      cuda->graph_exec_update(binding->exec, graph, &info) != MLC_CUDA_SUCCESS) {
    cuda->graph_exec_destroy(binding->exec);
    binding->exec = NULL;
  }
  if (result == MLC_CUDA_SUCCESS && binding->exec == NULL) {
    result = cuda->graph_instantiate(&binding->exec, graph, 0);
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->graph_upload(binding->exec, session->stream);
  if (graph != NULL) cuda->graph_destroy(graph);
  binding->captured = result == MLC_CUDA_SUCCESS;
  return mlc_device_check(session, result, "capture the model as a graph");
}

/* The graph of the session's own places that was not used for longest, if there are as many as may
   be. */
static void MakeRoom(mlc_device_session* session) {
  mlc_device_binding* oldest = NULL;
  int count = 0;
  for (int32_t p = 0; p < mlc_plan_count(&session->model->image->base); ++p) {
    mlc_device_binding* binding = &session->own[p];
    if (binding->exec == NULL) continue;
    ++count;
    if (oldest == NULL || binding->last_use < oldest->last_use) oldest = binding;
  }
  if (count < MLC_DEVICE_OWN_GRAPHS) return;
  /* One that still runs is freed by the driver when it has ended. */
  session->model->cuda.graph_exec_destroy(oldest->exec);
  oldest->exec = NULL;
  oldest->captured = 0;
}

mlc_status mlc_device_capture_own(mlc_device_session* session) {
  mlc_device_binding* own = &session->own[session->base.plan];
  own->last_use = ++session->uses;
  if (own->captured) return MLC_OK;
  if (own->exec == NULL) MakeRoom(session);
  return mlc_device_capture(session, own);
}

static mlc_status AllocateTables(mlc_device_session* session) {
  const mlc_device_model* model = session->model;
  const mlc_image* image = &model->image->base;
  const size_t ports = (size_t)mlc_device_port_count(model);
  const size_t plans = (size_t)mlc_plan_count(image);
  session->own = calloc(plans, sizeof(mlc_device_binding));
  session->own_places = calloc(ports + 1, sizeof(mlc_cu_ptr));
  session->own_ports = calloc(ports + 1, sizeof(int32_t));
  session->asked.ports = calloc(ports + 1, sizeof(mlc_cu_ptr));
  session->base.given_inputs = calloc(2 * ports + 1, sizeof(void*));
  session->base.given_outputs = (void**)session->base.given_inputs + ports;
  int all = mlc_device_hold_arguments(session) && session->own != NULL &&
            session->own_places != NULL && session->own_ports != NULL &&
            session->asked.ports != NULL && session->base.given_inputs != NULL;
  for (int i = 0; i < MLC_DEVICE_CALLERS; ++i) {
    session->callers[i].ports = calloc(ports + 1, sizeof(mlc_cu_ptr));
    all = all && session->callers[i].ports != NULL;
  }
  return all ? mlc_ports_create(&session->base) : MLC_OUT_OF_MEMORY;
}

static int AllocateMemory(mlc_device_session* session) {
  const mlc_device_model* model = session->model;
  const mlc_cuda* cuda = &model->cuda;
  const int64_t bytes = mlc_device_session_bytes(&model->base, 0);
  const int64_t pinned = mlc_device_port_bytes(model);
  int result = cuda->mem_alloc(&session->memory, (size_t)(bytes > 0 ? bytes : 1));
  if (result == MLC_CUDA_SUCCESS) {
    result =
        cuda->mem_alloc_host((void**)(void*)&session->pinned, (size_t)(pinned > 0 ? pinned : 1));
  }
  if (result == MLC_CUDA_SUCCESS) {
    result = cuda->stream_create(&session->stream, MLC_CUDA_STREAM_NON_BLOCKING);
  }
  if (result == MLC_CUDA_SUCCESS) {
    result = cuda->event_create(&session->last_run, MLC_CUDA_EVENT_NO_TIMING);
  }
  if (result == MLC_CUDA_SUCCESS && bytes > 0) {
    result = cuda->memset_d8_async(session->memory, 0, (size_t)bytes, session->stream);
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(session->stream);
  return result;
}

mlc_status mlc_device_create_session(const mlc_model* model, const mlc_session_options* options,
                                     mlc_session** session) {
  (void)options; /* threads are the GPU's own */
  if (model == NULL || session == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_session* created = calloc(1, sizeof(mlc_device_session));
  if (created == NULL) return MLC_OUT_OF_MEMORY;
  created->model = (const mlc_device_model*)(const void*)model;
  created->base.model = model;
  created->base.image = model->image;
  created->base.take_plan = TakePlan;
  created->base.run = mlc_device_run;
  if (model->image->sizes != NULL) {
    const mlc_sizes_api* sizes = &model->image->sizes->api;
    memcpy(created->base.sizes, sizes->sizes, (size_t)sizes->dim_count * sizeof(int64_t));
  }
  mlc_status status = AllocateTables(created);
  if (status == MLC_OK) {
    const int result = mlc_device_enter(created->model);
    status = mlc_device_check(created, result, "use the GPU");
    if (status == MLC_OK) {
      status = mlc_device_check(created, AllocateMemory(created), "hold a session");
      if (status == MLC_OK) {
        BindFixed(created);
        status = mlc_device_capture_own(created);
      }
      mlc_device_leave(created->model);
    }
  }
  if (status != MLC_OK) {
    mlc_device_destroy_session((mlc_session*)(void*)created);
    return status;
  }
  *session = (mlc_session*)(void*)created;
  return MLC_OK;
}

void mlc_device_destroy_session(mlc_session* session) {
  if (session == NULL) return;
  mlc_device_session* held = mlc_device_held(session);
  const mlc_cuda* cuda = &held->model->cuda;
  if (mlc_device_enter(held->model) == MLC_CUDA_SUCCESS) {
    if (held->has_run) cuda->event_synchronize(held->last_run);
    for (int32_t p = 0; held->own != NULL && p < mlc_plan_count(&held->model->image->base); ++p) {
      if (held->own[p].exec != NULL) cuda->graph_exec_destroy(held->own[p].exec);
    }
    for (int i = 0; i < MLC_DEVICE_CALLERS; ++i) {
      if (held->callers[i].exec != NULL) cuda->graph_exec_destroy(held->callers[i].exec);
    }
    if (held->last_run != NULL) cuda->event_destroy(held->last_run);
    if (held->stream != NULL) cuda->stream_destroy(held->stream);
    if (held->pinned != NULL) cuda->mem_free_host(held->pinned);
    if (held->memory != 0) cuda->mem_free(held->memory);
    mlc_device_leave(held->model);
  }
  mlc_device_free_arguments(held);
  free(held->own);
  free(held->own_places);
  free(held->own_ports);
  free(held->base.given_inputs);
  mlc_ports_destroy(&held->base);
  free(held->asked.ports);
  for (int i = 0; i < MLC_DEVICE_CALLERS; ++i) free(held->callers[i].ports);
  free(held);
}
