// Replays searches against a recorded space (see search_record.cc), no device needed:
//   search_replay FILE.jsonl [trials=200] [seeds=3] [warm=0] [facts=0] [earlier=2000] [noise=2]
//   [disturbed=0] [EARLIER.jsonl]
// First how well the analytic model orders the recorded kernels. Then whole tunings, on a simulated
// device: boosted trees fitted to all records with as much noise as real timings have (`noise` in
// %; of `disturbed` % of them another program takes a part). A final latency is judged by the
// simulator without noise. warm=1: half of the tasks are tuned first and
// leave their log to the other half. EARLIER.jsonl: a space of the same target that is tuned first,
// with `earlier` trials, for a second tuning of FILE that starts from its log. facts=1 prints a
// table for fitting the analytic model instead.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/steady_time.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "costmodel/default_config.h"
#include "costmodel/experience.h"
#include "costmodel/features.h"
#include "server/search/portfolio_strategy.h"
#include "tests/bench/replay_space.h"
#include "tests/support/costmodel/ranking.h"
#include "tests/support/search/random_strategy.h"

namespace mlc::bench {
namespace {

using costmodel::Experience;
using server::SearchInput;

// Smooth enough not to repeat the noise of single records.
constexpr costmodel::BoostingOptions kDevice{
    .trees = 200, .depth = 7, .eta = 0.1, .min_child_weight = 4};

class Device {
 public:
  // All spaces teach it, the first one's tasks are what it times.
  Device(const std::vector<const Space*>& spaces, int noise_percent, int disturbed_percent)
      : space_(*spaces[0]), noise_percent_(noise_percent), disturbed_percent_(disturbed_percent) {
    for (const Space* space : spaces) Learn(*space);
    for (const auto& [family, rows] : rows_) {
      models_.emplace(family, *rows.Fit(kDevice));
    }
  }
  // Without noise.
  double Time(size_t task, const schedule::Config& config) const {
    return Time(space_.tasks[task].workload, config);
  }
  double Time(const graph::Workload& workload, const schedule::Config& config) const {
    const Described d = Describe(workload, space_.target, config);
    const auto model = models_.find(config.family);
    float correction = 0;
    if (model != models_.end()) {
      model->second.Predict(d.features, std::span(&correction, 1));
    }
    return d.estimate * std::exp(static_cast<double>(correction));
  }
  Measurement Measure(const graph::Workload& workload, const server::Proposal& proposal,
                      Rng& rng) const {
    Measurement m;
    m.outcome = Outcome::kOk;
    const double noise = rng.Uniform() + rng.Uniform() + rng.Uniform() - 1.5;
    m.median_ns = Time(workload, proposal.config) * (1 + 0.01 * noise_percent_ * noise);
    if (disturbed_percent_ > 0 && 100 * rng.Uniform() < disturbed_percent_) m.median_ns *= 1.6;
    if (proposal.early_stop_ns > 0 && m.median_ns > proposal.early_stop_ns)
      m.outcome = Outcome::kTooSlow;
    return m;
  }

 private:
  void Learn(const Space& space) {
    const size_t columns = costmodel::Features().size();
    for (const Recorded& task : space.tasks) {
      for (const Row& row : task.rows) {
        Experience& rows = rows_.try_emplace(row.config.family, columns).first->second;
        const Described d = Describe(task.workload, space.target, row.config);
        rows.Add(d.features, static_cast<float>(std::log(row.ns / d.estimate)), 1);
      }
    }
  }

