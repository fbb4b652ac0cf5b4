// Decodes weights that are stored as integers of a few bits, with one scale per block, to real
// numbers during the import. The import has a limit of decoded bytes, because a small file could
// name one tensor in many nodes. One object per import; not thread-safe.
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

// Unpacks codes of `bits` bits (2, 4 or 8) from bytes, low bits first. Each row starts a byte and
// has `stored` codes; the first `kept` of them are returned, as u8[rows, kept]. REQUIRES: `packed`
// is u8, 0 <= kept <= stored. INVALID_ARGUMENT unless `packed` holds exactly these rows.
Result<TensorDataRef> UnpackRows(const TensorData& packed, int bits, int64_t rows, int64_t stored,
                                 int64_t kept);

// Decodes to f32, f16 or bf16, with the dims of the codes. INVALID_ARGUMENT if scales or zeros do
// not fit.
Result<TensorDataRef> DecodeBlocks(const BlockCodes& blocks, DType dtype);

// The key of a decoding: the tensors, the packed one first, and the numbers that determine how they
// are read.
struct DecodingWay {
  std::vector<TensorDataRef> sources;  // null: absent
  std::vector<int64_t> numbers;
};

class DecodedWeights {
 public:
  explicit DecodedWeights(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns the result of `decode`, which runs once for equal keys; `bytes` is the size of the
  // result. INVALID_ARGUMENT if the import exceeds its limit of decoded bytes, or decodes these
  // packed bytes too often.
  Result<TensorDataRef> Once(const DecodingWay& way, int64_t bytes,
                             const std::function<Result<TensorDataRef>()>& decode);

 private:
  struct Entry {
    std::vector<TensorDataRef> sources;  // kept alive, because their addresses are part of the key
    TensorDataRef decoded;
  };

  Status Charge(const TensorData& packed, int64_t bytes);

  int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::map<std::vector<int64_t>, Entry> entries_;
  std::map<const std::byte*, int> times_;
};

}  // namespace mlc::graph::onnx
