#include "client/tune/options/tune_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <sstream>
#include <utility>

#include "base/exit_code.h"
#include "base/process/arguments.h"
#include "base/rpc/flags.h"
#include "base/text.h"
#include "base/version.h"
#include "client/model/tolerance_flag.h"
#include "client/target/target_choice.h"

namespace mlc::client {
namespace {

constexpr char kFooter[] =
    "Running the same command again goes on where the last run stopped.\n"
    "Example: mlc-tune --model resnet50.onnx --trials 2000";

constexpr char kAtServer[] =
    "; with --server, auto, cpu and cuda are its workers', if of one class";

constexpr char kRawNeeds[] =
    "a user-supplied kernel takes --cuda-kernel, --workload, --entry, --grid and --block";

// What is read after the flags are known.
struct Durations {
  std::string budget;
  std::string reconnect_timeout;
};

struct JobVerbs {
  std::string watch;
  std::string cancel;
  std::string drain;
  std::string release;
  bool list = false;
  bool workers = false;
};

void AddFlags(CLI::App& app, TuneOptions& options, Durations& durations) {
  app.add_option("--model", options.model, "ONNX file");
  app.add_option("--trials", options.trials, "kernels to build and time, over all tasks")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  app.add_option("--target", options.target, TargetHelp() + kAtServer)->capture_default_str();
  app.add_option("--threads", options.threads,
                 "threads of the kernels; 0 means one for each core of one socket")
      ->check(CLI::Range(0, 1024));
  app.add_option("--log", options.log, "tuning log of the embedded server")->capture_default_str();
  app.add_option("--server", options.server, "address of an mlc-server; embedded if not given");
  transport::AddClientFlags(app, options.channel);
  app.add_option("--dim", options.dims, "NAME=N: size of a symbolic dimension; repeatable");
  app.add_option("--time-budget", durations.budget,
                 "stop after this long, for example 10m or 1h30m");
  app.add_option("--precision", options.precision,
                 "what the model computes in: model (its own), fp32, tf32, fp16, bf16")
      ->check(CLI::IsMember({"model", "fp32", "tf32", "fp16", "bf16"}))
      ->capture_default_str();
  AddToleranceFlag(
      app, options.tolerance,
      "largest relative difference to the reference that an algorithm may make; 0: no "
      "approximate algorithm, such as Winograd's; default: 1e-4, or what the precision "
      "needs");
  app.add_option("--cuda-home", options.cuda_home,
                 "where NVRTC and CUPTI are, for GPUs; default: the usual places");
  app.add_option("--cubin-cache", options.cubin_cache,
                 "for GPUs: folder of compiled device code, or off; default: mlc-tune/cubins in "
                 "the user's cache folder");
  app.add_option("--whole-model", options.whole_model,
                 "for GPUs of this machine: how many runners-up to time in the whole model at the "
                 "end; 0: none; default: a tenth of the trials, at most 48")
      ->check(CLI::Range(0, 10'000));
  app.add_option("--skip-pass", options.skipped_passes,
                 "leave this pass of the compiler out, for example merge_siblings; repeatable");
  app.add_option("--seed", options.seed, "of the search");
  auto* resume = app.add_flag("--resume", options.resume, "go on with the last run (the default)");
  app.add_flag("--fresh", options.fresh, "start anew and ignore what the log knows")
      ->excludes(resume);
  auto* json = app.add_flag("--json", options.json, "one JSON document at the end");
  app.add_flag("--json-lines", options.json_lines, "one JSON event a line, while it runs")
      ->excludes(json);
  app.add_flag("-q,--quiet", options.quiet, "no progress");
  app.add_flag("-v,--verbose", options.verbose, "messages of server and worker");
  app.add_option("--worker", options.worker, "mlc-worker program of the embedded server");
}

void AddExtent(CLI::App& app, const std::string& flag, std::optional<target::Dim3>& extent,
               const std::string& help) {
  const auto read = [flag, &extent](const std::string& text) {
    const Result<target::Dim3> parsed = target::ParseDim3(text);
    if (!parsed.ok()) throw CLI::ValidationError(flag, parsed.status().message());
    extent = *parsed;
  };
  app.add_option_function<std::string>(flag, read, help)->type_name("X[,Y[,Z]]");
}

void AddKernelFlags(CLI::App& app, TuneOptions& options) {
  app.add_option("--cuda-kernel", options.cuda_kernel,
                 "instead of --model: file with a kernel in CUDA C++, to be checked and measured; "
                 "at a server, for administrators");
  app.add_option("--workload", options.workload,
                 "of --cuda-kernel: file with the workload, as mlc-compile --emit=tasks prints it");
  app.add_option("--entry", options.entry,
                 "of --cuda-kernel: its extern \"C\" __global__ function, which takes pointers to "
                 "the inputs and weights in order, then the outputs");
  AddExtent(app, "--grid", options.grid, "of --cuda-kernel: blocks along x, y and z");
  AddExtent(app, "--block", options.block, "of --cuda-kernel: threads of a block along x, y and z");
  app.add_option("--shared", options.shared,
                 "of --cuda-kernel: dynamic shared memory of a block, in bytes")
      ->check(CLI::Range(0, 1 << 20));
}

void AddJobFlags(CLI::App& app, TuneOptions& options, Durations& durations, JobVerbs& verbs) {
  app.add_option("--priority", options.priority,
                 "with --server: among your own jobs, the higher goes first, -100 to 100")
      ->check(CLI::Range(-100, 100));
  app.add_option("--reconnect-timeout", durations.reconnect_timeout,
                 "with --server: how long to keep retrying if the connection to the server is "
                 "lost; default: 15m");
  app.add_flag("--detach", options.detach, "with --server: submit the job and leave it to run");
  app.add_option("--watch", verbs.watch, "with --server: follow a job, by its id or a part of it");
  app.add_flag("--jobs", verbs.list, "with --server: list the jobs");
  app.add_option("--cancel", verbs.cancel, "with --server: stop a job; what it measured is kept");
  app.add_flag("--workers", verbs.workers, "with --server: list the workers");
  app.add_option("--drain", verbs.drain,
                 "with --server: have a worker finish what it holds and leave; for administrators");
  app.add_option("--release", verbs.release,
                 "with --server: end a worker's quarantine; for administrators");
}

// What is wrong with the flags of a user-supplied kernel; empty if nothing.
std::string CheckKernel(const TuneOptions& options) {
  const bool some = options.is_raw() || !options.workload.empty() || !options.entry.empty() ||
                    options.grid || options.block || options.shared != 0;
  if (!some) return {};
  if (options.verb != TuneVerb::kTune || !options.model.empty() || options.trials != 0) {
    return "--cuda-kernel measures one kernel: it goes without --model, --trials and verbs";
  }
  const bool all = options.is_raw() && !options.workload.empty() && !options.entry.empty() &&
                   options.grid && options.block;
  return all ? target::CheckLaunch(*options.grid, *options.block).message() : kRawNeeds;
}

// What is wrong with the flags together; empty if nothing.
std::string SetVerb(TuneOptions& options, const JobVerbs& verbs) {
  const std::pair<bool, TuneVerb> given[] = {{!verbs.watch.empty(), TuneVerb::kWatch},
                                             {!verbs.cancel.empty(), TuneVerb::kCancel},
                                             {verbs.list, TuneVerb::kList},
                                             {verbs.workers, TuneVerb::kWorkers},
                                             {!verbs.drain.empty(), TuneVerb::kDrain},
                                             {!verbs.release.empty(), TuneVerb::kRelease}};
  int count = 0;
  for (const auto& [is_given, verb] : given) {
    if (!is_given) continue;
    ++count;
    options.verb = verb;
  }
  if (count > 1) {
    return "--watch, --jobs, --cancel, --workers, --drain and --release exclude each other";
  }
  options.job = verbs.watch + verbs.cancel;
  options.named_worker = verbs.drain + verbs.release;
  const bool tunes = options.verb == TuneVerb::kTune;
  if (options.server.empty() && (!tunes || options.detach || options.priority != 0)) {
    return "--detach, --priority, --watch, --jobs, --cancel, --workers, --drain and --release need "
           "--server";
  }
  if (!tunes && options.detach) return "--detach submits a job: it goes with --model";
  if (const std::string wrong = CheckKernel(options); !wrong.empty() || options.is_raw()) {
    return wrong;
  }
  if (tunes && options.model.empty()) return "--model is required";
  if (tunes && options.trials == 0) return "--trials is required";
  return {};
}

}  // namespace

Result<int64_t> ParseDuration(const std::string& text) {
  const Status bad = InvalidArgument("'" + text + "' is not a duration: write 90s, 10m or 1h30m");
  const char* at = text.data();
  const char* const end = at + text.size();
  int64_t total = 0;
  if (at == end) return bad;
  while (at != end) {
    int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || number > 1'000'000) return bad;
    const char unit = next == end ? 's' : *next;
    if (unit != 's' && unit != 'm' && unit != 'h') return bad;
    total += number * (unit == 'h' ? 3'600'000 : unit == 'm' ? 60'000 : 1000);
    at = next == end ? end : next + 1;
  }
  if (total == 0) return bad;
  return total;
}

namespace {

Status SetDurations(TuneOptions& options, const Durations& durations) {
  const auto set = [](const char* flag, const std::string& text, int64_t& ms) {
    if (text.empty()) return Status();
    const Result<int64_t> duration = ParseDuration(text);
    if (duration.ok()) ms = *duration;
    return duration.status().WithPrefix(flag);
  };
  MLC_TRY(set("--time-budget", durations.budget, options.time_budget_ms));
  return set("--reconnect-timeout", durations.reconnect_timeout, options.reconnect_timeout_ms);
}

}  // namespace

ParsedCommand ParseTuneCommand(int argc, const char* const* argv) {
  ParsedCommand parsed;
  CLI::App app("mlc-tune: finds fast kernels for a model on the hardware at hand", "mlc-tune");
  app.set_version_flag("--version", VersionText("mlc-tune"));
  app.footer(kFooter);
  Durations durations;
  JobVerbs verbs;
  AddFlags(app, parsed.options, durations);
  AddKernelFlags(app, parsed.options);
  AddJobFlags(app, parsed.options, durations, verbs);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream words;
    parsed.exit_code = transport::EndParsing(app, error, words, words);
    parsed.message = words.str();
    return parsed;
  }
  const std::string wrong = SetVerb(parsed.options, verbs);
  if (!wrong.empty()) {
    parsed.message = wrong + "\nRun with --help for more information.\n";
    parsed.exit_code = static_cast<int>(ExitCode::kUsage);
    return parsed;
  }
  if (parsed.options.is_raw() && app.count("--target") == 0) parsed.options.target = "cuda";
  const Status read = SetDurations(parsed.options, durations);
  if (!read.ok()) {
    parsed.message = read.message() + "\n";
    parsed.exit_code = static_cast<int>(ExitCode::kUsage);
  }
  return parsed;
}

}  // namespace mlc::client
