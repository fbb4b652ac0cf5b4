// The flags of mlc-run that continue a sequence of tokens, and what they do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/model/model_library.h"

namespace CLI {
class App;
}

namespace mlc::client {

struct GenerateOptions {
  int64_t tokens = 0;  // 0: none are generated
  std::string prompt;
  int64_t end_token = -1;             // -1: there is none
  std::optional<double> temperature;  // default: 1 if top_k or top_p restrict the choice, else 0
  int64_t top_k = 0;
  double top_p = 1;
  int warmups = 0;
};

// REQUIRES: the other flags of mlc-run are there.
void AddGenerateFlags(CLI::App& app, GenerateOptions& options);

// Writes the new tokens to standard output as they come, and figures after them; or, with `json`,
// one document. Errors of Decoder::Open and Generate.
Status RunGenerate(ModelLibrary& library, const GenerateOptions& options, uint64_t seed, bool json);

}  // namespace mlc::client
