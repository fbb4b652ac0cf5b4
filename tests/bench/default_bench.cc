// What a build without a log uses, beside the defaults of the other families: of each of a model's
// tasks that several families take.
//   default_bench MODEL [precision=fp32] [target=cuda]
// target=cuda measures all of them on the first GPU, through the worker's engine, which checks the
// results; h200 and cpu only say what would be chosen for an H200 and for this machine, by which
// estimates.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "compiler/front/front.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "costmodel/default_config.h"
#include "tests/bench/arguments.h"
#include "tests/bench/gpu_trials.h"
#include "worker/local_trial.h"

namespace mlc {
namespace {

struct Flags {
  std::string model, precision = "fp32", target = "cuda";
};

struct Sums {
  double chosen = 0, preferred = 0, fastest = 0;  // ns of the model's tasks, as often as they occur
};

double EstimateOf(const graph::Workload& workload, const target::Target& target,
                  const schedule::Config& config) {
  const schedule::Family& family = *schedule::FindFamily(config.family);
  return costmodel::EstimateKernel(family.Facts(workload, target, config), target).total_ns;
}

Result<double> TimeOf(const Measurement& m, const schedule::Config& config) {
  if (m.outcome == Outcome::kOk) return m.median_ns;
  return Internal(config.ToText() + ": " + worker::ToLine(m, 0));
}

// Of one task, chosen config first; an engine measures.
Status Compare(const graph::Task& task, const target::Target& target, worker::Engine* engine,
               Sums& sums) {
  const std::vector<schedule::Config> configs = costmodel::DefaultConfigs(task.workload, target);
  if (configs.size() < 2) return Status();
  const std::string_view preferred = schedule::FamiliesFor(task.workload, target)[0]->name();
  std::vector<std::string> texts;
  for (const schedule::Config& config : configs) texts.push_back(config.ToText());
  std::map<std::string, Measurement> measured;
  if (engine != nullptr) measured = bench::Measure(*engine, task.workload.ToText(), texts);
  std::printf("%d x %s\n", task.occurrences, task.workload.Summary().c_str());
  double fastest = 0;
  for (size_t i = 0; i < configs.size(); ++i) {
    const double estimate = EstimateOf(task.workload, target.WithoutPeaks(), configs[i]);
    double ns = estimate;
    if (engine != nullptr) ns = MLC_TRY(TimeOf(measured[texts[i]], configs[i]));
    std::printf("  %c %9.2f us, estimated %9.2f  %s\n", i == 0 ? '*' : ' ', ns / 1e3,
                estimate / 1e3, texts[i].c_str());
    if (fastest == 0 || ns < fastest) fastest = ns;
    if (i == 0) sums.chosen += ns * task.occurrences;
    if (configs[i].family == preferred) sums.preferred += ns * task.occurrences;
  }
  sums.fastest += fastest * task.occurrences;
  std::fflush(stdout);
  return Status();
}

Status Run(const Flags& flags) {
  std::unique_ptr<worker::Engine> engine;
  target::Target target = target::DetectHost(2);
  if (flags.target == "h200") target = MLC_TRY(bench::TypicalH200());
  if (flags.target == "cuda") {
    engine = MLC_TRY(bench::FirstGpu());
    target = engine->target();
  }
  front::FrontOptions front;
  front.precision = MLC_TRY(graph::ParsePrecision(flags.precision));
  const graph::Program program =
      MLC_TRY(front::CompileFront(flags.model, {}, front::ForTarget(front, target), nullptr));
  Sums sums;
  for (const graph::Task& task : program.tasks) {
    MLC_TRY(Compare(task, target, engine.get(), sums));
  }
  std::printf(
      "%s %s, tasks of several families, us: chosen %.1f, preferred family %.1f, the "
      "fastest default %.1f\n",
      flags.model.c_str(), flags.precision.c_str(), sums.chosen / 1e3, sums.preferred / 1e3,
      sums.fastest / 1e3);
  return Status();
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  mlc::Flags flags;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (key == "precision" && has_value) {
      flags.precision = value;
    } else if (key == "target" && has_value) {
      flags.target = value;
    } else {
      flags.model = word;
    }
  }
  if (flags.model.empty()) {
    std::fprintf(stderr, "default_bench MODEL [precision=fp32] [target=cuda]\n");
    return 64;
  }
  const mlc::Status status = mlc::Run(flags);
  if (!status.ok()) std::fprintf(stderr, "default_bench: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
