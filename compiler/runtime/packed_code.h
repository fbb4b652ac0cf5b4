/* Code for GPUs, compressed inside a library: the kernels of all sizes are near copies of each
   other, so all of them are one frame of zstd, which tells damaged bytes by its checksum. Internal
   to the runtime. C11; no state. */
#ifndef MLC_COMPILER_RUNTIME_PACKED_CODE_H_
#define MLC_COMPILER_RUNTIME_PACKED_CODE_H_

#include <stdint.h>

#include "compiler/runtime/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MLC_CODE_ALIGNMENT = 64 }; /* of each kernel's code, once unpacked */

typedef struct mlc_packed_code {
  const void* frame; /* null: there is no code */
  int64_t frame_bytes;
  int64_t bytes; /* unpacked */
} mlc_packed_code;

/* The code, which free() gives back. MLC_OUT_OF_MEMORY, or MLC_BAD_WEIGHTS if it is damaged. */
mlc_status mlc_unpack_code(const mlc_packed_code* packed, char** code);

#ifdef __cplusplus
}
#endif

#endif
