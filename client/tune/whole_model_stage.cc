#include "client/tune/whole_model_stage.h"

#include <algorithm>
#include <iostream>

#include "client/progress/tune_report.h"
#include "client/target/target_choice.h"

namespace mlc::client {
namespace {

// Unless the command says otherwise.
constexpr int64_t kMostRunnersUp = 48;
// Timings in the whole model may take a fifth of the time of the tuning, a quarter of the search's.
// In the least time, a large model and two sets of eight runners-up can be built and timed.
constexpr int64_t kShareOfSearch = 4;
constexpr int64_t kLeastMs = 30'000;
constexpr int64_t kMostMs = 60'000;

// `spent_ms` is what the search took.
int64_t BudgetMs(const TuneOptions& options, int64_t spent_ms) {
  // Who says how many means them, whatever they take.
  int64_t budget_ms =
      options.whole_model > 0 ? kMostMs : std::clamp(spent_ms / kShareOfSearch, kLeastMs, kMostMs);
  if (options.time_budget_ms > 0) {
    budget_ms = std::min(budget_ms, options.time_budget_ms - spent_ms);
  }
  return budget_ms;
}

}  // namespace

std::optional<WholeModelResult> TryRunnersUp(const TuneOptions& options, const std::string& job,
                                             const proto::JobProgress& progress,
                                             const std::stop_token& stop) {
  WholeModelOptions asked;
  asked.model_words = options.ModelWords();
  asked.cubin_cache = options.cubin_cache;
  asked.library = LibraryFolder(options);
  asked.log = options.log;
  asked.device = OrdinalOf(options.target).value_or(0);
  asked.most = options.whole_model >= 0
                   ? options.whole_model
                   : static_cast<int>(std::min(kMostRunnersUp, progress.trials() / 10));
  asked.budget_ms = BudgetMs(options, static_cast<int64_t>(progress.elapsed_s() * 1000));
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
