// mlc-run: loads a compiled model through its C interface; runs, checks, times and profiles it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_code.h"
#include "base/html/write_page.h"
#include "base/machine/cpus.h"
#include "base/machine/topology.h"
#include "base/process/arguments.h"
#include "base/process/standard_files.h"
#include "base/process/standard_output.h"
#include "base/settings/setting_table.h"
#include "base/settings/settings.h"
#include "base/version.h"
#include "client/model/dims.h"
#include "client/model/model_library.h"
#include "client/model/tensor_files.h"
#include "client/run/generate_command.h"
#include "client/run/race.h"
#include "client/run/run_page.h"
#include "client/run/run_report.h"
#include "compiler/front/front.h"
#include "compiler/graph/counted_outputs.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/passes/precision.h"

namespace mlc::client {
namespace {

struct Options {
  std::string directory;
  std::string reference_model;
  std::string inputs;
  std::string outputs;
  std::string check;
  double rtol = 1e-4;
  double atol = 0;
  std::vector<std::string> beside;
  double bench_seconds = 0;
  int threads = 0;
  int device = 0;
  uint64_t seed = 0;
  bool profile = false;
  bool json = false;
  std::string html;
  std::vector<std::string> dims;
  GenerateOptions generate;
};

std::vector<std::string> OutputNames(const ModelLibrary& library) {
  std::vector<std::string> names;
  for (const mlc_port* port : library.outputs()) names.push_back(port->name);
  return names;
}

Result<LatencyStatistics> Bench(ModelLibrary& library, double seconds) {
  using Clock = std::chrono::steady_clock;
  // On a GPU many runs are queued at a time, so that it never waits for the CPU.
  const int at_once = library.device() >= 0 ? 64 : 1;
  for (int i = 0; i < 3; ++i) MLC_TRY(library.Run());
  std::vector<double> milliseconds;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  do {
    for (const double ns : MLC_TRY(library.RunTimed(at_once))) milliseconds.push_back(ns / 1e6);
  } while (Clock::now() < end);
  return Summarize(std::move(milliseconds));
}

// The inputs and sizes of `options`.
Status SetInputs(ModelLibrary& library, const Options& options, const Dims& sizes) {
  if (!sizes.empty()) MLC_TRY(library.SetSizes(sizes));
  if (options.inputs.empty()) {
    library.SetRandomInputs(options.seed);
    return {};
  }
  return library.SetInputs(MLC_TRY(ReadTensors(options.inputs, "input")));
}

bool HaveSameInputs(const ModelLibrary& a, const ModelLibrary& b) {
  return std::ranges::equal(a.inputs(), b.inputs(), [](const mlc_port* x, const mlc_port* y) {
    return x->dtype == y->dtype &&
           std::equal(x->dims, x->dims + x->rank, y->dims, y->dims + y->rank);
  });
}

Result<std::unique_ptr<ModelLibrary>> OpenBeside(const ModelLibrary& first, const Options& options,
                                                 const std::string& directory) {
  std::unique_ptr<ModelLibrary> library =
      MLC_TRY(ModelLibrary::Open(directory, first.threads(), options.device));
  // A library of one size may lie beside one of several, at that size.
  MLC_TRY(SetInputs(*library, options, library->dims().empty() ? Dims() : first.sizes_now()));
  if (!HaveSameInputs(first, *library)) {
    return InvalidArgument("its inputs have other shapes or types");
  }
  MLC_TRY(library->Run());
  return library;
}

// One that cannot be opened says why in its row; the others are timed.
Status BenchBeside(ModelLibrary& library, const Options& options, RunReport& report) {
  std::vector<std::unique_ptr<ModelLibrary>> opened;
  std::vector<TimeRuns> racers = {[&](int runs) { return library.RunTimed(runs); }};
  std::vector<size_t> rows;
  for (const std::string& directory : options.beside) {
    BesideRow& row = report.beside.emplace_back();
    row.library = directory;
    Result<std::unique_ptr<ModelLibrary>> other = OpenBeside(library, options, directory);
    if (!other.ok()) {
      row.error = other.status().message();
      continue;
    }
    rows.push_back(report.beside.size() - 1);
    opened.push_back(*std::move(other));
    racers.emplace_back([other = opened.back().get()](int runs) { return other->RunTimed(runs); });
  }
  // A GPU gets several runs at a time, so that it does not wait for the CPU.
  const RaceOptions race = {options.bench_seconds, library.device() >= 0 ? 8 : 1};
  const std::vector<Raced> results = MLC_TRY(Race(racers, race));
  report.latency = results.front().latency;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Raced& raced = results[i + 1];
    BesideRow& row = report.beside[rows[i]];
    row = {row.library, raced.latency, raced.quotient, raced.rounds, raced.error};
  }
  return Status();
}

std::vector<ProfileRow> SumByLabel(const std::vector<StepTime>& steps) {
  std::map<std::string, ProfileRow> rows;
  for (const StepTime& step : steps) {
    ProfileRow& row = rows[step.label];
    row.label = step.label;
    row.median_us += step.median_us;
    ++row.calls;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [label, row] : rows) sorted.push_back(row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.median_us > b.median_us; });
  return sorted;
}

