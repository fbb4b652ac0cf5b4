#include "client/tune_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <sstream>

#include "client/target_choice.h"
#include "compiler/base/exit_code.h"
#include "compiler/base/text.h"

namespace mlc::client {
namespace {

constexpr char kFooter[] =
    "Running the same command again goes on where the last run stopped.\n"
    "Example: mlc-tune --model resnet50.onnx --trials 2000";

void AddFlags(CLI::App& app, TuneOptions& options, std::string& budget) {
  app.add_option("--model", options.model, "ONNX file")->required();
  app.add_option("--trials", options.trials, "kernels to build and time, over all tasks")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  app.add_option("--target", options.target, TargetHelp())->capture_default_str();
  app.add_option("--threads", options.threads, "threads of the kernels; 0 means all cores")
      ->check(CLI::Range(0, 1024));
  app.add_option("--log", options.log, "tuning log of the embedded server")->capture_default_str();
  app.add_option("--server", options.server, "address of an mlc-server; embedded if not given");
  app.add_option("--dim", options.dims, "NAME=N: size of a symbolic dimension; repeatable");
  app.add_option("--time-budget", budget, "stop after this long, for example 10m or 1h30m");
  app.add_option("--precision", options.precision,
                 "what the model computes in: model (its own), fp32, tf32, fp16, bf16")
      ->check(CLI::IsMember({"model", "fp32", "tf32", "fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--tolerance", options.tolerance,
                 "largest relative difference to the reference; default: 1e-4, or what the "
                 "precision needs")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--cuda-home", options.cuda_home,
                 "where NVRTC and CUPTI are, for GPUs; default: the usual places");
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

std::string ShellQuoted(const std::string& text) {
  constexpr char kSafe[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kSafe) == std::string::npos) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string TuneOptions::Command() const {
  std::string command = "mlc-tune --model " + ShellQuoted(model);
  command += " --trials " + std::to_string(trials);
  if (target != "cpu") command += " --target " + ShellQuoted(target);
  if (threads != 0) command += " --threads " + std::to_string(threads);
  command += server.empty() ? " --log " + ShellQuoted(log) : " --server " + ShellQuoted(server);
  for (const std::string& dim : dims) command += " --dim " + ShellQuoted(dim);
  if (precision != TuneOptions().precision) command += " --precision " + precision;
  if (tolerance != TuneOptions().tolerance) command += " --tolerance " + FloatToText(tolerance);
  for (const std::string& pass : skipped_passes) command += " --skip-pass " + ShellQuoted(pass);
  if (!cuda_home.empty()) command += " --cuda-home " + ShellQuoted(cuda_home);
  if (seed != 0) command += " --seed " + std::to_string(seed);
  return command;
}

ParsedCommand ParseTuneCommand(int argc, const char* const* argv) {
  ParsedCommand parsed;
  CLI::App app("mlc-tune: finds fast kernels for a model on the hardware at hand", "mlc-tune");
  app.footer(kFooter);
  std::string budget;
  AddFlags(app, parsed.options, budget);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream words;
    const int code = app.exit(error, words, words);
    parsed.message = words.str();
    parsed.exit_code = code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
    return parsed;
  }
  if (budget.empty()) return parsed;
  const Result<int64_t> duration = ParseDuration(budget);
  if (duration.ok()) {
    parsed.options.time_budget_ms = *duration;
  } else {
    parsed.message = "--time-budget: " + duration.status().message() + "\n";
    parsed.exit_code = static_cast<int>(ExitCode::kUsage);
  }
  return parsed;
}

}  // namespace mlc::client
