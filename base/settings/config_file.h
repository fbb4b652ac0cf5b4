// The configuration file: TOML with the settings of the table (setting_table.h). Keys at the top
// are for all programs that share them, those in a table named after a program for that program.
// Pure but for ReadConfigFile and the lookups. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/setting.h"
#include "base/status.h"

namespace mlc::settings {

// A variable of the environment: std::getenv in a program. Null if it is not set.
using Lookup = std::function<const char*(const char* name)>;

struct FileValue {
  std::string table;  // of a program: "mlc-tune"; empty: the top
  std::string name;
  std::string text;  // as a flag takes it; paths are absolute
  int line = 0;
};

struct ConfigFile {
  std::string path;  // empty: there is none
  std::vector<FileValue> values;

  // The value of the program's setting: in its table, else at the top; null if there is none.
  const FileValue* Find(Program program, const Setting& setting) const;
};

// The file to read: `flag` (of --config) if given, else MLC_CONFIG, else mlc/config.toml in
// XDG_CONFIG_HOME or in ~/.config, which may be missing or unreachable. None if `flag` is given and
// empty, or no folder is known. The current folder is never searched, because a user who can write
// there could choose programs and libraries to run.
struct ConfigPlace {
  std::string path;
  bool may_be_missing = false;
};
std::optional<ConfigPlace> FindConfig(const std::optional<std::string>& flag, const Lookup& lookup);

// FAILED_PRECONDITION, with file, line and what to do, for a file that is missing, not TOML, or has
// unknown keys or values of a wrong type; PERMISSION_DENIED for a file that this user cannot read
// or that others can change.
Result<ConfigFile> ReadConfigFile(const ConfigPlace& place, const Lookup& lookup);

// The same of its text. `path` is absolute.
Result<ConfigFile> ParseConfig(std::string_view text, const std::string& path,
                               const Lookup& lookup);

}  // namespace mlc::settings
