#include "server/search/user_kernel_strategy.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/outcome.h"
#include "compiler/schedule/space/check_config.h"
#include "costmodel/default_config.h"
#include "db/record.h"

namespace mlc::server {
namespace {

constexpr char kArm[] = "user_kernel";
// Of a compiler's words in a job's one line.
constexpr size_t kMaxWords = 2000;

// The fastest prior one that can be made again: a confirmed time stands for all others of a config.
std::optional<schedule::Config> BestPrior(const SearchInput& input) {
  struct Known {
    const schedule::Config* config = nullptr;
    double ns = 0;
    bool confirmed = false;
  };
  std::map<std::string, Known> by_config;
  for (const PriorTrial& prior : input.tasks.front().prior) {
    if (prior.measurement.outcome != Outcome::kOk) continue;
    Known& known = by_config[prior.config.ToText()];
    const double ns = prior.measurement.median_ns;
    if (prior.confirmed || known.config == nullptr || (!known.confirmed && ns < known.ns)) {
      known = {&prior.config, ns, prior.confirmed};
    }
  }
  const Known* best = nullptr;
  for (const auto& [text, known] : by_config) {
    if (best != nullptr && known.ns >= best->ns) continue;
    const Status legal =
        schedule::CheckConfig(input.tasks.front().workload, input.target, *known.config);
    if (legal.ok()) best = &known;
  }
  return best == nullptr ? std::nullopt : std::optional(*best->config);
}

std::string OneLine(const std::string& text) {
  std::string line = text.substr(0, kMaxWords);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

class UserKernelStrategy : public Strategy {
 public:
  UserKernelStrategy(const SearchInput& input, schedule::Config config)
      : config_(std::move(config)), rival_(BestPrior(input)) {
    auto usual = costmodel::DefaultConfig(input.tasks.front().workload, input.target);
    if (usual.ok()) default_ = *std::move(usual);
    if (!rival_) rival_ = default_;
  }

  std::vector<Proposal> Propose(int count) override {
    if (stage_ == Stage::kFirst) {
      stage_ = Stage::kWaits;
      return {ProposalOf(config_, 0, 0)};
    }
    if (stage_ != Stage::kSecond) return {};
    stage_ = Stage::kWaits;
    second_ = true;
    std::vector<Proposal> batch = {ProposalOf(config_, 1, 1)};
    if (rival_ && count > 1) batch.push_back(ProposalOf(*rival_, 0, 1));
    return batch;
  }

  void Learn(std::span<const Observation> batch) override {
    // What both were measured as, side by side, counts alone.
    if (second_) {
      progress_.best_ns = 0;
      progress_.best.reset();
    }
    for (const Observation& seen : batch) Take(seen);
    stage_ = second_ || !right_ ? Stage::kDone : Stage::kSecond;
  }

  bool Done() const override { return stage_ == Stage::kDone; }
  std::string WhyDone() const override { return why_; }
  std::vector<TaskProgress> Progress() const override {
    TaskProgress progress = progress_;
    progress.done = Done();
    return {progress};
  }
  std::vector<SavedModel> Models() const override { return {}; }

 private:
  enum class Stage : uint8_t { kFirst, kSecond, kWaits, kDone };

  static Proposal ProposalOf(const schedule::Config& config, int repeat, int group) {
    Proposal proposal;
    proposal.config = config;
    proposal.repeat = repeat;
    proposal.group = group;
    proposal.arm = group == 0 ? kArm : db::kConfirmationArm;
    return proposal;
  }

  void Take(const Observation& seen) {
    ++progress_.trials;
    const Measurement& m = seen.measurement;
    const schedule::Config& config = seen.proposal.config;
    if (config == config_) {
      right_ = m.outcome == Outcome::kOk;
      why_ = right_ ? "the kernel is measured"
                    : "the kernel ended as " + std::string(ToText(m.outcome)) + ": " +
                          OneLine(m.detail);
    }
    if (m.outcome != Outcome::kOk) return;
    if (default_ && config == *default_) progress_.default_ns = m.median_ns;
    if (progress_.best_ns > 0 && m.median_ns >= progress_.best_ns) return;
    progress_.best_ns = m.median_ns;
    progress_.best = config;
  }

  const schedule::Config config_;
  std::optional<schedule::Config> default_;
  std::optional<schedule::Config> rival_;
  Stage stage_ = Stage::kFirst;
  bool second_ = false;
  bool right_ = false;
  std::string why_;
  TaskProgress progress_;
};

}  // namespace

std::unique_ptr<Strategy> MakeUserKernelStrategy(const SearchInput& input,
                                                 schedule::Config config) {
  return std::make_unique<UserKernelStrategy>(input, std::move(config));
}

}  // namespace mlc::server
