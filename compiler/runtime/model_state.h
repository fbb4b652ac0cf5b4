/* What a model and a session hold. Internal to the runtime. C11. */
#ifndef MLC_COMPILER_RUNTIME_MODEL_STATE_H_
#define MLC_COMPILER_RUNTIME_MODEL_STATE_H_

#include <stddef.h>

#include "compiler/runtime/image.h"
#include "compiler/runtime/model_api.h"

struct mlc_model {
  const mlc_image* image;
  const char* weights;
  void* mapping; /* of the weights file, or null */
  size_t mapping_bytes;
};

/* Maps the weights file of model->image into `model`, read-only. */
mlc_status mlc_runtime_map_weights(const char* path, mlc_model* model);
void mlc_runtime_unmap_weights(mlc_model* model);
/* `text` in the options' buffer, cut to fit, if there is one. */
void mlc_runtime_explain(const mlc_open_options* options, const char* text);

#endif
