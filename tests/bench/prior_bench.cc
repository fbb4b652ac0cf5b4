// What would kernels gain that were chosen by a model of other networks' records, before anything
// of their own network is measured? Leaves out each recorded network in turn (search_record.cc),
// fits boosted trees to the records of the others, and measures what they choose beside the default
// and beside the choice of the analytic model alone:
//   prior_bench A.jsonl B.jsonl ... [sample=1200] [only=A,...]
// A workload of the network that others share is left out with it. Prints one JSON object for each
// task, then a table: the sums of each network over its default configs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/rng.h"
#include "costmodel/default_config.h"
#include "costmodel/experience.h"
#include "costmodel/features.h"
#include "server/search/kernel_candidates.h"
#include "server/search/pool.h"
#include "tests/bench/arguments.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/measuring.h"
#include "tests/bench/replay_space.h"

namespace mlc::bench {
namespace {

constexpr costmodel::BoostingOptions kTrees{
    .trees = 200, .depth = 6, .eta = 0.1, .columns = 0.5, .min_child_weight = 4};
constexpr size_t kDraws = 12'000;
constexpr int kRounds = 7;
constexpr double kSampleSeconds = 0.004;
// What the models must promise (log time) before the default is left.
constexpr double kMargins[] = {0, 0.1, 0.25};

struct Network {
  std::string name;
  Space space;
};

using Models = std::map<std::string, costmodel::Forest>;

struct Rows {
  std::vector<float> features, labels;
};

// Of all networks but one, without the workloads of that one.
Models Learn(const std::vector<Network>& networks, size_t left_out) {
  std::set<Digest> own;
  for (const Recorded& task : networks[left_out].space.tasks) own.insert(task.workload.digest());
  std::map<std::string, Rows> by_family;
  for (size_t n = 0; n < networks.size(); ++n) {
    if (n == left_out) continue;
    for (const Recorded& task : networks[n].space.tasks) {
      if (own.contains(task.workload.digest())) continue;
      for (const Row& row : task.rows) {
        const Described d = Describe(task.workload, networks[n].space.target, row.config);
        Rows& rows = by_family[row.config.family];
        rows.features.insert(rows.features.end(), d.features.begin(), d.features.end());
        rows.labels.push_back(static_cast<float>(std::log(row.ns / d.estimate)));
      }
    }
  }
  Models models;
  for (const auto& [family, rows] : by_family) {
    auto model = costmodel::FitForest(
        {costmodel::Features().size(), rows.features, rows.labels, {}}, kTrees);
    if (model.ok()) models.emplace(family, *std::move(model));
  }
  return models;
}

// By what chose them: the default, the analytic model, and the trees by margin.
struct Choices {
  std::vector<std::string> names;
  std::vector<schedule::Config> configs;
};

// A candidate's log time, by the analytic model and with the trees.
struct Predicted {
  int candidate = 0;
  double estimate = 0;
  double log_ns = 0;
};

std::vector<Predicted> PredictAll(const server::Pool& pool, const Models& models) {
  std::vector<Predicted> all;
  std::vector<float> row(pool.source().columns());
  for (int i = 0; i < pool.size(); ++i) {
    Predicted& p = all.emplace_back(Predicted{i, pool.log_estimate(i), pool.log_estimate(i)});
    const auto model = models.find(std::string(pool.source().family_name(pool.family(i))));
    if (model == models.end()) continue;
    pool.ReadFeatures(i, row);
    float correction = 0;
    model->second.Predict(row, std::span(&correction, 1));
    p.log_ns += static_cast<double>(correction);
  }
  return all;
}

Choices Choose(const graph::Workload& workload, const target::Target& target, const Models& models,
               size_t sample, Rng rng) {
  auto owned = std::make_unique<server::KernelCandidates>(workload, target);
  const server::KernelCandidates& source = *owned;
  server::Pool pool(std::move(owned));
  const schedule::Config usual = *costmodel::DefaultConfig(workload, target);
  const auto place = source.Find(usual);
  const int start = pool.Add(place->family, place->point);
  pool.Sample(sample, kDraws, rng);
  const std::vector<Predicted> all = PredictAll(pool, models);
  const auto config = [&](int candidate) {
    return source.ConfigOf(pool.family(candidate), pool.point(candidate));
  };
  const Predicted& by_estimate = *std::min_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.estimate < b.estimate; });
  const Predicted& by_trees = *std::min_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.log_ns < b.log_ns; });
  Choices choices{{"default", "analytic"}, {usual, config(by_estimate.candidate)}};
  for (const double margin : kMargins) {
    const bool leaves = by_trees.log_ns < all[static_cast<size_t>(start)].log_ns - margin;
    choices.names.push_back("trees, margin " + std::to_string(margin).substr(0, 4));
    choices.configs.push_back(leaves ? config(by_trees.candidate) : usual);
  }
  return choices;
}

