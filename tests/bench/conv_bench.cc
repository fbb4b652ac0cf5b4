// Searches kernels for ResNet-50's convolutions and BERT's dense layers at random and prints their
// share of the machine's own FMA peak (conv_shares.h):
//   conv_bench [trials=40] [threads=1] [only=TEXT] [family=NAME] [seconds=50] [config=TEXT[;TEXT]]
//              [seed=1] [cold=MIB]
// With cold=MIB weights come from copies of that size together, as in a model.
// Compiling runs before timing, so that nothing disturbs a measurement.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/steady_time.h"
#include "tests/bench/arguments.h"
#include "tests/bench/config_choice.h"
#include "tests/bench/conv_cases.h"
#include "tests/bench/conv_shares.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

struct Options {
  int trials = 40;
  int threads = 1;
  std::string only;
  std::string family;
  std::string config;
  double seconds = 50;
  int64_t seed = 1;
  int64_t cold = 0;  // MiB of copies of weights; 0: weights stay in the caches
};

struct Task {
  std::string name;
  graph::Workload workload;
  int count;
  bool in_mean;  // of the convolutions
};

template <typename Case>
void AddTask(const Case& c, const Result<graph::Workload>& workload, bool in_mean,
             std::vector<Task>& tasks) {
  if (workload.ok()) {
    tasks.push_back({NameOf(c), *workload, c.count, in_mean});
  } else {
    std::printf("%s: %s\n", NameOf(c).c_str(), workload.status().ToString().c_str());
  }
}

std::vector<Task> AllTasks() {
  std::vector<Task> tasks;
  for (const ConvCase& c : ResNet50Convolutions()) AddTask(c, MakeConv(c), true, tasks);
  for (const ConvCase& c : MobileNetDepthwise()) AddTask(c, MakeConv(c), false, tasks);
  for (const ConvCase& c : Grouped()) AddTask(c, MakeConv(c), false, tasks);
  for (const DenseCase& c : BertDense()) AddTask(c, MakeDense(c), false, tasks);
  return tasks;
}

std::vector<schedule::Config> ConfigsToTry(const Task& task, const target::Target& target,
                                           const Options& options) {
  if (!options.config.empty()) return NamedConfigs(options.config);
  std::vector<const schedule::Family*> families;
  for (const auto* family : schedule::FamiliesFor(task.workload, target)) {
    if (options.family.empty() || family->name() == options.family) families.push_back(family);
  }
  // The direct kernel comes first: its result is what others are compared with.
  std::stable_sort(families.begin(), families.end(), [](const auto* a, const auto* b) {
    return (a->name() == "contraction") > (b->name() == "contraction");
  });
  return RandomConfigs(families, task.workload, target, static_cast<size_t>(options.trials),
                       Rng(static_cast<uint64_t>(options.seed)));
}

void Print(const Task& task, const Shares& shares, size_t candidates, double build_seconds) {
  std::printf(
      "%-22s x%-2d %8.1f us %5.1f%% of %.0f  executed %5.1f%%  direct %5.1f%%, executed %5.1f%%  "
      "default %5.1f%%  n=%zu %.0fms/build diff %.0e  %s\n",
      task.name.c_str(), task.count, shares.tuned * 1e6, 100 * shares.nominal, shares.peak,
      100 * shares.executed, 100 * shares.direct_nominal, 100 * shares.direct_executed,
      100 * shares.first_nominal, candidates, build_seconds * 1e3 / static_cast<double>(candidates),
      shares.difference, shares.config.c_str());
}

// Without a time if no candidate can be run.
Shares RunTask(const Task& task, const target::Target& target, const Bench& bench, FmaPeak& peak,
               const Options& options) {
  WorkloadData data(task.workload, 7);
  const double start = NowSeconds();
  std::vector<Candidate> candidates =
      BuildCandidates(task.workload, target, ConfigsToTry(task, target, options), data);
  const double build_seconds = NowSeconds() - start;
  CheckAndTime(candidates, data, bench);
  if (candidates.empty()) return {};
  const bool all_families = options.config.empty() && options.family.empty();
  const std::string default_text =
      all_families
          ? schedule::FamiliesFor(task.workload, target)[0]->Default(task.workload, target).ToText()
          : candidates[0].config.ToText();
  const Shares shares = TimeLeaders(task.workload, candidates, default_text, bench, peak);
  Print(task, shares, candidates.size(), build_seconds);
  for (const Candidate& c : candidates) {
    if (options.config.empty()) break;
    std::printf("  %8.1f us %s\n", c.seconds * 1e6, c.config.ToText().c_str());
  }
  std::fflush(stdout);
  return shares;
}

int Main(const Options& options) {
  const target::Target target = target::DetectHost(options.threads);
  Threads threads(options.threads);
  Result<FmaPeak> peak = FmaPeak::Create(target);
  if (!peak.ok()) {
    std::fprintf(stderr, "conv_bench: %s\n", peak.status().ToString().c_str());
    return 1;
  }
  const ColdWeights cold(options.cold << 20);
  const Bench bench{threads, options.cold > 0 ? &cold : nullptr};
  for (int i = 0; i < 50; ++i) peak->Measure(threads);
  std::printf("peak %.1f GFLOP/s, %d threads\n", peak->Measure(threads), options.threads);
  const double start = NowSeconds();
  MeanShares mean;
  for (const Task& task : AllTasks()) {
    if (!options.only.empty() && task.name.find(options.only) == std::string::npos) continue;
    if (NowSeconds() - start > options.seconds) {
      std::printf("out of time before %s\n", task.name.c_str());
      break;
    }
    const Shares shares = RunTask(task, target, bench, *peak, options);
    if (task.in_mean && shares.tuned > 0) mean.Add(shares, task.count);
  }
  mean.Print();
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  mlc::bench::Options options;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (key == "trials") {
      options.trials = std::stoi(value);
    } else if (key == "threads") {
      options.threads = std::stoi(value);
    } else if (key == "only") {
      options.only = value;
    } else if (key == "family") {
      options.family = value;
    } else if (key == "config") {
      options.config = value;
    } else if (key == "seconds") {
      options.seconds = std::stod(value);
    } else if (key == "cold") {
      options.cold = std::stoll(value);
    } else if (key == "seed") {
      options.seed = std::stoll(value);
    } else {
      std::fprintf(stderr, "conv_bench: unknown argument '%s'\n", word.c_str());
      return 64;
    }
  }
  return mlc::bench::Main(options);
}
