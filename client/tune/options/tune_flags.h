// The table of mlc-tune's flags, except those of a connection (base/rpc/flags.h). The command line
// with its subcommands (tune_verbs.h), the commands that mlc-tune prints and the options of a job
// on the wire follow from it. To add a flag, add a member of TuneOptions, a row here, and its
// effect. Rows are in the order in which commands print them. Constant; thread-safe.
#pragma once

#include <string_view>
#include <tuple>

#include "base/settings/setting_table.h"
#include "client/model/constants.h"
#include "client/tune/options/flag.h"
#include "client/tune/options/tune_help.h"
#include "client/tune/options/tune_options.h"

namespace mlc::client {

// The help of a flag that an environment variable or the configuration file can replace is in the
// table of settings.
consteval const char* SettingHelp(std::string_view name) {
  return settings::HelpOf(settings::Program::kTune, name);
}

inline constexpr const char* kPrecisions[] = {"model", "fp32", "tf32", "fp16", "bf16"};

using G = FlagGroup;
using R = Repeats;
using V = TuneVerb;
using O = TuneOptions;

inline constexpr std::tuple kTuneFlags{
    Flag{&O::model, "--model", G::kCommon, "ONNX file"}.Repeated(R::kCompile),
    Flag{&O::trials, "--trials", G::kCommon, "kernels to build and time, over all tasks"}
        .In(1, 100'000'000)
        .Sent("trials")
        .Repeated(R::kAgain),
    Flag{&O::cuda_kernel, "--cuda-kernel", G::kKernel,
         "instead of --model: file with a kernel in CUDA C++, to be checked and measured; at a "
         "server, for administrators"}
        .Repeated(R::kAgain),
    Flag{&O::kernel, "--kernel", G::kKernel,
         "instead of --model: file (.json, .toml) that specifies a kernel in CUDA C++ or C with "
         "tunable parameters, to be tuned; at a server, for administrators"}
        .Repeated(R::kAgain),
    Flag{&O::workload, "--workload", G::kKernel,
         "file with the workload, as mlc-compile --emit=tasks prints it"}
        .Repeated(R::kAgain),
    Flag{&O::entry, "--entry", G::kKernel,
         "its extern \"C\" __global__ function, which takes pointers to the inputs and weights in "
         "order, then the outputs"}
        .Repeated(R::kAgain),
    Flag{&O::grid, "--grid", G::kKernel, "blocks along x, y and z"}.Repeated(R::kAgain),
    Flag{&O::block, "--block", G::kKernel, "threads of a block along x, y and z"}.Repeated(
        R::kAgain),
    Flag{&O::shared, "--shared", G::kKernel, "dynamic shared memory of a block, in bytes"}
        .In(0, 1 << 20)
        .Repeated(R::kAgain),
    Flag{&O::target, "--target", G::kCommon, SettingHelp("target")}.Repeated(R::kCompile),
    Flag{&O::threads, "--threads", G::kModel, SettingHelp("threads")}.In(0, 1024).Repeated(
        R::kCompile),
    Flag{&O::log, "--log", G::kCommon, SettingHelp("log")},
    Flag{&O::server, "--server", G::kCommon, SettingHelp("server")}.AlsoOf(
        V::kJobs, V::kWatch, V::kCancel, V::kWorkers, V::kDrain, V::kQuarantine, V::kRelease),
    Flag{&O::dims, "--dim", G::kModel, kDimHelp}.Repeated(R::kCompile),
    Flag{&O::constants, "--constant", G::kModel, kConstantHelp}.Repeated(R::kCompile),
    Flag{&O::precision, "--precision", G::kModel,
         "element type of the computation: model (its own), fp32, tf32, fp16, bf16"}
        .OneOf(kPrecisions)
        .Repeated(R::kCompile),
    Flag{&O::tolerance, "--tolerance", G::kModel,
         "largest relative difference to the reference that an algorithm may make; 0: no "
         "approximate algorithm, such as Winograd's; default: 1e-4, or what the precision needs"}
        .Repeated(R::kCompile),
    Flag{&O::skipped_passes, "--skip-pass", G::kModel,
         "leave this pass of the compiler out, for example merge_siblings; repeatable"}
        .Repeated(R::kCompile),
    Flag{&O::cuda_home, "--cuda-home", G::kGpu, SettingHelp("cuda-home")}.Repeated(R::kCompile),
    Flag{&O::whole_model, "--whole-model", G::kGpu,
         "with GPUs of this machine: how many runners-up to time in the whole model at the end; "
         "0: none; default: a tenth of the trials, at most 48, and as many as a fifth of the "
         "tuning's time, or 30 s, permits; those that are asked for may take a minute"}
        .In(0, 10'000)
        .Repeated(R::kAgain),
    Flag{&O::cubin_cache, "--cubin-cache", G::kGpu, SettingHelp("cubin-cache")}.Repeated(R::kAgain),
    Flag{&O::dry_run, "--dry-run", G::kCommon,
         "list operators, tasks, the time that tuning takes, and all that is not supported; "
         "measures nothing; ends with code 0 if the model can be tuned"}
        .Excludes("--server"),
    Flag{&O::replay_only, "--replay-only", G::kCommon, kReplayHelp}.Excludes("--server"),
    Flag{&O::time_budget_ms, "--time-budget", G::kCommon,
         "stop after this long, for example 10m or 1h30m"}
        .Duration()
        .Sent("time_budget_ms"),
    Flag{&O::worker, "--worker", G::kSearch, SettingHelp("worker")}.Repeated(R::kAgain),
    Flag{&O::seed, "--seed", G::kSearch, "seed of the search"}.Sent("seed").Repeated(R::kAgain),
    Flag{&O::reproducible, "--reproducible", G::kSearch, kReproducibleHelp}
        .Excludes("--time-budget")
        .Sent("reproducible")
        .Repeated(R::kAgain),
    Flag{&O::resume, "--resume", G::kSearch, "continue the last run (the default)"},
    Flag{&O::fresh, "--fresh", G::kSearch, "start anew and ignore what the log knows"}
        .Excludes("--resume")
        .Sent("fresh"),
    Flag{&O::json, "--json", G::kOutput, "one JSON document at the end"}.AlsoOf(V::kJobs, V::kWatch,
                                                                                V::kWorkers),
    Flag{&O::json_lines, "--json-lines", G::kOutput, "one JSON event a line, while it runs"}
        .Excludes("--json")
        .AlsoOf(V::kWatch),
    Flag{&O::quiet, "-q,--quiet", G::kOutput, "no progress"}.AlsoOf(
        V::kWatch, V::kCancel, V::kDrain, V::kQuarantine, V::kRelease),
    Flag{&O::plain, "--plain", G::kOutput,
         "a line of progress every 10 s instead of a view that is drawn again, for screen readers; "
         "the same with NO_COLOR or TERM=dumb"}
        .AlsoOf(V::kWatch),
    Flag{&O::report, "--report", G::kOutput,
         "without --server: write a report of the job to this HTML file at the end"}
        .Repeated(R::kAgain),
    Flag{&O::page, "--page", G::kOutput,
         "without --server: HOST:PORT of this machine for a page that shows the progress to "
         "browsers; port 0 picks one"}
        .Excludes("--server")
        .Repeated(R::kAgain),
    Flag{&O::verbose, "-v,--verbose", G::kOutput, "messages of server and worker"},
    Flag{&O::priority, "--priority", G::kServer,
         "priority among your own jobs, -100 to 100; higher goes first"}
        .In(-100, 100)
        .Sent("priority")
        .Repeated(R::kAgain),
    Flag{&O::label, "--label", G::kSearch,
         "name of the job in lists and logs; default: the model's file"}
        .Repeated(R::kAgain),
    Flag{&O::detach, "--detach", G::kServer, "submit the job and exit; it runs without the client"},
    Flag{&O::reconnect_timeout_ms, "--reconnect-timeout", G::kServer,
         SettingHelp("reconnect-timeout")}
        .Duration()
        .AlsoOf(V::kWatch),
};

// visit(flag) for each row, in the table's order.
template <typename Visit>
void ForEachFlag(const Visit& visit) {
  std::apply([&](const auto&... flag) { (visit(flag), ...); }, kTuneFlags);
}

}  // namespace mlc::client
