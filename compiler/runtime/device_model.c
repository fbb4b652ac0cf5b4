/* Opening a model on a GPU: is there a driver and a device that fits, load the code, upload the
   weights once. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/device_state.h"

enum { kStaticBlockBytes = 48 * 1024 };

static mlc_status Refuse(const mlc_open_options* options, mlc_status status, const char* format,
                         ...) __attribute__((format(printf, 3, 4)));

static mlc_status Refuse(const mlc_open_options* options, mlc_status status, const char* format,
                         ...) {
  char text[2 * MLC_DEVICE_TEXT];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  mlc_runtime_explain(options, text);
  return status;
}

/* A driver's result as a status, told with what was tried. */
static mlc_status Check(const mlc_device_model* model, const mlc_open_options* options, int result,
                        const char* what) {
  if (result == MLC_CUDA_SUCCESS) return MLC_OK;
  char text[MLC_DEVICE_TEXT];
  mlc_cuda_error_text(&model->cuda, result, text, sizeof text);
  if (result == MLC_CUDA_OUT_OF_MEMORY) {
    return Refuse(options, MLC_OUT_OF_MEMORY, "the GPU has no memory to %s", what);
  }
  if (result == MLC_CUDA_UNSUPPORTED_PTX_VERSION || result == MLC_CUDA_NO_BINARY_FOR_GPU) {
    return Refuse(
        options, MLC_UNSUPPORTED_MACHINE,
        "cannot %s: %s; the driver serves CUDA %d.%d: install a newer one, or compile the "
        "model for this GPU",
        what, text, model->cuda.version / 1000, model->cuda.version % 1000 / 10);
  }
  return Refuse(options, MLC_DEVICE_FAILED, "cannot %s: %s", what, text);
}

static int BinaryFits(const mlc_device_image* image, int compute) {
  if (image->arch_specific != 0) return compute == image->compute;
  return compute / 10 == image->compute / 10 && compute >= image->compute;
}

static int BlocksFit(const mlc_device_image* image, int64_t block_bytes) {
  for (int32_t k = 0; k < image->kernel_count; ++k) {
    for (int64_t i = 0; i < image->kernels[k].launch_count; ++i) {
      if ((int64_t)image->kernels[k].launches[i].block_bytes > block_bytes) return 0;
    }
  }
  return 1;
}

/* Takes what the device runs of the library: its binaries, or what newer devices run. 0: nothing. A
   later device of the same generation may lack on-chip memory for a binary. */
static int ChooseCode(mlc_device_model* model) {
  const mlc_device_image* image = model->image;
  const mlc_cuda_device_facts* facts = &model->facts;
  if (BinaryFits(image, facts->compute) &&
      (image->newer == NULL || BlocksFit(image, facts->block_bytes))) {
    return 1;
  }
  if (image->portable_compute == 0 || facts->compute < image->portable_compute) return 0;
  model->from_texts = 1;
  if (image->newer != NULL) {
    model->image = image->newer;
    model->base.image = &image->newer->base;
  }
  return 1;
}

static mlc_status RefuseDevice(const mlc_device_model* model, const mlc_open_options* options) {
  const mlc_device_image* image = model->image;
  char portable[64] = "";
  if (image->portable_compute != 0) {
    snprintf(portable, sizeof portable, ", or %d.%d and newer", image->portable_compute / 10,
             image->portable_compute % 10);
  }
  return Refuse(options, MLC_UNSUPPORTED_MACHINE,
                "the library needs a GPU of compute capability %d.%d%s%s; GPU %d is %s of %d.%d: "
                "compile the model for it with --target",
                image->compute / 10, image->compute % 10,
                image->arch_specific != 0 ? " exactly" : "", portable, model->ordinal,
                model->facts.name, model->facts.compute / 10, model->facts.compute % 10);
}

