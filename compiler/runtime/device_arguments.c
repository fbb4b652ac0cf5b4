/* The arguments of all launches of a session: addresses, and tensor maps of what lies there. */
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/device_state.h"

static const mlc_device_kernel* KernelOf(const mlc_device_session* session, int32_t step) {
  const mlc_device_image* image = session->model->image;
  return &image->kernels[image->step_kernels[step]];
}

/* Where the arguments and maps of each step lie, in the order of the steps. */
static void PlaceSteps(mlc_device_session* session) {
  const mlc_image* image = &session->model->image->base;
  mlc_cu_ptr* arguments = session->arguments;
  mlc_device_map* maps = session->maps;
  void** parameters = session->parameters;
  for (int32_t s = 0; s < image->step_count; ++s) {
    const int64_t count = image->steps[s].operand_count + 2;
    const int64_t map_count = KernelOf(session, s)->map_count;
    session->steps[s] = (mlc_device_step){arguments, maps, parameters};
    for (int64_t i = 0; i < count; ++i) *parameters++ = &arguments[i];
    for (int64_t i = 0; i < map_count; ++i) *parameters++ = &maps[i].encoded;
    arguments += count;
    maps += map_count;
  }
}

int mlc_device_hold_arguments(mlc_device_session* session) {
  const mlc_image* image = &session->model->image->base;
  const size_t arguments = (size_t)image->operand_count;
  size_t maps = 0;
  for (int32_t s = 0; s < image->step_count; ++s) maps += (size_t)KernelOf(session, s)->map_count;
  session->arguments = calloc(arguments + 1, sizeof(mlc_cu_ptr));
  session->parameters = calloc(arguments + maps + 1, sizeof(void*));
  session->steps = calloc((size_t)image->step_count + 1, sizeof(mlc_device_step));
  const size_t bytes = (maps + 1) * sizeof(mlc_device_map);
  session->maps = aligned_alloc(_Alignof(mlc_device_map), bytes);
  if (session->arguments == NULL || session->parameters == NULL || session->steps == NULL ||
      session->maps == NULL) {
    return 0;
  }
  memset(session->maps, 0, bytes);
  PlaceSteps(session);
  return 1;
}

void mlc_device_free_arguments(mlc_device_session* session) {
  free(session->arguments);
  free(session->parameters);
  free(session->steps);
  free(session->maps);
}

void mlc_device_fix_arguments(mlc_device_session* session, mlc_cu_ptr scratch,
                              mlc_cu_ptr counters) {
  const mlc_image* image = &session->model->image->base;
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    mlc_cu_ptr* next = session->steps[s].arguments;
    for (int32_t i = 0; i < step->operand_count; ++i, ++next) {
      const mlc_operand* operand = &step->operands[i];
      const mlc_cu_ptr offset = (mlc_cu_ptr)operand->byte_offset;
      if (operand->kind == MLC_AT_ARENA) *next = session->memory + offset;
      if (operand->kind == MLC_AT_WEIGHTS) *next = session->model->weights + offset;
    }
    *next++ = scratch;
    *next++ = counters;
  }
}

/* Only what has moved: weights and the arena never do. */
static int EncodeMaps(mlc_device_session* session, int32_t step) {
  const mlc_device_kernel* kernel = KernelOf(session, step);
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
  const mlc_image* image = &session->model->image->base;
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
