// Measures the pruned spaces of tasks once on this machine's GPU, so that searches can be replayed
// on them without one (replay_searches). In steps:
//   space_record select FOLDER OUT [best=600] [random=200] [factor=4] [seed=1]
//     chooses configs of each *.workload in FOLDER, for a typical H200 (device=cpu: for this CPU);
//     needs no GPU
//   space_record kernels FOLDER OUT
//     chooses all configs of each kernel that a *.json in FOLDER specifies
//   space_record measure OUT [seconds=200] [again=40] [times=3] [device=cuda]
//     measures them, tasks in turns, until all are measured or 85 % of the time is spent; the rest
//     of the time the fastest ones again. Every result is written at once; the same command goes
//     on.
// pack_spaces.py makes the files of docs/data from OUT. Exit codes: 0; 1 with a message.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/machine/cpus.h"
#include "base/steady_time.h"
#include "tests/bench/arguments.h"
#include "tests/bench/gpu_trials.h"
#include "tests/bench/search/kernel_files.h"
#include "tests/bench/search/recording.h"
#include "worker/devices.h"

namespace mlc::bench {
namespace {

using Options = std::map<std::string, std::string>;

constexpr double kFirstPass = 0.85;  // share of the time

double Number(const Options& options, const std::string& key) { return std::stod(options.at(key)); }

Result<target::Target> SelectionTarget(const Options& options) {
  if (options.at("device") != "cpu") return TypicalH200();
  return target::DetectHost(target::UsableCpus());
}

Status Select(const std::string& folder, const std::string& out, const Options& options) {
  const target::Target target = MLC_TRY(SelectionTarget(options));
  const SelectionSizes sizes{Number(options, "factor"),
                             static_cast<size_t>(Number(options, "best")),
                             static_cast<size_t>(Number(options, "random"))};
  const auto seed = static_cast<uint64_t>(Number(options, "seed"));
  std::filesystem::create_directories(out);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".workload") continue;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const graph::Workload workload = MLC_TRY(graph::Workload::Parse(text));
    const Selection selection = SelectConfigs(workload, target, sizes, seed);
    const std::string name = entry.path().stem().string();
    MLC_TRY(WriteSelection(out, name, workload.ToText(), target.ToText(), sizes, seed, selection));
    std::printf("%s: %zu configs; %lld legal, %lld in the pruned space\n", name.c_str(),
                selection.configs.size(), static_cast<long long>(selection.legal),
                static_cast<long long>(selection.pruned));
  }
  return {};
}

Status SelectKernels(const std::string& folder, const std::string& out) {
  std::filesystem::create_directories(out);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const KernelOfFile file = MLC_TRY(OpenKernelFile(entry.path().string()));
    const graph::Workload workload = MLC_TRY(graph::Workload::Parse(file.workload));
    Selection selection;
    selection.configs = AllConfigs(file.kernel);
    selection.legal = selection.pruned = std::ssize(selection.configs);
    const std::string name = entry.path().stem().string();
    MLC_TRY(WriteSelection(out, name, workload.ToText(), "any", {}, 0, selection));
    std::printf("%s: %zu configs\n", name.c_str(), selection.configs.size());
  }
  return {};
}

Result<std::unique_ptr<worker::Engine>> EngineFor(const Options& options) {
  if (options.at("device") != "cpu") return FirstGpu(/*user_kernels=*/true);
  worker::WorkerOptions worker;
  worker.builders = target::UsableCpus();
  worker.target = target::DetectHost(worker.builders);
  return worker::CreateEngine(worker);
}

// Trials of the recording on the engine.
class Measuring {
 public:
  Measuring(Recording& recording, worker::Engine& engine)
      : recording_(recording),
        engine_(engine),
        target_(engine.target().ToText()),
        most_held_(4 * static_cast<size_t>(target::UsableCpus())) {}

  // Until `next` has none left or the time is over; waits for what is under way.
  template <typename TakeNext>
  Status Run(double until, TakeNext&& take) {
    bool more = true;
    while (more || engine_.held() > 0) {
      while (more && engine_.held() < most_held_) {
        const std::optional<Recording::Next> next =
            NowSeconds() < until ? take() : std::optional<Recording::Next>();
        more = next.has_value();
        if (!more) break;
        pending_.push_back(*next);
        engine_.Add({{1, pending_.size() - 1},
                     recording_.workload(next->task),
                     next->config,
                     7,
                     next->early_stop_ns,
                     0});
      }
      engine_.Work(100, -1);
      if (engine_.ReadyToMeasure()) engine_.Measure();
      for (const worker::TrialResult& result : engine_.TakeResults()) {
        const Recording::Next& made = pending_[result.uid.low];
        MLC_TRY(recording_.Add(made.task, made.config, target_, result.measurement));
      }
    }
    return {};
  }

 private:
  Recording& recording_;
  worker::Engine& engine_;
  const std::string target_;
  const size_t most_held_;
  std::vector<Recording::Next> pending_;  // by the numbers of their trials
};

Status MeasureAll(const std::string& out, const Options& options) {
  const double begin = NowSeconds(), seconds = Number(options, "seconds");
  Recording recording = MLC_TRY(Recording::Open(out));
  const std::unique_ptr<worker::Engine> engine = MLC_TRY(EngineFor(options));
  Measuring measuring(recording, *engine);
  MLC_TRY(measuring.Run(begin + kFirstPass * seconds, [&] { return recording.TakeFirst(); }));
  std::printf("first pass: %.1f s\n%s", NowSeconds() - begin, recording.Summary().c_str());
  std::fflush(stdout);
  const auto fastest = static_cast<size_t>(Number(options, "again"));
  const auto times = static_cast<size_t>(Number(options, "times"));
  MLC_TRY(measuring.Run(begin + seconds, [&] { return recording.TakeAgain(fastest, times); }));
  std::printf("all: %.1f s\n", NowSeconds() - begin);
  return {};
}

Status Main(const std::vector<std::string>& words, const Options& options) {
  if (words.size() == 3 && words[0] == "select") return Select(words[1], words[2], options);
  if (words.size() == 3 && words[0] == "kernels") return SelectKernels(words[1], words[2]);
  if (words.size() == 2 && words[0] == "measure") return MeasureAll(words[1], options);
  return InvalidArgument(
      "usage: space_record select|kernels FOLDER OUT | measure OUT [key=value...]");
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  mlc::bench::Options options = {{"best", "600"}, {"random", "200"},  {"factor", "4"},
                                 {"seed", "1"},   {"seconds", "200"}, {"again", "40"},
                                 {"times", "3"},  {"device", "cuda"}};
  std::vector<std::string> words;
  for (const auto& argument : mlc::bench::Arguments(argc, argv)) {
    if (!argument.has_value) {
      words.push_back(argument.word);
    } else if (options.contains(argument.key)) {
      options[argument.key] = argument.value;
    } else {
      std::fprintf(stderr, "space_record: no option '%s'\n", argument.key.c_str());
      return 1;
    }
  }
  const mlc::Status status = mlc::bench::Main(words, options);
  if (!status.ok()) std::fprintf(stderr, "space_record: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
