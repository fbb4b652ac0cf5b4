#include "compiler/schedule/space/config.h"

#include "base/check.h"
#include "base/text.h"

namespace mlc::schedule {

namespace {

constexpr size_t kMaxKnobs = 64;

Status CheckNew(const Config& config, const std::string& name, const Lexer& lexer) {
  if (config.knobs.size() + config.words.size() == kMaxKnobs) {
    return lexer.Error("more than 64 knobs");
  }
  const Status twice = lexer.Error("knob '" + name + "' appears twice");
  for (const auto& [known, value] : config.knobs) {
    if (known == name) return twice;
  }
  for (const auto& [known, value] : config.words) {
    if (known == name) return twice;
  }
  return {};
}

}  // namespace

int64_t Config::operator[](std::string_view knob) const {
  for (const auto& [name, value] : knobs) {
    if (name == knob) return value;
  }
  MLC_CHECK(false) << "no knob '" << knob << "' in " << ToText();
  return 0;
}

std::string Config::ToText() const {
  std::string text = family;
  text += '/';
  text += std::to_string(version);
  for (const auto& [name, value] : knobs) {
    text += ' ';
    text += name;
    text += '=';
    text += std::to_string(value);
  }
  for (const auto& [name, value] : words) text.append(" ").append(name).append("=").append(value);
  return text;
}

Result<Config> Config::Parse(std::string_view text) {
  Lexer lexer(text);
  Config config;
  config.family = MLC_TRY(lexer.Word());
  MLC_TRY(lexer.Expect("/"));
  const int64_t version = MLC_TRY(lexer.Int());
  if (version < 1 || version > 1000000) return lexer.Error("version out of range");
  config.version = static_cast<int>(version);
  while (!lexer.AtEnd()) {
    std::string name = MLC_TRY(lexer.Word());
    MLC_TRY(CheckNew(config, name, lexer));
    MLC_TRY(lexer.Expect("="));
    if (config.family == kUserKernel && (!config.words.empty() || !lexer.PeekNumber())) {
      config.words.emplace_back(std::move(name), MLC_TRY(lexer.Word()));
      continue;
    }
    const int64_t value = MLC_TRY(lexer.Int());
    config.knobs.emplace_back(std::move(name), value);
  }
  return config;
}

}  // namespace mlc::schedule
