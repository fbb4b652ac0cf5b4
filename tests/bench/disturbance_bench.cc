// Does the worker's own work disturb its timings? Times one kernel again and again, first alone,
// then in batches with other trials that are built, checked and referenced around it, and prints
// both medians and their quotient.
//   disturbance_bench WORKLOAD_FILE [ROUNDS] [THREADS]
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/machine/cpus.h"
#include "base/rng.h"
#include "compiler/schedule/space/family.h"
#include "worker/devices.h"
#include "worker/local_trial.h"

namespace {

using namespace mlc;
using namespace mlc::worker;

constexpr uint64_t kWatched = 1;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Configs that take the place of a search's proposals.
std::vector<std::string> Others(const graph::Workload& workload, const target::Target& target) {
  const schedule::Family& family = *schedule::FamiliesFor(workload, target).front();
  const schedule::Space space = family.MakeSpace(workload, target);
  std::vector<std::string> configs;
  Rng rng(1);
  for (int attempt = 0; attempt < 10'000 && configs.size() < 64; ++attempt) {
    const auto points = static_cast<uint64_t>(space.NumPoints());
    const schedule::Config config = space.At(static_cast<int64_t>(rng.Below(points)));
    if (family.Check(workload, target, config) == schedule::RejectReason::kNone) {
      configs.push_back(config.ToText());
    }
  }
  return configs;
}

// The watched trial's median in each round, with `company` other trials around it.
std::vector<double> Rounds(Engine& engine, const Trial& watched,
                           const std::vector<std::string>& others, int rounds, size_t company) {
  std::vector<double> medians;
  size_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i <= company; ++i) {
      Trial trial = watched;
      if (i != company / 2) {
        trial.uid.low = 2 + i;
        trial.config = others[next++ % others.size()];
      }
      engine.Add(std::move(trial));
    }
    while (engine.held() > 0) {
      engine.Work(1000, -1);
      if (engine.ReadyToMeasure()) engine.Measure();
    }
    for (const TrialResult& result : engine.TakeResults()) {
      if (result.uid.low == kWatched) medians.push_back(result.measurement.median_ns);
    }
  }
  return medians;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: disturbance_bench WORKLOAD_FILE [ROUNDS] [THREADS]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 30;
  const int cpus = target::UsableCpus();
  std::ifstream file(argv[1]);
  std::ostringstream text;
  text << file.rdbuf();
  const auto workload = graph::Workload::Parse(text.str());
  WorkerOptions options;
  options.target = target::DetectHost(argc > 3 ? std::atoi(argv[3]) : cpus);
  options.builders = cpus;
  auto engine = CreateEngine(options);
  if (!workload.ok() || !engine.ok()) {
    const Status& status = workload.ok() ? engine.status() : workload.status();
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  const auto config = DefaultConfig(workload->ToText(), options.target);
  const Trial watched = {{0, kWatched}, workload->ToText(), *config, 1, 0};
  const std::vector<std::string> others = Others(*workload, options.target);
  (void)Rounds(**engine, watched, others, 2, 0);
  // Interleaved, so that a machine that drifts drifts for both.
  std::vector<double> alone_ns;
  std::vector<double> company_ns;
  for (int round = 0; round < rounds; ++round) {
    alone_ns.push_back(Rounds(**engine, watched, others, 1, 0).front());
    company_ns.push_back(Rounds(**engine, watched, others, 1, 15).front());
  }
  const double alone = Median(alone_ns);
  const double company = Median(company_ns);
  std::printf("alone %.0f ns, in company %.0f ns, quotient %.3f\n", alone, company,
              company / alone);
  return 0;
}
