// Builds a model with given kernels and times it in turns with another build, by mlc-compile and
// mlc-run beside this program, so that a crash or a hang ends only a child. Thread-safe.
#pragma once

#include <chrono>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::client {

struct ModelProgramsOptions {
  std::vector<std::string> model_words;  // of mlc-compile: the model and its precision
  std::string programs;                  // folder of the programs; empty: this one's
  std::string cubin_cache;               // value of --cubin-cache
  int device = 0;                        // number of the GPU, as the driver counts
};

struct RaceTimes {
  double first_ms = 0;            // latency of the first library
  std::vector<double> quotients;  // of each other one's time and its; 0: it could not be timed
};

class ModelPrograms {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ModelPrograms(ModelProgramsOptions options) : options_(std::move(options)) {}

  // `source` says where the kernels come from, in words of mlc-compile. DEADLINE_EXCEEDED at `end`,
  // CANCELLED if `stop` was requested, UNAVAILABLE with mlc-compile's words.
  Status Compile(const std::vector<std::string>& source, const std::string& library,
                 Clock::time_point end, const std::stop_token& stop) const;
  // Runs each library for up to `seconds`; those that are clearly slower than the first end early.
  // Errors as Compile's; also if one of the libraries crashes.
  Result<RaceTimes> Race(const std::string& first, std::span<const std::string> others,
                         double seconds, Clock::time_point end, const std::stop_token& stop) const;

 private:
  std::string Program(const std::string& name) const;

  const ModelProgramsOptions options_;
};

}  // namespace mlc::client
