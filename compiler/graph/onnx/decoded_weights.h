// Decodes weights that are stored as integers of a few bits, with one scale per block, to real
// numbers during the import, or keeps them packed. The import has a limit of bytes as real numbers,
// because a small file could name one tensor in many nodes. One object per import; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph::onnx {

// Real numbers as (code - zero) * scale, with one zero and one scale for each block of `axis`.
struct BlockCodes {
  TensorDataRef codes;   // u8 or i8
  TensorDataRef scales;  // in row-major order of the codes' dims with `blocks` entries on the axis
  TensorDataRef zeros;   // as the scales; null: `zero` everywhere
  double zero = 0;
  int64_t axis = 0;
  int64_t blocks = 1;
  std::vector<int64_t> block_of;  // of each index of the axis, in [0, blocks)
};

// Codes of `bits` bits (2, 4 or 8) in bytes, the first in the low bits. Every row starts a byte and
// has `stored` codes, of which the first `kept` are returned, as u8[rows, kept].
// REQUIRES: `packed` is u8, 0 <= kept <= stored.
// INVALID_ARGUMENT unless `packed` holds these rows exactly.
Result<TensorDataRef> UnpackRows(const TensorData& packed, int bits, int64_t rows, int64_t stored,
                                 int64_t kept);

// f32, f16 or bf16 of the codes' dims. INVALID_ARGUMENT if scales or zeros do not fit.
Result<TensorDataRef> DecodeBlocks(const BlockCodes& blocks, DType dtype);

// What tells one decoding from another: the tensors, the packed one first, and numbers that say
// how they are read.
struct DecodingWay {
  std::vector<TensorDataRef> sources;  // null: absent
  std::vector<int64_t> numbers;
};

class DecodedWeights {
 public:
  explicit DecodedWeights(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns the value of the import's graph that `decode` adds, which runs once for equal ways;
  // `bytes` is its size as real numbers. INVALID_ARGUMENT if the import exceeds its limit of
  // decoded bytes, or decodes these packed bytes too often.
  Result<ValueId> Once(const DecodingWay& way, int64_t bytes,
                       const std::function<Result<ValueId>()>& decode);

 private:
  struct Entry {
    std::vector<TensorDataRef> sources;  // kept alive, because their addresses are part of the key
    ValueId decoded = kNoValue;
  };

  Status Charge(const TensorData& packed, int64_t bytes);

  int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::map<std::vector<int64_t>, Entry> entries_;
  std::map<const std::byte*, int> times_;
};

}  // namespace mlc::graph::onnx
