#include "client/tune/options/tune_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <concepts>
#include <iterator>
#include <sstream>
#include <string_view>

#include "base/process/arguments.h"
#include "base/rpc/flags.h"
#include "base/settings/settings.h"
#include "base/text.h"
#include "base/version.h"
#include "client/model/tolerance_flag.h"
#include "client/target/target_choice.h"
#include "client/tune/options/tune_flags.h"
#include "client/tune/options/tune_verbs.h"

namespace mlc::client {
namespace {

constexpr char kFooter[] =
    "The same command again continues where the last run stopped.\n\n"
    "Examples\n"
    "  mlc-tune --model resnet50.onnx --trials 2000\n"
    "  mlc-tune --model bert.onnx --trials 5000 --dim batch=8 --target cuda --precision fp16\n"
    "  mlc-tune --server tuner.lab:7443 --model resnet50.onnx --trials 5000 --detach\n"
    "  mlc-tune jobs --server tuner.lab:7443";

constexpr char kRawNeeds[] =
    "a user-supplied kernel takes --cuda-kernel, --workload, --entry, --grid and --block";

constexpr const char* kGroups[] = {"Common",        "The model", "The search",           "Output",
                                   "With --server", "For GPUs",  "User-supplied kernels"};

CLI::Option* Add(CLI::App& app, const FlagInfo& flag, bool& value) {
  return app.add_flag(flag.name, value, flag.help);
}

CLI::Option* Add(CLI::App& app, const FlagInfo& flag, std::string& value) {
  // Which targets there are is not this program's to say.
  const bool is_target = std::string_view(flag.name) == "--target";
  CLI::Option* option =
      app.add_option(flag.name, value, (is_target ? TargetHelp() : std::string()) + flag.help);
  if (!flag.choices.empty()) {
    option->check(
        CLI::IsMember(std::vector<std::string>(flag.choices.begin(), flag.choices.end())));
  }
  return value.empty() ? option : option->capture_default_str();
}

CLI::Option* Add(CLI::App& app, const FlagInfo& flag, std::vector<std::string>& values) {
  return app.add_option(flag.name, values, flag.help);
}

CLI::Option* Add(CLI::App& app, const FlagInfo& flag, std::optional<double>& value) {
  return AddToleranceFlag(app, value, flag.help);
}

CLI::Option* Add(CLI::App& app, const FlagInfo& flag, std::optional<target::Dim3>& extent) {
  const auto read = [name = flag.name, &extent](const std::string& text) {
    const Result<target::Dim3> parsed = target::ParseDim3(text);
    if (!parsed.ok()) throw CLI::ValidationError(name, parsed.status().message());
    extent = *parsed;
  };
  return app.add_option_function<std::string>(flag.name, read, flag.help)->type_name("X[,Y[,Z]]");
}

// "15m", "90s".
std::string DurationText(int64_t ms) {
  const int64_t seconds = ms / 1000;
  return seconds % 60 == 0 ? std::to_string(seconds / 60) + "m" : std::to_string(seconds) + "s";
}

CLI::Option* AddDuration(CLI::App& app, const FlagInfo& flag, int64_t& ms) {
  const auto read = [name = flag.name, &ms](const std::string& text) {
    const Result<int64_t> duration = ParseDuration(text);
    if (!duration.ok()) throw CLI::ValidationError(name, duration.status().message());
    ms = *duration;
  };
  CLI::Option* option = app.add_option_function<std::string>(flag.name, read, flag.help);
  return ms == 0 ? option : option->default_str(DurationText(ms));
}

template <std::integral Integer>
CLI::Option* Add(CLI::App& app, const FlagInfo& flag, Integer& value) {
  if constexpr (std::same_as<Integer, int64_t>) {
    if (flag.is_duration) return AddDuration(app, flag, value);
  }
  CLI::Option* option = app.add_option(flag.name, value, flag.help);
  if (flag.least == flag.most) return option;
  return option->check(
      CLI::Range(static_cast<Integer>(flag.least), static_cast<Integer>(flag.most)));
}

// In the order of --help: group by group.
void AddFlags(CLI::App& app, TuneOptions& options, settings::Settings& settings) {
  app.option_defaults()->group(kGroups[0]);
  app.get_help_ptr()->group(kGroups[0]);
  app.set_version_flag("--version", VersionText("mlc-tune"));
  for (size_t group = 0; group < std::size(kGroups); ++group) {
    ForEachFlag([&](const auto& flag) {
      const FlagInfo& info = flag.info;
      if (static_cast<size_t>(info.group) != group) return;
      CLI::Option* option = Add(app, info, options.*(flag.member))->group(kGroups[group]);
      if (info.excludes != nullptr) option->excludes(app.get_option(info.excludes));
    });
    if (group == static_cast<size_t>(FlagGroup::kCommon)) settings.AddFlags(app);
    if (group != static_cast<size_t>(FlagGroup::kServer)) continue;
    app.option_defaults()->group(kGroups[group]);
    transport::AddClientFlags(app, options.channel);
  }
}

void AddVerb(CLI::App& app, const VerbInfo& verb, TuneOptions& options,
             settings::Settings& settings) {
  CLI::App* command = app.add_subcommand(verb.name, verb.help)->group("At a server");
  std::string example = "mlc-tune " + std::string(verb.name);
  if (verb.about != nullptr) {
    command->add_option(verb.positional, options.*(verb.about), verb.of)->required();
    example += verb.about == &TuneOptions::job ? " 3f2a9c" : " gpu-07";
  }
  command->footer("Examples\n  " + example + " --server tuner.lab:7443");
  command->get_help_ptr()->group(kGroups[0]);
  ForEachFlag([&](const auto& flag) {
    const FlagInfo& info = flag.info;
    if ((info.verbs & VerbBit(verb.verb)) == 0) return;
    CLI::Option* option = Add(*command, info, options.*(flag.member))->group(kGroups[0]);
    if (LongName(info) == "--server") option->description("address of the mlc-server");
    CLI::Option* other =
        info.excludes == nullptr ? nullptr : command->get_option_no_throw(info.excludes);
    if (other != nullptr) option->excludes(other);
  });
  command->option_defaults()->group(kGroups[0]);
  settings.AddFlags(*command);
  command->option_defaults()->group("The connection");
  transport::AddClientFlags(*command, options.channel);
}

void AddVerbs(CLI::App& app, TuneOptions& options, settings::Settings& settings) {
  app.require_subcommand(0, 1);
  for (const VerbInfo& verb : kTuneVerbs) AddVerb(app, verb, options, settings);
}

// What is wrong with the flags of a user-supplied kernel; empty if nothing.
std::string CheckKernel(const TuneOptions& options) {
  const bool some = options.is_raw() || !options.workload.empty() || !options.entry.empty() ||
                    options.grid || options.block || options.shared != 0;
  if (!some) return {};
  if (!options.kernel.empty()) {
    if (!options.model.empty() || !options.cuda_kernel.empty() || options.dry_run ||
        !options.entry.empty() || options.grid || options.block || options.shared != 0) {
      return "--kernel names a file with the launch: it goes without --model, --cuda-kernel, "
             "--dry-run, --entry, --grid, --block and --shared";
    }
    return options.trials == 0 ? "--trials is required" : "";
  }
  if (!options.model.empty() || options.trials != 0 || options.dry_run) {
    return "--cuda-kernel measures one kernel: it goes without --model, --trials and --dry-run";
  }
  const bool all = options.is_raw() && !options.workload.empty() && !options.entry.empty() &&
                   options.grid && options.block;
  return all ? target::CheckLaunch(*options.grid, *options.block).message() : kRawNeeds;
}

// Sets the verb; what is wrong with its flags, empty if nothing. Those of a connection may also
// stand before it.
std::string SetVerb(const CLI::App& app, TuneOptions& options) {
  for (const VerbInfo& verb : kTuneVerbs) {
    const CLI::App* command = app.get_subcommand(verb.name);
    if (!command->parsed()) continue;
    options.verb = verb.verb;
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() == 0 || command->get_option_no_throw(option->get_name()) != nullptr) {
        continue;
      }
      return option->get_name() + " does not go with " + verb.name;
    }
    if (options.server.empty()) return std::string(verb.name) + " needs --server";
  }
  return {};
}

