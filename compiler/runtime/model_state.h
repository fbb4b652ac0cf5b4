/* What a model and a session hold. Internal to the runtime. C11. */
#ifndef MLC_COMPILER_RUNTIME_MODEL_STATE_H_
#define MLC_COMPILER_RUNTIME_MODEL_STATE_H_

#include <stddef.h>

#include "compiler/runtime/image.h"

struct mlc_model {
  const mlc_image* image;
  const char* weights;
  void* mapping; /* of the weights file, or null */
  size_t mapping_bytes;
};

#endif
