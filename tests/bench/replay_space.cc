#include "tests/bench/replay_space.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "costmodel/analytic.h"
#include "costmodel/features.h"
#include "tests/support/costmodel/ranking.h"

namespace mlc::bench {

using nlohmann::json;

Space Read(const std::string& path) {
  Space space;
  std::map<int, size_t> index;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const json entry = json::parse(line);
    if (entry.contains("target")) {
      space.target = *target::Target::Parse(entry["target"].get<std::string>());
    } else if (entry.contains("workload")) {
      index[entry["task"]] = space.tasks.size();
      space.tasks.push_back({*graph::Workload::Parse(entry["workload"].get<std::string>()),
                             entry["occurrences"],
                             {}});
    } else if (entry["ns"].get<double>() > 0) {
      const schedule::Config config = *schedule::Config::Parse(entry["config"].get<std::string>());
      const schedule::Family* family = schedule::FindFamily(config.family);
      // What was recorded of an earlier version is of other kernels.
      if (family == nullptr || family->version() != config.version) continue;
      space.tasks[index.at(entry["task"])].rows.push_back({config, entry["ns"]});
    }
  }
  return space;
}

Described Describe(const graph::Workload& workload, const target::Target& target,
                   const schedule::Config& config) {
  Described d;
  d.facts = schedule::FindFamily(config.family)->Facts(workload, target, config);
  const costmodel::Estimate estimate = costmodel::EstimateKernel(d.facts, target);
  d.estimate = estimate.total_ns;
  d.features.resize(costmodel::Features().size());
  costmodel::ComputeFeatures(
      {costmodel::DescribeProblem(workload), d.facts, estimate, config, target}, d.features);
  return d;
}

void PrintFacts(const Space& space) {
  std::printf(
      "task family occ ns flops useful lane_fill acc lpf trip l1 l2 l3 dram l1set l2set scratch "
      "chunks imb phases body special minbytes est\n");
  for (size_t t = 0; t < space.tasks.size(); ++t) {
    const Recorded& task = space.tasks[t];
    for (const Row& row : task.rows) {
      const Described d = Describe(task.workload, space.target, row.config);
      const schedule::KernelFacts& f = d.facts;
      std::printf("%zu %s %d %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g %g\n", t,
                  row.config.family.c_str(), task.occurrences, row.ns, f.flops, f.useful_flops,
                  f.lane_fill, f.accumulators, f.loads_per_fma, f.inner_trip, f.l1_bytes,
                  f.l2_bytes, f.l3_bytes, f.dram_bytes, f.l1_set_bytes, f.l2_set_bytes,
                  f.scratch_bytes, f.parallel_chunks, f.imbalance, f.phases, f.body_ops,
                  f.special_flops, task.workload.MinBytes(), d.estimate);
    }
  }
}

void JudgeAnalytic(const Space& space) {
  double pairs = 0, best1 = 0, best8 = 0, best32 = 0, weight = 0;
  for (const Recorded& task : space.tasks) {
    std::vector<double> scores, times;
    for (const Row& row : task.rows) {
      scores.push_back(Describe(task.workload, space.target, row.config).estimate);
      times.push_back(row.ns);
    }
    if (times.size() < 20) continue;
    pairs += costmodel::PairwiseAccuracy(scores, times);
    best1 += costmodel::BestOfN(scores, times, 1);
    best8 += costmodel::BestOfN(scores, times, 8);
    best32 += costmodel::BestOfN(scores, times, 32);
    ++weight;
  }
  std::printf("analytic: pairs %.3f best@1 %.3f @8 %.3f @32 %.3f (%g tasks)\n", pairs / weight,
              best1 / weight, best8 / weight, best32 / weight, weight);
}

}  // namespace mlc::bench
