// A row of the table of settings (setting_table.h). Values, known at compile time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mlc::settings {

// The programs that have settings; mlc-log has none. Bits of Setting::programs.
enum class Program : uint8_t { kTune = 1, kCompile = 2, kRun = 4, kServer = 8, kWorker = 16 };

enum class ValueKind : uint8_t {
  kText,
  kPath,       // in a file, relative to the file's folder, or to the user's after "~/"
  kPathOrOff,  // the same, or "off"
  kNumber,
  kSwitch,
};

enum class Scope : uint8_t {
  kAllPrograms,  // means the same to all its programs: MLC_NAME, and a key at the top of the file
  kOwn,          // of one program: MLC_PROGRAM_NAME, and a key in its table
};

struct Setting {
  std::string_view name;  // the key of the file, and the flag without its dashes
  ValueKind kind;
  Scope scope;
  uint8_t programs;
  const char* help;
  // A setting or flag that replaces this one: if it comes from a stronger source, this one is
  // ignored. Empty: none.
  std::string_view yields_to = "";
  bool for_network = false;  // ignored if the server is at a unix:PATH

  constexpr bool IsOf(Program program) const {
    return (programs & static_cast<uint8_t>(program)) != 0;
  }
  // Whether this value of it is a path.
  constexpr bool IsPath(std::string_view value) const {
    return kind == ValueKind::kPath || (kind == ValueKind::kPathOrOff && value != "off");
  }
  constexpr Setting YieldsTo(std::string_view other) const {
    Setting changed = *this;
    changed.yields_to = other;
    return changed;
  }
  constexpr Setting ForNetwork() const {
    Setting changed = *this;
    changed.for_network = true;
    return changed;
  }
};

// "--tls-ca".
std::string FlagOf(const Setting& setting);
// "MLC_TLS_CA"; of a setting of one program "MLC_SERVER_TLS_CA".
std::string VariableOf(const Setting& setting);
// "mlc-tune".
std::string NameOf(Program program);

}  // namespace mlc::settings
