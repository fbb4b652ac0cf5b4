#include "client/tune/whole_model_stage.h"

#include <algorithm>
#include <iostream>

#include "client/target/target_choice.h"

namespace mlc::client {
namespace {

// Unless the command says otherwise.
constexpr int64_t kMostRunnersUp = 48;
constexpr int64_t kLeastWholeModelMs = 45'000;
constexpr int64_t kMostWholeModelMs = 60'000;

}  // namespace

std::optional<WholeModelResult> TryRunnersUp(const TuneOptions& options, const std::string& job,
                                             const proto::JobProgress& progress,
                                             const std::stop_token& stop) {
  WholeModelOptions asked;
  asked.model_words = options.ModelWords();
  if (!options.cubin_cache.empty()) {
    asked.model_words.insert(asked.model_words.end(), {"--cubin-cache", options.cubin_cache});
  }
  asked.log = options.log;
  asked.device = OrdinalOf(options.target).value_or(0);
  asked.most = options.whole_model >= 0
                   ? options.whole_model
                   : static_cast<int>(std::min(kMostRunnersUp, progress.trials() / 10));
  const auto spent_ms = static_cast<int64_t>(progress.elapsed_s() * 1000);
  asked.budget_ms = std::clamp(spent_ms, kLeastWholeModelMs, kMostWholeModelMs);
  if (options.time_budget_ms > 0) {
    asked.budget_ms = std::min(asked.budget_ms, options.time_budget_ms - spent_ms);
  }
  const bool measured = progress.state() == proto::DONE && progress.trials() > progress.replayed();
  if (!measured || asked.most == 0 || asked.budget_ms <= 0) return std::nullopt;
  if (!options.quiet && !options.json_lines) {
    std::cerr << "timing runners-up in the whole model" << std::endl;
  }
  const Result<Digest> id = Digest::Parse(job);
  if (id.ok()) asked.job = *id;
  const Result<WholeModelResult> result = TryInWholeModel(asked, stop);
  if (result.ok()) return *result;
  std::cerr << "runners-up were not timed in the whole model: " << result.status().message()
            << std::endl;
  return std::nullopt;
}

}  // namespace mlc::client
