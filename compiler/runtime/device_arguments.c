/* The arguments of all launches of a session: addresses, and tensor maps of what lies there. */
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/device_state.h"

static const mlc_device_kernel* KernelOf(const mlc_image* plan, int32_t step) {
  const mlc_device_image* image = (const mlc_device_image*)(const void*)plan;
  return &image->kernels[image->step_kernels[step]];
}

/* Of all plans. */
typedef struct Counts {
  size_t steps, arguments, maps;
} Counts;

static Counts CountAll(const mlc_image* image) {
  Counts counts = {0, 0, 0};
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    const mlc_image* plan = mlc_plan(image, p);
    counts.steps += (size_t)plan->step_count;
    counts.arguments += (size_t)plan->operand_count;
    for (int32_t s = 0; s < plan->step_count; ++s) {
      counts.maps += (size_t)KernelOf(plan, s)->map_count;
    }
  }
  return counts;
}

/* Where the arguments and maps of each step lie, in the order of the plans and of their steps. */
static void PlaceSteps(mlc_device_session* session) {
  const mlc_image* image = &session->model->image->base;
  mlc_device_step next = {session->arguments, session->maps, session->parameters};
  mlc_device_step* at = session->all_steps;
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    const mlc_image* plan = mlc_plan(image, p);
    for (int32_t s = 0; s < plan->step_count; ++s) {
      const int64_t count = plan->steps[s].operand_count + 2;
      const int64_t map_count = KernelOf(plan, s)->map_count;
      *at++ = next;
      for (int64_t i = 0; i < count; ++i) *next.parameters++ = &next.arguments[i];
      for (int64_t i = 0; i < map_count; ++i) *next.parameters++ = &next.maps[i].encoded;
      next.arguments += count;
      next.maps += map_count;
    }
  }
}

int mlc_device_hold_arguments(mlc_device_session* session) {
  const Counts counts = CountAll(&session->model->image->base);
  session->arguments = calloc(counts.arguments + 1, sizeof(mlc_cu_ptr));
  session->parameters = calloc(counts.arguments + counts.maps + 1, sizeof(void*));
  session->all_steps = calloc(counts.steps + 1, sizeof(mlc_device_step));
  session->steps = session->all_steps;
  const size_t bytes = (counts.maps + 1) * sizeof(mlc_device_map);
  session->maps = aligned_alloc(_Alignof(mlc_device_map), bytes);
  if (session->arguments == NULL || session->parameters == NULL || session->all_steps == NULL ||
      session->maps == NULL) {
    return 0;
  }
  memset(session->maps, 0, bytes);
  PlaceSteps(session);
  return 1;
}

void mlc_device_take_arguments(mlc_device_session* session) {
  session->steps = session->all_steps;
  for (int32_t p = 0; p < session->base.plan; ++p) {
    session->steps += mlc_plan(&session->model->image->base, p)->step_count;
  }
}

void mlc_device_free_arguments(mlc_device_session* session) {
  free(session->arguments);
  free(session->parameters);
  free(session->all_steps);
  free(session->maps);
}

void mlc_device_fix_arguments(mlc_device_session* session, mlc_cu_ptr scratch,
                              mlc_cu_ptr counters) {
  const mlc_image* image = &session->model->image->base;
  const mlc_device_step* at = session->all_steps;
  for (int32_t p = 0; p < mlc_plan_count(image); ++p) {
    const mlc_image* plan = mlc_plan(image, p);
    for (int32_t s = 0; s < plan->step_count; ++s, ++at) {
      const mlc_step* step = &plan->steps[s];
      for (int32_t i = 0; i < step->operand_count; ++i) {
        const mlc_operand* operand = &step->operands[i];
        const mlc_cu_ptr offset = (mlc_cu_ptr)operand->byte_offset;
        if (operand->kind == MLC_AT_ARENA) at->arguments[i] = session->memory + offset;
        if (operand->kind == MLC_AT_WEIGHTS) at->arguments[i] = session->model->weights + offset;
      }
      at->arguments[step->operand_count] = scratch;
      at->arguments[step->operand_count + 1] = counters;
    }
  }
}

/* Only what has moved: weights and the arena never do. */
static int EncodeMaps(mlc_device_session* session, int32_t step) {
  const mlc_device_kernel* kernel = KernelOf(session->base.image, step);
  const mlc_device_step* at = &session->steps[step];
  for (int64_t i = 0; i < kernel->map_count; ++i) {
    const mlc_tensor_map* map = &kernel->maps[i];
    const mlc_cu_ptr address = at->arguments[map->argument];
    if (at->maps[i].address == address) continue;
    const int result =
        mlc_cuda_encode_tensor_map(&session->model->cuda, map, at->arguments, &at->maps[i].encoded);
    if (result != MLC_CUDA_SUCCESS) return result;
    at->maps[i].address = address;
  }
  return MLC_CUDA_SUCCESS;
}

int mlc_device_bind(mlc_device_session* session, const mlc_device_binding* binding) {
  const mlc_image* image = session->base.image;
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    for (int32_t i = 0; i < step->operand_count; ++i) {
      const mlc_operand* operand = &step->operands[i];
      const int32_t outputs = operand->kind == MLC_AT_OUTPUT ? image->input_count : 0;
      if (operand->kind == MLC_AT_INPUT || operand->kind == MLC_AT_OUTPUT) {
        session->steps[s].arguments[i] =
            binding->ports[outputs + operand->index] + (mlc_cu_ptr)operand->byte_offset;
      }
    }
    const int result = EncodeMaps(session, s);
    if (result != MLC_CUDA_SUCCESS) return result;
  }
  return MLC_CUDA_SUCCESS;
}