// Seconds of each config, the least of samples that take turns; 0 for one that does not build.
std::map<std::string, double> Measure(const graph::Workload& workload, const target::Target& target,
                                      const std::vector<schedule::Config>& configs) {
  WorkloadData data(workload, 7);
  std::map<std::string, std::unique_ptr<RunnableKernel>> kernels;
  std::map<std::string, double> times;
  for (const schedule::Config& config : configs) {
    const std::string text = config.ToText();
    if (!times.emplace(text, 0).second) continue;
    auto built = RunnableKernel::Create(workload, target, config, data);
    if (built.ok()) kernels.emplace(text, *std::move(built));
  }
  // In a thread of its own: timing pins its threads, building must not inherit that.
  std::thread timing([&] {
    Threads threads(target.cpu().threads);
    for (int round = 0; round < kRounds; ++round) {
      for (const auto& [text, kernel] : kernels) {
        const double seconds = kernel->Time(threads, 1, kSampleSeconds);
        double& least = times[text];
        least = least == 0 ? seconds : std::min(least, seconds);
      }
    }
  });
  timing.join();
  return times;
}

// Sums of a network by what chose.
std::map<std::string, double> Judge(const std::vector<Network>& networks, size_t left_out,
                                    size_t sample) {
  const Network& network = networks[left_out];
  const Models models = Learn(networks, left_out);
  std::map<std::string, double> sums;
  for (size_t t = 0; t < network.space.tasks.size(); ++t) {
    const Recorded& task = network.space.tasks[t];
    const Choices choices =
        Choose(task.workload, network.space.target, models, sample, Rng(1).Split(t));
    auto times = Measure(task.workload, network.space.target, choices.configs);
    nlohmann::json line = {{"network", network.name},
                           {"summary", task.workload.Summary()},
                           {"occurrences", task.occurrences}};
    const double usual = times[choices.configs[0].ToText()];
    for (size_t i = 0; i < choices.names.size(); ++i) {
      const double seconds = times[choices.configs[i].ToText()];
      // What does not build would be replaced by the default.
      sums[choices.names[i]] += task.occurrences * (seconds > 0 ? seconds : usual);
      line["us"][choices.names[i]] = seconds * 1e6;
      line["config"][choices.names[i]] = choices.configs[i].ToText();
    }
    double recorded = usual * 1e9;
    for (const Row& row : task.rows) recorded = std::min(recorded, row.ns);
    sums["best recorded"] += task.occurrences * recorded * 1e-9;
    line["us"]["best recorded"] = recorded * 1e-3;
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  return sums;
}

int Main(const std::vector<std::string>& paths, size_t sample, const std::string& only) {
  std::vector<Network> networks;
  for (const std::string& path : paths) {
    networks.push_back({std::filesystem::path(path).stem().string(), Read(path)});
  }
  std::map<std::string, double> logs;
  int judged = 0;
  for (size_t i = 0; i < networks.size(); ++i) {
    if (!only.empty() && ("," + only + ",").find("," + networks[i].name + ",") == std::string::npos)
      continue;
    const std::map<std::string, double> sums = Judge(networks, i, sample);
    const double usual = sums.at("default");
    std::printf("| %s | %.3f ms |", networks[i].name.c_str(), usual * 1e3);
    for (const auto& [name, sum] : sums) {
      if (name == "default") continue;
      std::printf(" %s %.3f |", name.c_str(), sum / usual);
      logs[name] += std::log(sum / usual);
    }
    std::printf("\n");
    std::fflush(stdout);
    ++judged;
  }
  for (const auto& [name, sum] : logs) {
    std::printf("geometric mean, %s: %.3f\n", name.c_str(), std::exp(sum / judged));
  }
  return judged > 0 ? 0 : 2;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  size_t sample = 1200;
  std::string only;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (key == "sample") {
      sample = std::stoul(value);
    } else if (key == "only") {
      only = value;
    } else {
      paths.push_back(word);
    }
  }
  if (paths.size() < 2) {
    std::fprintf(stderr, "usage: prior_bench A.jsonl B.jsonl ... [sample=1200] [only=A,...]\n");
    return 2;
  }
  return mlc::bench::Main(paths, sample, only);
}