// Medians per step over several runs, summed over the steps of one label; beside them whole runs,
// which also have the time between kernels.
Status Profile(ModelLibrary& library, RunReport& report) {
  constexpr int kRuns = 21;
  std::vector<std::vector<double>> by_step;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<double> times = MLC_TRY(library.RunProfiled());
    by_step.resize(times.size());
    for (size_t s = 0; s < times.size(); ++s) by_step[s].push_back(times[s]);
  }
  const std::vector<std::string> labels = library.step_labels();
  for (size_t s = 0; s < by_step.size(); ++s) {
    const LatencyStatistics ns = Summarize(by_step[s]);
    report.steps.push_back({labels[s], ns.median / 1e3, ns.p10 / 1e3, ns.p90 / 1e3});
  }
  report.profile = SumByLabel(report.steps);
  report.run_us = Summarize(MLC_TRY(library.RunTimed(kRuns))).median / 1e3;
  return Status();
}

// One run, or what the options ask for beside it, at the session's sizes.
Result<RunReport> RunOnce(ModelLibrary& library, const Options& options) {
  RunReport report;
  report.sizes = library.sizes_now();
  report.threads = library.threads();
  report.device = library.device();
  report.load_ms = library.load_ms();
  report.session_bytes = library.session_bytes();
  MLC_TRY(library.Run());
  if (!options.outputs.empty()) {
    MLC_TRY(WriteTensors(options.outputs, "output", library.Outputs(), OutputNames(library)));
  }
  if (!options.check.empty()) {
    report.checks =
        MLC_TRY(CheckOutputs(library.Outputs(), MLC_TRY(ReadTensors(options.check, "output")),
                             OutputNames(library), options.rtol, options.atol));
  }
  if (!options.beside.empty()) {
    MLC_TRY(BenchBeside(library, options, report));
  } else if (options.bench_seconds > 0) {
    report.latency = MLC_TRY(Bench(library, options.bench_seconds));
  }
  if (options.profile) MLC_TRY(Profile(library, report));
  if (!options.html.empty()) {
    MLC_TRY(html::WritePage(options.html, RunPage(report, options.directory)));
  }
  return report;
}

// Files are those of one size.
Status CheckOneSize(const Options& options, const DimSizes& sizes) {
  if (!sizes.varies()) return {};
  for (const std::string* file :
       {&options.inputs, &options.outputs, &options.check, &options.html}) {
    if (!file->empty()) {
      return InvalidArgument("--dim asks for several sizes, and '" + *file +
                             "' is of one: give one size of each dimension");
    }
  }
  return {};
}

bool Passed(const RunReport& report) {
  return std::ranges::all_of(report.checks, [](const OutputCheck& check) { return check.passed; });
}

Result<ExitCode> RunLibrary(const Options& options) {
  const DimSizes sizes = MLC_TRY(ParseDimSizes(options.dims));
  MLC_TRY(CheckOneSize(options, sizes));
  if (!options.html.empty()) MLC_TRY(html::CheckPageWritable(options.html));
  const int threads = target::ThreadsFor(options.threads);
  target::KeepToPlaces(threads);
  const std::unique_ptr<ModelLibrary> library =
      MLC_TRY(ModelLibrary::Open(options.directory, threads, options.device));
  if (options.generate.tokens > 0) {
    MLC_TRY(RunGenerate(*library, options.generate, options.seed, options.json));
    return ExitCode::kOk;
  }
  std::vector<RunReport> reports;
  for (const Dims& combination : sizes.combinations) {
    MLC_TRY(SetInputs(*library, options, combination));
    reports.push_back(MLC_TRY(RunOnce(*library, options)));
  }
  const std::string text = options.json ? ToJson(reports) : ToText(reports);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::ranges::all_of(reports, Passed) ? ExitCode::kOk : ExitCode::kNoResult;
}

// Evaluates the model node by node in double precision: slow, independent of all generated code.
Result<ExitCode> RunReference(const Options& options) {
  if (options.inputs.empty() || options.outputs.empty()) {
    return InvalidArgument("--reference needs --inputs DIR and --outputs DIR");
  }
  graph::onnx::ImportOptions import;
  import.dims = MLC_TRY(ParseDims(options.dims));
  front::Model model = MLC_TRY(front::ReadModel(options.reference_model, import));
  MLC_TRY(graph::WidenToDouble(model.graph));
  std::vector<graph::TensorDataRef> results =
      MLC_TRY(graph::Evaluate(model.graph, MLC_TRY(ReadTensors(options.inputs, "input"))));
  const std::vector<graph::TensorDataRef> outputs =
      graph::CutOutputs(model.counted, std::move(results));
  std::vector<std::string> names = model.graph.output_names();
  names.resize(outputs.size());
  MLC_TRY(WriteTensors(options.outputs, "output", outputs, names));
  std::printf("wrote %zu outputs to %s\n", outputs.size(), options.outputs.c_str());
  return ExitCode::kOk;
}

