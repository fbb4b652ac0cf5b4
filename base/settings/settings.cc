#include "base/settings/settings.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <ostream>

#include "base/exit_code.h"
#include "base/process/arguments.h"
#include "base/settings/setting_table.h"
#include "base/settings/toml_text.h"

namespace mlc::settings {
namespace {

bool IsGiven(const CLI::App& app, const std::string& flag) {
  const CLI::Option* option = app.get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

// Only now: a parser that knew the variables would read them itself, with no regard to files.
void ShowVariables(CLI::App& app, Program program) {
  for (const Setting& setting : kSettings) {
    CLI::Option* option = app.get_option_no_throw(FlagOf(setting));
    if (setting.IsOf(program) && option != nullptr) option->envname(VariableOf(setting));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    ShowVariables(*command, program);
  }
}

CLI::App& CommandOf(CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : *given.front();
}

}  // namespace

void Settings::AddFlags(CLI::App& app) {
  app.add_option_function<std::string>(
      "--config", [this](const std::string& path) { config_ = path; },
      "configuration file, '' for none; default: MLC_CONFIG, else mlc/config.toml in the user's "
      "configuration folder");
  const auto print = [this, &app] {
    prints_ = true;
    // What is missing is not needed to print.
    for (CLI::Option* option : app.get_options()) option->required(false);
  };
  app.add_flag_callback(
      "--print-config", print,
      "print each setting with its value and source as a configuration file, then exit");
}

std::optional<int> Settings::Parse(CLI::App& app, int argc, const char* const* argv,
                                   std::ostream& out, std::ostream& errors) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    ShowVariables(app, program_);
    return transport::EndParsing(app, error, out, errors);
  }
  const Status filled = Fill(app);
  if (!filled.ok()) {
    errors << NameOf(program_) << ": " << filled.message() << "\n";
    const bool is_usage = filled.code() == StatusCode::kInvalidArgument;
    return static_cast<int>(is_usage ? ExitCode::kUsage : ExitCodeOf(filled));
  }
  if (!prints_) return std::nullopt;
  out << ToToml();
  return static_cast<int>(ExitCode::kOk);
}

Status Settings::ReadFile() {
  const std::optional<ConfigPlace> place = FindConfig(config_, lookup_);
  if (!place) return Status();
  file_ = MLC_TRY(ReadConfigFile(*place, lookup_));
  place_ = file_.path.empty() ? place->path : file_.path;
  return Status();
}

void Settings::CollectEntries(CLI::App& app, CLI::App& command) {
  for (const Setting& setting : kSettings) {
    if (!setting.IsOf(program_)) continue;
    const std::string flag = FlagOf(setting);
    CLI::Option* option = command.get_option_no_throw(flag);
    if (option == nullptr) continue;
    Entry entry{&setting, option, Source::kDefault, {}, {}, {}};
    // A flag of the connection may stand before the subcommand.
    if (option->count() == 0 && IsGiven(app, flag)) entry.option = app.get_option(flag);
    FindSource(entry);
    entries_.push_back(std::move(entry));
  }
}

void Settings::FindSource(Entry& entry) const {
  const std::string variable = VariableOf(*entry.setting);
  const char* found = lookup_(variable.c_str());
  if (entry.option->count() > 0) {
    entry.source = Source::kFlag;
    entry.origin = FlagOf(*entry.setting);
  } else if (found != nullptr && *found != '\0') {
    entry.source = Source::kVariable;
    entry.origin = variable;
    entry.text = found;
  } else if (const FileValue* value = file_.Find(program_, *entry.setting); value != nullptr) {
    entry.source = Source::kFile;
    entry.origin = file_.path + ":" + std::to_string(value->line);
    entry.text = value->text;
  }
}

std::string Settings::WhyAside(const Entry& entry) const {
  if (entry.source == Source::kDefault || entry.source == Source::kFlag) return {};
  // Two options that exclude each other: the stronger one stays, else the one used before.
  for (const CLI::Option* other : entry.option->get_excludes()) {
    if (other->count() > 0) return "--" + other->get_lnames().front() + " is given";
  }
  for (const Entry& other : entries_) {
    if (other.setting->name == entry.setting->yields_to && other.source > entry.source) {
      return other.origin + " is given";
    }
    const bool is_local = other.setting->name == "server" && other.option->count() > 0 &&
                          other.option->results().back().starts_with("unix:");
    if (entry.setting->for_network && is_local) return "the server is at a unix:PATH";
  }
  return {};
}

Status Settings::Use(Entry& entry) {
  if (entry.source == Source::kDefault || entry.source == Source::kFlag) return Status();
  // A file says with an empty text that a program is to have its default.
  if (entry.text.empty()) {
    entry.source = Source::kDefault;
    return Status();
  }
  try {
    entry.option->add_result(entry.text);
    entry.option->run_callback();
  } catch (const CLI::ParseError& error) {
    return FailedPrecondition(entry.origin + ": " + error.what());
  }
  return Status();
}

Status Settings::Fill(CLI::App& app) {
  CLI::App& command = CommandOf(app);
  MLC_TRY(ReadFile());
  CollectEntries(app, command);
  for (Entry& entry : entries_) {
    entry.aside = WhyAside(entry);
    if (entry.aside.empty()) MLC_TRY(Use(entry));
  }
  for (const Entry& entry : entries_) {
    if (entry.option->count() == 0) continue;
    for (const CLI::Option* needed : entry.option->get_needs()) {
      if (needed->count() > 0) continue;
      return FailedPrecondition(entry.origin + ": " + FlagOf(*entry.setting) + " needs " +
                                needed->get_name());
    }
  }
  return Status();
}

std::string Settings::ValueText(const Entry& entry) {
  const Setting& setting = *entry.setting;
  CLI::Option& option = *entry.option;
  const bool given = option.count() > 0;
  if (!given) option.capture_default_str();
  const std::string text = given ? option.results().back() : option.get_default_str();
  if (setting.kind == ValueKind::kNumber) {
    return given ? std::to_string(option.as<int64_t>()) : text;
  }
  if (setting.kind == ValueKind::kSwitch) return given && option.as<bool>() ? "true" : "false";
  if (setting.IsPath(text) && !text.empty())
    return TomlText(std::filesystem::absolute(text).lexically_normal().string());
  return text.empty() ? "" : TomlText(text);
}

std::string Settings::ToToml() const {
  std::string text = "# The settings of " + NameOf(program_) +
                     ", each with its source: flag, variable, file or default.\n# File: ";
  text += place_.empty() ? "none" : CommentText(place_);
  if (!place_.empty() && file_.path.empty()) text += " (missing)";
  text += "\n\n[" + NameOf(program_) + "]\n";
  for (const Entry& entry : entries_) {
    const std::string name(entry.setting->name);
    if (!entry.aside.empty()) {
      text += "# " + name + ": " + CommentText(entry.origin + " is set aside, as " + entry.aside);
    } else if (const std::string value = ValueText(entry); value.empty()) {
      text += "# " + name + " is not set";
    } else {
      const bool is_default = entry.source == Source::kDefault;
      text += name + " = " + value + "  # " + CommentText(is_default ? "default" : entry.origin);
    }
    text += '\n';
  }
  return text;
}

}  // namespace mlc::settings