static mlc_status FindDevice(mlc_device_model* model, const mlc_open_options* options) {
  char error[MLC_DEVICE_TEXT];
  if (mlc_cuda_open(&model->cuda, error, sizeof error) != 0) {
    return Refuse(options, MLC_UNSUPPORTED_MACHINE, "%s", error);
  }
  int count = 0;
  mlc_status status = Check(model, options, model->cuda.device_get_count(&count), "count the GPUs");
  if (status != MLC_OK) return status;
  if (model->ordinal < 0 || model->ordinal >= count) {
    return Refuse(options, MLC_INVALID_ARGUMENT, "there is no GPU %d; the driver shows %d",
                  model->ordinal, count);
  }
  status = Check(model, options, mlc_cuda_query_device(&model->cuda, model->ordinal, &model->facts),
                 "ask for the GPU's properties");
  if (status != MLC_OK) return status;
  return ChooseCode(model) ? MLC_OK : RefuseDevice(model, options);
}

static int64_t LaunchCount(const mlc_device_image* image) {
  int64_t count = 0;
  for (int32_t k = 0; k < image->kernel_count; ++k) count += image->kernels[k].launch_count;
  return count;
}

static mlc_status LoadFunction(mlc_device_model* model, const mlc_open_options* options,
                               mlc_cu_library library, const mlc_device_launch* launch,
                               mlc_cu_function* function) {
  const mlc_cuda* cuda = &model->cuda;
  if ((int64_t)launch->block_bytes > model->facts.block_bytes) {
    return Refuse(options, MLC_UNSUPPORTED_MACHINE,
                  "a kernel needs %u bytes of on-chip memory a block, %s gives %d: compile the "
                  "model for it with --target",
                  launch->block_bytes, model->facts.name, model->facts.block_bytes);
  }
  mlc_cu_kernel kernel = NULL;
  int result = cuda->library_get_kernel(&kernel, library, launch->function);
  if (result == MLC_CUDA_SUCCESS) result = cuda->kernel_get_function(function, kernel);
  if (result == MLC_CUDA_SUCCESS && launch->block_bytes > kStaticBlockBytes) {
    result = cuda->func_set_attribute(*function, MLC_CUDA_FUNC_MAX_BLOCK_BYTES,
                                      (int)launch->block_bytes);
  }
  return Check(model, options, result, "load a kernel");
}

/* Loads all kernels from the code, which the driver copies. */
static mlc_status LoadFrom(mlc_device_model* model, const mlc_open_options* options,
                           const char* code) {
  const mlc_device_image* image = model->image;
  const size_t kernels = (size_t)image->kernel_count;
  model->libraries = calloc(kernels + 1, sizeof(mlc_cu_library));
  model->functions = calloc((size_t)LaunchCount(image) + 1, sizeof(mlc_cu_function));
  model->first_function = calloc(kernels + 1, sizeof(int64_t));
  if (model->libraries == NULL || model->functions == NULL || model->first_function == NULL) {
    return Refuse(options, MLC_OUT_OF_MEMORY, "memory could not be had");
  }
  int64_t next = 0;
  for (size_t k = 0; k < kernels; ++k) {
    const mlc_device_kernel* kernel = &image->kernels[k];
    const char* own = code + (model->from_texts ? kernel->portable : kernel->binary);
    mlc_status status = Check(
        model, options,
        model->cuda.library_load_data(&model->libraries[k], own, NULL, NULL, 0, NULL, NULL, 0),
        "load the library's code");
    model->first_function[k] = next;
    for (int64_t i = 0; status == MLC_OK && i < kernel->launch_count; ++i, ++next) {
      status = LoadFunction(model, options, model->libraries[k], &kernel->launches[i],
                            &model->functions[next]);
    }
    if (status != MLC_OK) return status;
  }
  return MLC_OK;
}

static mlc_status LoadKernels(mlc_device_model* model, const mlc_open_options* options) {
  char* code = NULL;
  mlc_status status =
      mlc_unpack_code(model->from_texts ? &model->image->texts : &model->image->binaries, &code);
  if (status == MLC_BAD_WEIGHTS) {
    return Refuse(options, status,
                  "the GPU code in the library is damaged: copy or compile the library again");
  }
  if (status != MLC_OK) return Refuse(options, status, "%s", mlc_runtime_status_text(status));
  status = LoadFrom(model, options, code);
  free(code);
  return status;
}

