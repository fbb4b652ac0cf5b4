/* Opening a model: checks the machine, finds the weights, answers questions about ports and steps.
 */
#define _GNU_SOURCE
#include "compiler/runtime/model.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/runtime/image.h"
#include "compiler/runtime/model_state.h"
#include "compiler/runtime/session_state.h"

#if defined(__x86_64__)
/* Asks the CPU itself: the compiler's own query needs its support library. AVX2 with FMA, and
   AVX-512 F, BW, DQ, VL, and VNNI, each with the operating system's saving of the registers. */
static uint32_t MachineFeatures(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const unsigned fma = 1u << 12, osxsave = 1u << 27;
  if ((c & fma) == 0 || (c & osxsave) == 0) return 0;
  unsigned saved = 0, saved_high = 0;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(saved_high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  const unsigned avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  const unsigned vnni = 1u << 11; /* in c */
  uint32_t features = 0;
  if ((saved & 0x6) == 0x6 && (b & avx2) != 0) features |= MLC_NEEDS_AVX2;
  if ((saved & 0xe6) == 0xe6 && (b & avx512) == avx512) features |= MLC_NEEDS_AVX512;
  if ((features & MLC_NEEDS_AVX512) != 0 && (c & vnni) != 0) features |= MLC_NEEDS_AVX512_VNNI;
  return features;
}
#else
static uint32_t MachineFeatures(void) { return 0; }
#endif

/* Maps the weights file read-only and compares its size and its first 8 bytes with the image's. */
mlc_status mlc_runtime_map_weights(const char* path, mlc_model* model) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return MLC_NOT_FOUND;
  struct stat info;
  const size_t expected = (size_t)model->image->weights_bytes;
  if (fstat(fd, &info) != 0 || (size_t)info.st_size != expected || expected < sizeof(uint64_t)) {
    close(fd);
    return MLC_BAD_WEIGHTS;
  }
  void* mapping = mmap(NULL, expected, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (mapping == MAP_FAILED) return MLC_OUT_OF_MEMORY;
  model->mapping = mapping;
  model->mapping_bytes = expected;
  model->weights = mapping;
  if (*(const uint64_t*)mapping != model->image->weights_check) return MLC_BAD_WEIGHTS;
  return MLC_OK;
}

mlc_status mlc_runtime_open(const mlc_model_api* api, const char* weights_path, mlc_model** model) {
  if (api == NULL || model == NULL) return MLC_INVALID_ARGUMENT;
  const mlc_image* image = ((const mlc_table*)api)->image;
  if ((image->required_features & ~MachineFeatures()) != 0) return MLC_UNSUPPORTED_MACHINE;
  mlc_model* opened = calloc(1, sizeof(mlc_model));
  if (opened == NULL) return MLC_OUT_OF_MEMORY;
  opened->image = image;
  opened->weights = image->weights;
  mlc_status status = MLC_OK;
  if (image->weights == NULL && image->weights_bytes > 0) {
    status = weights_path == NULL ? MLC_NOT_FOUND : mlc_runtime_map_weights(weights_path, opened);
  }
  if (status != MLC_OK) {
    mlc_runtime_close(opened);
    return status;
  }
  *model = opened;
  return MLC_OK;
}

void mlc_runtime_close(mlc_model* model) {
  if (model == NULL) return;
  mlc_runtime_unmap_weights(model);
  free(model);
}

void mlc_runtime_unmap_weights(mlc_model* model) {
  if (model->mapping != NULL) munmap(model->mapping, model->mapping_bytes);
  model->mapping = NULL;
}

void mlc_runtime_explain(const mlc_open_options* options, const char* text) {
  if (options->error == NULL || options->error_bytes == 0) return;
  size_t length = strlen(text);
  if (length >= options->error_bytes) length = options->error_bytes - 1;
  memcpy(options->error, text, length);
  options->error[length] = '\0';
}

mlc_status mlc_runtime_open_with(const mlc_model_api* api, const mlc_open_options* options,
                                 mlc_model** model) {
  if (options == NULL) return mlc_runtime_open(api, NULL, model);
  const mlc_status status = mlc_runtime_open(api, options->weights_path, model);
  if (status == MLC_UNSUPPORTED_MACHINE) {
    mlc_runtime_explain(options,
                        "this CPU lacks instructions that the library uses: compile for "
                        "this target");
  } else if (status != MLC_OK) {
    mlc_runtime_explain(options, mlc_runtime_status_text(status));
  }
  return status;
}

int32_t mlc_runtime_device(const mlc_model* model) {
  (void)model;
  return -1;
}

int32_t mlc_runtime_input_count(const mlc_model* model) { return mlc_given_inputs(model->image); }
int32_t mlc_runtime_output_count(const mlc_model* model) { return mlc_given_outputs(model->image); }

const mlc_port* mlc_runtime_input(const mlc_model* model, int32_t index) {
  if (index < 0 || index >= mlc_given_inputs(model->image)) return NULL;
  return &model->image->inputs[index];
}

const mlc_port* mlc_runtime_output(const mlc_model* model, int32_t index) {
  if (index < 0 || index >= mlc_given_outputs(model->image)) return NULL;
  return &model->image->outputs[index];
}

/* The input that the plan updates in place to make the output, or -1. */
static int32_t InPlaceInput(const mlc_image* image, int32_t output) {
  for (int32_t s = 0; s < image->step_count; ++s) {
    const mlc_step* step = &image->steps[s];
    for (int32_t c = 0; c < MLC_MOST_COPIES && step->copied[c] >= 0; ++c) {
      if (step->operands[step->copy[c]].index != output) continue;
      return step->operands[step->copied[c]].index;
    }
  }
  return -1;
}

int32_t mlc_runtime_in_place_input(const mlc_model* model, int32_t output) {
  const int32_t input = InPlaceInput(mlc_plan(model->image, 0), output);
  for (int32_t p = 1; p < mlc_plan_count(model->image); ++p) {
    if (InPlaceInput(mlc_plan(model->image, p), output) != input) return -1;
  }
  return input;
}

int32_t mlc_runtime_step_count(const mlc_model* model) { return model->image->step_count; }

const char* mlc_runtime_step_label(const mlc_model* model, int32_t step) {
  if (step < 0 || step >= model->image->step_count) return NULL;
  return model->image->steps[step].label;
}

const char* mlc_runtime_status_text(mlc_status status) {
  switch (status) {
    case MLC_OK:
      return "ok";
    case MLC_INVALID_ARGUMENT:
      return "invalid argument: a null pointer, an index or a thread count out of range";
    case MLC_NOT_FOUND:
      return "the weights file is not there: pass the path of the file written with the library";
    case MLC_OUT_OF_MEMORY:
      return "memory or threads could not be had";
    case MLC_UNSUPPORTED_MACHINE:
      return "this machine is not what the library needs: compile for this target";
    case MLC_UNSUPPORTED_SIZE:
      return "the library has no plan for these sizes";
    case MLC_UNIMPLEMENTED:
      return "the library is for another kind of device";
    case MLC_DEVICE_FAILED:
      return "the GPU or its driver failed";
    case MLC_BAD_WEIGHTS:
      return "the weights file is not the one written with this library";
  }
  return "unknown status";
}
