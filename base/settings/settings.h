// Fills flags that are not on the command line from environment variables and the configuration
// file. Precedence: flag, variable, file, default. The caller passes the function that reads
// variables. Not thread-safe.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/settings/config_file.h"
#include "base/settings/setting.h"
#include "base/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mlc::settings {

class Settings {
 public:
  Settings(Program program, Lookup lookup) : program_(program), lookup_(std::move(lookup)) {}

  // Adds --config and --print-config to `app`, and to a subcommand that takes settings. The flags
  // of the settings are there already or come later, in any group. `this` outlives `app`.
  void AddFlags(CLI::App& app);

  // Parses the command line and fills in what it lacks. Returns the exit code if the program is to
  // end: help, version and --print-config on `out`, what is wrong on `errors`.
  std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv, std::ostream& out,
                           std::ostream& errors);

 private:
  enum class Source : uint8_t { kDefault, kFile, kVariable, kFlag };

  // A setting on this command line.
  struct Entry {
    const Setting* setting;
    CLI::Option* option;
    Source source = Source::kDefault;
    std::string origin;  // "MLC_LOG", "/etc/mlc.toml:3"
    std::string text;    // as the origin has it
    std::string aside;   // why it is ignored; empty: it is used
  };

  // Fills in the command that was given: a subcommand, or the program itself. INVALID_ARGUMENT
  // for a flag that lacks another one; FAILED_PRECONDITION for a value of a file or variable that
  // is wrong; errors of ReadConfigFile.
  Status Fill(CLI::App& app);
  Status ReadFile();
  // Collects the settings that `command`, of `app` or itself, has.
  void CollectEntries(CLI::App& app, CLI::App& command);
  void FindSource(Entry& entry) const;
  // Why the entry is ignored; empty if it is used.
  std::string WhyAside(const Entry& entry) const;
  static Status Use(Entry& entry);
  std::string ToToml() const;
  static std::string ValueText(const Entry& entry);

  const Program program_;
  const Lookup lookup_;
  std::optional<std::string> config_;
  bool prints_ = false;
  ConfigFile file_;
  std::string place_;  // where the file is or would be; empty: nowhere
  std::vector<Entry> entries_;
};

}  // namespace mlc::settings
