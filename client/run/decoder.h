// A compiled decoder of a language model: which of its inputs are tokens, positions and caches of
// keys and values, and one step over new tokens. Not thread-safe.
//
// Inputs, by name: input_ids i64 or i32[1, n]; position_ids or cache_position [n] or [1, n];
// seqlens_k [1], the position of the last token; total_sequence_length, the cache's positions;
// attention_mask [1, positions]; past_key_values.X, or any other name that begins with "past",
// with an output "present.X" of the same type, the cache after the step. A cache may grow: [1,
// heads, past, size] before a step and [1, heads, past + n, size] after it, where past is a
// dimension of the library with every size from 0; attention_mask and total_sequence_length are
// then of past + n. The output "logits" [1, n, vocabulary] or [1, vocabulary] has the scores of the
// next token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/model/model_library.h"

namespace mlc::client {

class Decoder {
 public:
  // Borrows the library. INVALID_ARGUMENT if it is no decoder of this form: the message says which
  // input or output does not fit. RESOURCE_EXHAUSTED if there is no memory for the caches.
  static Result<std::unique_ptr<Decoder>> Open(ModelLibrary& library);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Tokens that the caches hold at most; of a decoder without caches, of its one step.
  int64_t positions() const { return positions_; }
  // Numbers of new tokens that a step can have, ascending.
  const std::vector<int64_t>& step_lengths() const { return step_lengths_; }
  int64_t cached() const { return cached_; }
  int64_t vocabulary() const { return vocabulary_; }

  // Appends the tokens to the caches, and returns the logits after the last of them; valid until
  // the next step. REQUIRES: their number is a step length, and cached() + their number <=
  // positions().
  Result<std::span<const float>> Step(std::span<const int64_t> tokens);
  // Forgets all tokens after the first `cached`. REQUIRES: cached <= cached().
  void Rewind(int64_t cached) { cached_ = cached; }

 private:
  struct Buffers;
  explicit Decoder(ModelLibrary& library);
  Status FindLengths();
  Status FindVaryingDims();
  Status CheckTokens();
  Status FindInputs();
  int64_t MostBytesOf(const mlc_port& cache) const;
  Status FindOutputs();
  Status SetLength(int64_t length);
  void FillInput(size_t input, std::span<const int64_t> tokens);

  ModelLibrary& library_;
  std::unique_ptr<Buffers> buffers_;
  std::vector<int64_t> step_lengths_;
  int64_t length_ = 0;  // of the present sizes
  // The names of dimensions that take any size: the number of new tokens, and the length of caches
  // that grow. Empty: there is none.
  std::string length_dim_;
  std::string past_dim_;
  int64_t positions_ = 0;
  int64_t vocabulary_ = 0;
  int64_t cached_ = 0;
};

}  // namespace mlc::client
