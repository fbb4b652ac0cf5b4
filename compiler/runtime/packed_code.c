#include "compiler/runtime/packed_code.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Looks at the magic number itself: zstd could take a damaged frame for one of its old formats,
   whose decoders a library does not have (compiler/package/CMakeLists.txt). Exactly one frame, so
   that nothing behind it is looked at. */
static int IsFrame(const mlc_packed_code* packed) {
  const unsigned char* bytes = packed->frame;
  if (packed->frame_bytes < 4) return 0;
  for (int i = 0; i < 4; ++i) {
    if (bytes[i] != (ZSTD_MAGICNUMBER >> 8 * i & 0xff)) return 0;
  }
  const size_t size = (size_t)packed->frame_bytes;
  return ZSTD_findFrameCompressedSize(bytes, size) == size;
}

mlc_status mlc_unpack_code(const mlc_packed_code* packed, char** code) {
  *code = NULL;
  if (!IsFrame(packed)) return MLC_BAD_WEIGHTS;
  const size_t bytes = (size_t)packed->bytes;
  char* unpacked = aligned_alloc(MLC_CODE_ALIGNMENT, (bytes + MLC_CODE_ALIGNMENT - 1) /
                                                         MLC_CODE_ALIGNMENT * MLC_CODE_ALIGNMENT);
  if (unpacked == NULL) return MLC_OUT_OF_MEMORY;
  const size_t result =
      ZSTD_decompress(unpacked, bytes, packed->frame, (size_t)packed->frame_bytes);
  if (result == bytes) {
    *code = unpacked;
    return MLC_OK;
  }
  free(unpacked);
  return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? MLC_OUT_OF_MEMORY
                                                                   : MLC_BAD_WEIGHTS;
}
