#include "base/settings/setting.h"

#include <cctype>

#include "base/check.h"

namespace mlc::settings {
namespace {

std::string Upper(std::string_view name) {
  std::string text;
  for (const char c : name) {
    text += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string_view WordOf(Program program) {
  switch (program) {
    case Program::kTune:
      return "tune";
    case Program::kCompile:
      return "compile";
    case Program::kRun:
      return "run";
    case Program::kServer:
      return "server";
    case Program::kWorker:
      return "worker";
  }
  MLC_CHECK(false);
  return {};
}

}  // namespace

std::string FlagOf(const Setting& setting) { return "--" + std::string(setting.name); }

std::string VariableOf(const Setting& setting) {
  if (setting.scope == Scope::kAllPrograms) return "MLC_" + Upper(setting.name);
  // Such a setting has one program.
  return "MLC_" + Upper(WordOf(static_cast<Program>(setting.programs))) + "_" + Upper(setting.name);
}

std::string NameOf(Program program) { return "mlc-" + std::string(WordOf(program)); }

}  // namespace mlc::settings
