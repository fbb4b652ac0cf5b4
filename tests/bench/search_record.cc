// Measures random kernels of a model's tasks and writes them down as a recorded space, so that
// searches can be replayed without a device:
//   search_record MODEL OUT.jsonl [per_task=60] [seconds=50] [seed=1] [first=0] [threads=2]
// Lines: {"target":TEXT}, then for each task {"task":N,"occurrences":N,"workload":TEXT} and its
// rows
// {"task":N,"config":TEXT,"ns":X}; ns is 0 where the kernel could not be built.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "compiler/base/rng.h"
#include "compiler/front/front.h"
#include "tests/bench/kernel_runner.h"

namespace mlc::bench {
namespace {

using nlohmann::json;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<schedule::Config> Sample(const graph::Workload& workload, const target::Target& target,
                                     size_t count, Rng rng) {
  std::vector<schedule::Config> configs;
  std::set<std::string> seen;
  const auto families = schedule::FamiliesFor(workload, target);
  for (const schedule::Family* family : families) {
    configs.push_back(family->Default(workload, target));
    seen.insert(configs.back().ToText());
    const schedule::Space space = family->MakeSpace(workload, target);
    const size_t wanted = configs.size() + count / families.size();
    for (int tries = 0; tries < 20000 && configs.size() < wanted; ++tries) {
      schedule::Config config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
      if (seen.insert(config.ToText()).second) configs.push_back(std::move(config));
    }
  }
  return configs;
}

void RecordTask(int number, const graph::Task& task, const target::Target& target,
                const std::vector<schedule::Config>& configs, std::ostream& out) {
  WorkloadData data(task.workload, 7);
  std::vector<std::unique_ptr<RunnableKernel>> kernels(configs.size());
  const auto build = [&](size_t first) {
    for (size_t i = first; i < configs.size(); i += 2) {
      auto built = RunnableKernel::Create(task.workload, target, configs[i], data);
      if (built.ok()) kernels[i] = std::move(*built);
    }
  };
  std::thread other(build, 1);
  build(0);
  other.join();
  out << json{{"task", number},
              {"occurrences", task.occurrences},
              {"workload", task.workload.ToText()}}
      << "\n";
  // In a thread of its own: timing pins its threads, building must not inherit that.
  std::thread timing([&] {
    Threads threads(target.threads);
    for (size_t i = 0; i < configs.size(); ++i) {
      const double seconds = kernels[i] ? kernels[i]->Time(threads, 5, 0.001) : 0;
      out << json{{"task", number}, {"config", configs[i].ToText()}, {"ns", seconds * 1e9}} << "\n";
    }
  });
  timing.join();
  out.flush();
}

int Main(const std::string& model, const std::string& path, std::map<std::string, int> options) {
  const target::Target target = target::DetectHost(options["threads"]);
  auto program = front::CompileFront(model, {}, {});
  if (!program.ok()) {
    std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
    return 1;
  }
  std::ofstream out(path, std::ios::app);
  out << json{{"target", target.ToText()}} << "\n";
  Rng rng(static_cast<uint64_t>(options["seed"]));
  const double start = Seconds();
  for (size_t i = 0; i < program->tasks.size(); ++i) {
    const auto configs = Sample(program->tasks[i].workload, target,
                                static_cast<size_t>(options["per_task"]), rng.Split(i));
    if (i < static_cast<size_t>(options["first"])) continue;
    if (Seconds() - start > options["seconds"]) {
      std::printf("out of time before task %zu of %zu\n", i, program->tasks.size());
      return 0;
    }
    RecordTask(static_cast<int>(i), program->tasks[i], target, configs, out);
  }
  std::printf("done: %zu tasks\n", program->tasks.size());
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: search_record MODEL OUT.jsonl [key=value...]\n");
    return 2;
  }
  std::map<std::string, int> options = {
      {"per_task", 60}, {"seconds", 50}, {"seed", 1}, {"first", 0}, {"threads", 2}};
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    options[argument.substr(0, equals)] = std::stoi(argument.substr(equals + 1));
  }
  return mlc::bench::Main(argv[1], argv[2], options);
}