  const Space& space_;
  int noise_percent_;      // scatter of a timing
  int disturbed_percent_;  // of the timings take 1.6 times as long
  std::map<std::string, Experience> rows_;
  std::map<std::string, costmodel::Forest> models_;
};

struct Run {
  std::vector<double> curve;  // model latency after each trial, ns; without a kernel, 1000 s a task
  // After each batch: of the library that could be built then, and what progress says of it.
  std::vector<double> library, reported;
  // After each batch, the sum of the best measured times; 0 while one is missing.
  std::vector<double> measured;
  // Of each task, what was measured, fastest first.
  std::vector<std::vector<costmodel::Timed>> timed;
  double seconds = 0;  // of the search itself
  std::unique_ptr<server::Strategy> strategy;
};

// What a build and a reader of the progress see, untried tasks at what they would get.
void Look(const Device& device, const std::vector<server::SearchTask>& tasks, Run& run) {
  double library = 0, reported = 0;
  const std::vector<server::TaskProgress> progress = run.strategy->Progress();
  for (size_t i = 0; i < tasks.size(); ++i) {
    const server::TaskProgress& p = progress[i];
    const auto& config = p.best ? p.best : p.prior_config;
    library += tasks[i].occurrences * (config ? device.Time(tasks[i].workload, *config) : 1e6);
    reported += tasks[i].occurrences * (p.best_ns > 0 ? p.best_ns : p.estimate_ns);
  }
  run.library.push_back(library);
  run.reported.push_back(reported);
  double measured = 0;
  for (size_t i = 0; i < tasks.size() && measured >= 0; ++i) {
    measured = run.timed[i].empty() ? -1 : measured + tasks[i].occurrences * run.timed[i][0].ns;
  }
  run.measured.push_back(measured < 0 ? 1e18 : measured);
}

void Note(std::vector<costmodel::Timed>& timed, const server::Proposal& proposal,
          const Measurement& measurement) {
  if (measurement.outcome != Outcome::kOk) return;
  const auto slower = [&](const costmodel::Timed& t) { return t.ns > measurement.median_ns; };
  timed.insert(std::find_if(timed.begin(), timed.end(), slower),
               {proposal.config, measurement.median_ns});
}

Run Tune(const Device& device, SearchInput input, const server::StrategyFactory& make) {
  Run run;
  const std::vector<server::SearchTask> tasks = input.tasks;
  Rng noise(input.seed + 77);
  const int64_t trials = input.trials;
  std::vector<double> best(tasks.size(), 0), measured(tasks.size(), 0);
  run.timed.resize(tasks.size());
  std::vector<double> occurrences;
  for (const server::SearchTask& task : input.tasks) occurrences.push_back(task.occurrences);
  const double start = NowSeconds();
  run.strategy = make(std::move(input));
  Look(device, tasks, run);
  double device_s = 0;
  std::vector<std::vector<server::Proposal>> flight;
  int64_t proposed = 0;
  const auto propose = [&] {
    const auto count = static_cast<int>(std::min<int64_t>(16, trials - proposed));
    if (count <= 0) return;
    flight.push_back(run.strategy->Propose(count));
    proposed += static_cast<int64_t>(flight.back().size());
  };
  propose();
  propose();
  while (!flight.empty() && !flight.front().empty()) {
    std::vector<server::Observation> seen;
    const double before = NowSeconds();
    for (const server::Proposal& proposal : flight.front()) {
      const auto t = static_cast<size_t>(proposal.task);
      seen.push_back({proposal, device.Measure(tasks[t].workload, proposal, noise)});
      const double ns = seen.back().measurement.median_ns;
      Note(run.timed[t], proposal, seen.back().measurement);
      if (measured[t] == 0 || ns < measured[t]) {
        measured[t] = ns;
        best[t] = device.Time(tasks[t].workload, proposal.config);
      }
      double total = 0;
      for (size_t i = 0; i < best.size(); ++i) {
        total += best[i] == 0 ? 1e12 : best[i] * occurrences[i];
      }
      run.curve.push_back(total);
    }
    device_s += NowSeconds() - before;
    flight.erase(flight.begin());
    run.strategy->Learn(seen);
    propose();
    const double looked = NowSeconds();
    Look(device, tasks, run);
    device_s += NowSeconds() - looked;
  }
  run.seconds = NowSeconds() - start - device_s;
  return run;
}

double At(const Run& run, size_t trial) {
  return run.curve[std::min(trial, run.curve.size()) - 1] * 1e-6;
}

size_t Reaches(const Run& run, double ms) {
  for (size_t i = 0; i < run.curve.size(); ++i) {
    if (run.curve[i] * 1e-6 <= ms) return i + 1;
  }
  return run.curve.size() + 1;
}

SearchInput InputOf(const Space& space, const std::vector<size_t>& tasks, int64_t trials,
                    uint64_t seed) {
  SearchInput input;
  input.target = space.target;
  input.trials = trials;
  input.seed = seed;
  for (size_t t : tasks) {
    input.tasks.push_back({space.tasks[t].workload, space.tasks[t].occurrences, {}});
  }
  return input;
}

void Print(const char* name, const Run& run) {
  std::printf("%-10s", name);
  for (size_t trial : {50, 100, 200, 400, 800, 2000}) std::printf(" %7.3f", At(run, trial));
  std::printf("  n=%zu, 5%% of final at %zu, search %.2f s\n", run.curve.size(),
              Reaches(run, At(run, run.curve.size()) * 1.05), run.seconds);
  std::fflush(stdout);
}

void Compare(const Space& space, const Device& device, int64_t trials, int seeds) {
  std::vector<size_t> all;
  for (size_t i = 0; i < space.tasks.size(); ++i) all.push_back(i);
  std::printf("model latency, ms, after     50     100     200     400     800    2000 trials\n");
  double defaults = 0;
  for (size_t t : all) {
    defaults += space.tasks[t].occurrences *
                device.Time(t, *costmodel::DefaultConfig(space.tasks[t].workload, space.target));
  }
  std::printf("defaults %.3f\n", defaults * 1e-6);
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto s = static_cast<uint64_t>(seed);
    Print("random", Tune(device, InputOf(space, all, trials, s), server::MakeRandomStrategy));
    Print("portfolio", Tune(device, InputOf(space, all, trials, s), server::MakePortfolioStrategy));
  }
}

constexpr size_t kBestOfEach = 8;

// What a run leaves in the log.
void Leave(const Run& run, const std::vector<server::SearchTask>& tasks, SearchInput& input) {
  input.models = run.strategy->Models();
  const auto progress = run.strategy->Progress();
  for (size_t i = 0; i < tasks.size(); ++i) {
    costmodel::SimilarWorkload similar{tasks[i].workload, {}, progress[i].default_ns};
    for (const costmodel::Timed& timed : run.timed[i]) {
      const bool is_new = std::none_of(similar.best.begin(), similar.best.end(),
                                       [&](const auto& t) { return t.config == timed.config; });
      if (is_new && similar.best.size() < kBestOfEach) similar.best.push_back(timed);
    }
    input.related.push_back(std::move(similar));
  }
}

void PrintLibraries(const char* name, const Run& run) {
  std::printf("%-5s library after", name);
  for (size_t batch : {0, 1, 2, 3, 4, 8, 12, 18, 37}) {
    const size_t at = std::min(batch, run.library.size() - 1);
    std::printf(" %zu: %.3f (%.3f)", 16 * at, run.library[at] * 1e-6, run.reported[at] * 1e-6);
  }
  std::printf("\n");
}

// Trials until the model's time stays within 5 % of the last one; one value for each batch.
size_t Arrives(const std::vector<double>& times) {
  size_t batch = times.size();
  while (batch > 0 && times[batch - 1] <= 1.05 * times.back()) --batch;
  return 16 * batch;
}

void ColdAndWarm(const Device& device, const SearchInput& first, const SearchInput& second) {
  const Run before = Tune(device, first, server::MakePortfolioStrategy);
  const Run cold = Tune(device, second, server::MakePortfolioStrategy);
  SearchInput input = second;
  Leave(before, first.tasks, input);
  const Run warm = Tune(device, std::move(input), server::MakePortfolioStrategy);
  Print("cold", cold);
  Print("warm", warm);
  PrintLibraries("cold", cold);
  PrintLibraries("warm", warm);
  const double bar = At(cold, cold.curve.size()) * 1.05;
  std::printf(
      "trials to 5%% of the cold final: cold %zu warm %zu; of the own final, library: cold "
      "%zu warm %zu; as reported: cold %zu warm %zu; as measured: cold %zu warm %zu\n",
      Reaches(cold, bar), Reaches(warm, bar), Arrives(cold.library), Arrives(warm.library),
      Arrives(cold.reported), Arrives(warm.reported), Arrives(cold.measured),
      Arrives(warm.measured));
}

// Every second task is the first model, the others the second one.
void CompareWarm(const Space& space, const Device& device, int64_t trials, int seeds) {
  std::vector<size_t> first, second;
  for (size_t i = 0; i < space.tasks.size(); ++i) (i % 2 == 0 ? first : second).push_back(i);
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto s = static_cast<uint64_t>(seed);
    ColdAndWarm(device, InputOf(space, first, trials, s), InputOf(space, second, trials, s));
  }
}

