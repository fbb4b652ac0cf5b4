// Test support: code of kernels as a library holds it. Header only.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <string>

#include "compiler/runtime/packed_code.h"

class PackedKernels {
 public:
  // The place of the code, unpacked.
  int64_t Add(const std::string& code) {
    bytes_.resize((bytes_.size() + MLC_CODE_ALIGNMENT - 1) / MLC_CODE_ALIGNMENT *
                  MLC_CODE_ALIGNMENT);
    const auto place = static_cast<int64_t>(bytes_.size());
    bytes_.append(code).push_back('\0');
    return place;
  }
  // All code added so far; valid until the next call.
  mlc_packed_code Pack() {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    frame_.resize(ZSTD_compressBound(bytes_.size()));
    frame_.resize(
        ZSTD_compress2(context, frame_.data(), frame_.size(), bytes_.data(), bytes_.size()));
    ZSTD_freeCCtx(context);
    return {frame_.data(), static_cast<int64_t>(frame_.size()),
            static_cast<int64_t>(bytes_.size())};
  }
  std::string& frame() { return frame_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_, frame_;
};
