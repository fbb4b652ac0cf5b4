// Continues a sequence of tokens with a compiled decoder, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/run/decoder.h"
#include "client/run/sampling.h"

namespace mlc::client {

struct GenerateTerms {
  std::vector<int64_t> prompt;       // tokens; one at least
  int64_t tokens = 0;                // new ones, at most; one at least
  std::optional<int64_t> end_token;  // ends the sequence
  SamplingTerms sampling;
  int warmups = 0;  // times that the prompt is read before the one that counts
};

struct Generated {
  std::vector<int64_t> tokens;  // the end token included
  int64_t prompt_tokens = 0;
  double prompt_ms = 0;         // all steps over the prompt
  std::vector<double> step_ms;  // each later step, with the choice of its token
};

// Token ids in decimal, divided by commas or white space. INVALID_ARGUMENT otherwise, if there are
// none, or if one is missing before or after a comma.
Result<std::vector<int64_t>> ParseTokens(std::string_view text);

// The steps in which a decoder reads a prompt: the longest that fit, in order. INVALID_ARGUMENT if
// no steps of these lengths make up the prompt. REQUIRES: the lengths are ascending and positive.
Result<std::vector<int64_t>> PlanPrompt(int64_t tokens, const std::vector<int64_t>& step_lengths);

// `on_token`, if any, gets each new token as soon as it is chosen. The decoder's caches hold the
// prompt and the new tokens but the last one afterwards. INVALID_ARGUMENT for tokens outside of the
// vocabulary, also the end token, a sequence that the caches cannot hold, or step lengths that do
// not fit; errors of the sampler and of the library as they are.
Result<Generated> Generate(Decoder& decoder, const GenerateTerms& terms,
                           const std::function<void(int64_t)>& on_token);

// One line of figures; one JSON document, of the schema mlc.generate/1.
std::string ToText(const Generated& generated);
std::string ToJson(const Generated& generated, const GenerateTerms& terms);

}  // namespace mlc::client
