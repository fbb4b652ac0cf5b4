// The only source that knows the TOML library.
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/settings/config_file.h"
#include "base/settings/setting_table.h"
#include "base/settings/spelling.h"
#include "base/settings/toml_depth.h"

namespace mlc::settings {
namespace {

// Where a value stands: "PATH:3: ".
std::string At(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line) + ": ";
}

constexpr Program kPrograms[] = {Program::kTune, Program::kCompile, Program::kRun, Program::kServer,
                                 Program::kWorker};

std::string ProgramNames() {
  std::string names;
  for (const Program program : kPrograms) {
    names += (names.empty() ? "" : ", ") + NameOf(program);
  }
  return names;
}

bool IsIn(const Setting& setting, const std::string& table) {
  if (table.empty()) return setting.scope == Scope::kAllPrograms;
  return std::ranges::any_of(kPrograms, [&](Program program) {
    return NameOf(program) == table && setting.IsOf(program);
  });
}

const Setting* FindIn(const std::string& table, const std::string& name) {
  for (const Setting& setting : kSettings) {
    if (setting.name == name && IsIn(setting, table)) return &setting;
  }
  return nullptr;
}

// Why there is no such key in `table`, and what to do.
std::string UnknownKey(const std::string& key, const std::string& table) {
  const std::string whose = table.empty() ? "there is" : table + " has";
  std::vector<std::string> names;
  for (const Setting& setting : kSettings) {
    if (table.empty() && setting.name == key) {
      for (const Program program : kPrograms) {
        if (!setting.IsOf(program)) continue;
        return "'" + key + "' is of one program: put it below [" + NameOf(program) + "]";
      }
    }
    if (IsIn(setting, table)) names.emplace_back(setting.name);
  }
  const std::string near = NearestOf(key, names);
  return whose + " no setting '" + key + "'" +
         (near.empty() ? ": docs/reference/configuration.md lists them"
                       : "; did you mean '" + near + "'?");
}

std::string AbsolutePath(const std::string& text, const std::string& file, const Lookup& lookup) {
  if (text.empty() || text.starts_with('/')) return text;
  const char* home = lookup("HOME");
  if (text.starts_with("~/") && home != nullptr) return home + text.substr(1);
  return (std::filesystem::path(file).parent_path() / text).lexically_normal();
}

// The value as a flag takes it, or what it should be instead.
struct Converted {
  std::string text;
  const char* wanted = nullptr;
};

Converted Convert(const toml::node& node, ValueKind kind) {
  if (kind == ValueKind::kNumber) {
    if (const auto number = node.value_exact<int64_t>()) return {std::to_string(*number)};
    return {{}, "a whole number"};
  }
  if (kind == ValueKind::kSwitch) {
    if (const auto value = node.value_exact<bool>()) return {*value ? "true" : "false"};
    return {{}, "true or false"};
  }
  const auto text = node.value_exact<std::string>();
  if (!text || text->find('\0') != std::string::npos) return {{}, "a text in quotes"};
  return {*text};
}

// Appends what the keys of `from` say, at the top or in the table of a program.
Status AddValues(const toml::table& from, const std::string& table, const Lookup& lookup,
                 ConfigFile& file) {
  for (const auto& [key, node] : from) {
    const std::string name(key.str());
    const std::string at = At(file.path, key.source());
    const auto is_program = [&](Program program) { return NameOf(program) == name; };
    if (const toml::table* inner = node.as_table(); inner != nullptr && table.empty()) {
      if (std::ranges::none_of(kPrograms, is_program)) {
        return FailedPrecondition(at + "no program '" + name + "' has settings; tables are of " +
                                  ProgramNames());
      }
      MLC_TRY(AddValues(*inner, name, lookup, file));
      continue;
    }
    const Setting* setting = FindIn(table, name);
    if (setting == nullptr) return FailedPrecondition(at + UnknownKey(name, table));
    const Converted value = Convert(node, setting->kind);
    if (value.wanted != nullptr) {
      return FailedPrecondition(at + "'" + name + "' is to be " + value.wanted);
    }
    std::string text = value.text;
    if (setting->IsPath(text)) text = AbsolutePath(text, file.path, lookup);
    file.values.push_back(
        {table, name, std::move(text), static_cast<int>(key.source().begin.line)});
  }
  return Status();
}

}  // namespace

Result<ConfigFile> ParseConfig(std::string_view text, const std::string& path,
                               const Lookup& lookup) {
  if (HasDeepKey(text)) {
    return FailedPrecondition(path + ": a key has more than " + std::to_string(kMostKeyParts) +
                              " parts; settings have two at most");
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return FailedPrecondition(At(path, error.source()) +
                              "this is not valid TOML: " + std::string(error.description()));
  }
  ConfigFile file{path, {}};
  MLC_TRY(AddValues(parsed.table(), "", lookup, file));
  return file;
}

}  // namespace mlc::settings
