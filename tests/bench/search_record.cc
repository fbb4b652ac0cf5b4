// Measures random kernels of a model's tasks and writes them down as a recorded space, so that
// searches can be replayed without a device:
//   search_record MODEL OUT.jsonl [per_task=60] [seconds=50] [seed=1] [first=0] [threads=2]
// Lines: {"target":TEXT}, then for each task {"task":N,"occurrences":N,"workload":TEXT} and its
// rows {"task":N,"config":TEXT,"ns":X}; ns is 0 where the kernel could not be built.
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/rng.h"
#include "base/steady_time.h"
#include "compiler/front/front.h"
#include "tests/bench/arguments.h"
#include "tests/bench/config_choice.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

using nlohmann::json;

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
    Threads threads(target.cpu().threads);
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
  const double start = NowSeconds();
  for (size_t i = 0; i < program->tasks.size(); ++i) {
    const graph::Workload& workload = program->tasks[i].workload;
    const auto configs = RandomConfigs(schedule::FamiliesFor(workload, target), workload, target,
                                       static_cast<size_t>(options["per_task"]), rng.Split(i));
    if (i < static_cast<size_t>(options["first"])) continue;
    if (NowSeconds() - start > options["seconds"]) {
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
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc - 2, argv + 2)) {
    options[key] = std::stoi(value);
  }
  return mlc::bench::Main(argv[1], argv[2], options);
}