constexpr char kFooter[] =
    "Examples\n"
    "  mlc-run resnet50 --bench 3\n"
    "  mlc-run resnet50 --inputs in --check expected --bench 3\n"
    "  mlc-run --reference resnet50.onnx --inputs in --outputs expected\n"
    "  mlc-run qwen3 --generate 20 --prompt 151644,8948,198";

consteval const char* SettingHelp(std::string_view name) {
  return settings::HelpOf(settings::Program::kRun, name);
}

void AddCommonFlags(CLI::App& app, Options& options) {
  app.add_option("DIR", options.directory, "folder that mlc-compile wrote");
  transport::BeginGroup(app, "Common");
  app.get_help_ptr()->group("Common");
  app.set_version_flag("--version", VersionText("mlc-run"));
  app.add_option("--threads", options.threads, SettingHelp("threads"))->check(CLI::Range(0, 1024));
  app.add_option("--device", options.device, SettingHelp("device"))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--json", options.json, "one JSON document");
}

void AddTensorFlags(CLI::App& app, Options& options) {
  // Also refuses what is no number.
  const CLI::Validator finite(
      [](const std::string& text) {
        const double value = std::strtod(text.c_str(), nullptr);
        return value >= 0 && std::isfinite(value) ? "" : "is to be a number, 0 or more";
      },
      "");
  transport::BeginGroup(app, "Inputs and outputs");
  app.add_option("--inputs", options.inputs,
                 "folder with input_K.pb or input_K.npy; random inputs without it");
  app.add_option("--seed", options.seed, "seed of the random inputs and of drawn tokens")
      ->capture_default_str();
  app.add_option("--outputs", options.outputs, "write output_K.pb there");
  app.add_option("--check", options.check, "folder with the expected output_K.pb or output_K.npy");
  app.add_option("--rtol", options.rtol, "tolerance over the largest magnitude of the reference")
      ->check(finite)
      ->capture_default_str();
  app.add_option("--atol", options.atol, "tolerance added to it")
      ->check(finite)
      ->capture_default_str();
  transport::BeginGroup(app, "Times");
  CLI::Option* bench =
      app.add_option(
             "--bench", options.bench_seconds,
             "time runs for this many seconds; on a GPU with its own clock, on data in its memory")
          ->check(finite);
  app.add_option("--beside", options.beside,
                 "with --bench: time this library of the same model in turns with the first one, "
                 "up to so long each. One that is clearly slower ends early")
      ->needs(bench)
      ->allow_extra_args(false);
  CLI::Option* profile = app.add_flag("--profile", options.profile, "time per kernel");
  app.add_option("--html", options.html, "write the profile to this HTML file as well")
      ->needs(profile);
  transport::BeginGroup(app, "Reference");
  app.add_option(
      "--reference", options.reference_model,
      "instead evaluate this ONNX model with the reference evaluator, in double precision");
  app.add_option("--dim", options.dims,
                 "NAME=N: size of a symbolic dimension, for --reference; of a library of several "
                 "sizes, also a list: each one is run");
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("mlc-run: runs a compiled model: checks its outputs, times it, profiles its kernels",
               "mlc-run");
  app.footer(kFooter);
  settings::Settings settings(settings::Program::kRun,
                              [](const char* name) { return std::getenv(name); });
  AddCommonFlags(app, options);
  settings.AddFlags(app);
  AddTensorFlags(app, options);
  AddGenerateFlags(app, options.generate);
  if (const std::optional<int> end = settings.Parse(app, argc, argv, std::cout, std::cerr)) {
    return *end;
  }
  if (options.directory.empty() == options.reference_model.empty()) {
    return transport::EndUsage(
        "DIR: give either the folder of a compiled model or --reference MODEL", std::cerr);
  }
  const Result<ExitCode> result =
      options.reference_model.empty() ? RunLibrary(options) : RunReference(options);
  if (result.ok()) return static_cast<int>(*result);
  std::fprintf(stderr, "mlc-run: %s\n", result.status().message().c_str());
  return static_cast<int>(ExitCodeOf(result.status()));
}

}  // namespace
}  // namespace mlc::client

int main(int argc, char** argv) {
  mlc::transport::OpenStandardFiles();
  return mlc::transport::EndProgram("mlc-run", mlc::client::Main(argc, argv));
}