std::vector<size_t> AllOf(const Space& space) {
  std::vector<size_t> all;
  for (size_t i = 0; i < space.tasks.size(); ++i) all.push_back(i);
  return all;
}

void CompareSecond(const Space& space, const Space& earlier, const Device& device, int64_t trials,
                   int64_t earlier_trials, int seeds) {
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto s = static_cast<uint64_t>(seed);
    ColdAndWarm(device, InputOf(earlier, AllOf(earlier), earlier_trials, s),
                InputOf(space, AllOf(space), trials, s));
  }
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: search_replay FILE.jsonl [key=value...]\n");
    return 2;
  }
  std::map<std::string, int> options = {{"trials", 200}, {"earlier", 2000}, {"seeds", 3},
                                        {"warm", 0},     {"facts", 0},      {"noise", 2},
                                        {"disturbed", 0}};
  std::string earlier_path;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      earlier_path = argument;
      continue;
    }
    options[argument.substr(0, equals)] = std::stoi(argument.substr(equals + 1));
  }
  using namespace mlc::bench;
  const Space space = Read(argv[1]);
  if (options["facts"] != 0) {
    PrintFacts(space);
    return 0;
  }
  JudgeAnalytic(space);
  const Space earlier = earlier_path.empty() ? Space() : Read(earlier_path);
  const Device device({&space, &earlier}, options["noise"], options["disturbed"]);
  if (!earlier_path.empty()) {
    CompareSecond(space, earlier, device, options["trials"], options["earlier"], options["seeds"]);
  } else if (options["warm"] != 0) {
    CompareWarm(space, device, options["trials"], options["seeds"]);
  } else {
    Compare(space, device, options["trials"], options["seeds"]);
  }
  return 0;
}