/* The file is needed until the weights are on the GPU. */
static mlc_status UploadWeights(mlc_device_model* model, const mlc_open_options* options) {
  const mlc_image* image = &model->image->base;
  if (image->weights_bytes == 0) return MLC_OK;
  model->base.weights = image->weights;
  if (image->weights == NULL) {
    const mlc_status status = options->weights_path == NULL
                                  ? MLC_NOT_FOUND
                                  : mlc_runtime_map_weights(options->weights_path, &model->base);
    if (status != MLC_OK) return Refuse(options, status, "%s", mlc_runtime_status_text(status));
  }
  const mlc_cuda* cuda = &model->cuda;
  const size_t bytes = (size_t)model->image->upload_bytes;
  mlc_cu_stream stream = NULL;
  int result = cuda->mem_alloc(&model->weights, bytes);
  if (result == MLC_CUDA_SUCCESS)
    result = cuda->stream_create(&stream, MLC_CUDA_STREAM_NON_BLOCKING);
  if (result == MLC_CUDA_SUCCESS) {
    result = cuda->memcpy_htod_async(model->weights, model->base.weights, bytes, stream);
  }
  if (result == MLC_CUDA_SUCCESS) result = cuda->stream_synchronize(stream);
  if (stream != NULL) cuda->stream_destroy(stream);
  mlc_runtime_unmap_weights(&model->base);
  return Check(model, options, result, "hold the weights");
}

static mlc_status OpenOn(mlc_device_model* model, const mlc_open_options* options) {
  mlc_status status = FindDevice(model, options);
  if (status != MLC_OK) return status;
  int result = model->cuda.device_get(&model->device, model->ordinal);
  if (result == MLC_CUDA_SUCCESS) {
    result = model->cuda.primary_ctx_retain(&model->context, model->device);
  }
  if (result == MLC_CUDA_SUCCESS) result = mlc_device_enter(model);
  status = Check(model, options, result, "use the GPU");
  if (status != MLC_OK) return status;
  status = LoadKernels(model, options);
  if (status == MLC_OK) status = UploadWeights(model, options);
  mlc_device_leave(model);
  return status;
}

mlc_status mlc_device_open_with(const mlc_model_api* api, const mlc_open_options* options,
                                mlc_model** model) {
  if (api == NULL || model == NULL || options == NULL) return MLC_INVALID_ARGUMENT;
  mlc_device_model* opened = calloc(1, sizeof(mlc_device_model));
  if (opened == NULL) return MLC_OUT_OF_MEMORY;
  opened->base.image = ((const mlc_table*)api)->image;
  opened->image = (const mlc_device_image*)(const void*)opened->base.image;
  opened->ordinal = options->device;
  const mlc_status status = OpenOn(opened, options);
  if (status != MLC_OK) {
    mlc_device_close(&opened->base);
    return status;
  }
  *model = &opened->base;
  return MLC_OK;
}

mlc_status mlc_device_open(const mlc_model_api* api, const char* weights_path, mlc_model** model) {
  const mlc_open_options options = {weights_path, 0, NULL, 0};
  return mlc_device_open_with(api, &options, model);
}

void mlc_device_close(mlc_model* model) {
  if (model == NULL) return;
  mlc_device_model* opened = (mlc_device_model*)(void*)model;
  if (opened->context != NULL && mlc_device_enter(opened) == MLC_CUDA_SUCCESS) {
    if (opened->weights != 0) opened->cuda.mem_free(opened->weights);
    for (int32_t k = 0; opened->libraries != NULL && k < opened->image->kernel_count; ++k) {
      if (opened->libraries[k] != NULL) opened->cuda.library_unload(opened->libraries[k]);
    }
    mlc_device_leave(opened);
  }
  if (opened->context != NULL) opened->cuda.primary_ctx_release(opened->device);
  mlc_runtime_unmap_weights(&opened->base);
  free(opened->libraries);
  free(opened->functions);
  free(opened->first_function);
  free(opened);
}

int32_t mlc_device_device(const mlc_model* model) {
  return ((const mlc_device_model*)(const void*)model)->ordinal;
}

int mlc_device_enter(const mlc_device_model* model) {
  return model->cuda.ctx_push_current(model->context);
}

void mlc_device_leave(const mlc_device_model* model) {
  mlc_cu_context popped = NULL;
  model->cuda.ctx_pop_current(&popped);
}