// What is wrong with the flags beside --replay-only; empty if nothing.
std::string CheckReplay(const TuneOptions& options) {
  const bool measures = options.dry_run || options.fresh || options.time_budget_ms > 0 ||
                        options.whole_model > 0 || !options.page.empty() || !options.report.empty();
  return measures ? "--replay-only measures nothing and only reads the log: it goes without "
                    "--dry-run, --fresh, --time-budget, --whole-model, --page and --report"
                  : "";
}

// What is wrong with the flags of a job together; empty if nothing.
std::string CheckJob(const TuneOptions& options) {
  if (options.server.empty() && (options.detach || options.priority != 0)) {
    return "--detach and --priority need --server";
  }
  if (!options.server.empty() && !options.report.empty()) {
    return "--report reads the log of the embedded server: where the server's log is, "
           "mlc-log report makes the same report";
  }
  if (const std::string wrong = CheckKernel(options); !wrong.empty() || options.is_raw()) {
    return wrong.empty() && options.replay_only ? "--replay-only goes with --model" : wrong;
  }
  if (options.model.empty()) return "--model is required";
  if (options.replay_only) return CheckReplay(options);
  if (options.trials == 0 && !options.dry_run) return "--trials is required";
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

ParsedCommand ParseTuneCommand(int argc, const char* const* argv, const settings::Lookup& lookup) {
  ParsedCommand parsed;
  settings::Settings settings(settings::Program::kTune, lookup);
  CLI::App app("mlc-tune: finds fast kernels for a model on the hardware at hand", "mlc-tune");
  app.footer(kFooter);
  AddFlags(app, parsed.options, settings);
  AddVerbs(app, parsed.options, settings);
  std::ostringstream words;
  if (const std::optional<int> end = settings.Parse(app, argc, argv, words, words)) {
    parsed.exit_code = *end;
    parsed.message = words.str();
    return parsed;
  }
  std::string wrong = SetVerb(app, parsed.options);
  if (wrong.empty() && parsed.options.verb == TuneVerb::kTune) wrong = CheckJob(parsed.options);
  if (!wrong.empty()) {
    parsed.exit_code = transport::EndUsage(wrong, words);
    parsed.message = words.str();
    return parsed;
  }
  if (!parsed.options.cuda_kernel.empty() && app.count("--target") == 0)
    parsed.options.target = "cuda";
  return parsed;
}

}  // namespace mlc::client
