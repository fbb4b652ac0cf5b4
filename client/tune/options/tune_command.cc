// The commands that mlc-tune tells people, from its own.
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "client/tune/options/tune_flags.h"
#include "client/tune/options/tune_options.h"

namespace mlc::client {

std::string ShellQuoted(const std::string& text) {
  constexpr char kSafe[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!text.empty() && text.find_first_not_of(kSafe) == std::string::npos) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

std::string ServerFlags(const TuneOptions& options) {
  std::string flags = " --server " + ShellQuoted(options.server);
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) flags += " " + std::string(flag) + " " + ShellQuoted(value);
  };
  add("--tls-cert", options.channel.tls.certificate);
  add("--tls-key", options.channel.tls.key);
  add("--tls-ca", options.channel.tls.authority);
  add("--tls-crl", options.channel.tls.revoked);
  add("--token-file", options.channel.token_file);
  add("--server-name", options.channel.server_name);
  return flags;
}

std::string TextOf(const std::string& value) { return value; }
std::string TextOf(double value) { return FloatToText(value); }
std::string TextOf(const target::Dim3& value) { return value.ToText(); }
template <std::integral Integer>
std::string TextOf(Integer value) {
  return std::to_string(value);
}

template <typename T>
std::vector<std::string> TextsOf(const T& value) {
  return {TextOf(value)};
}
template <typename T>
std::vector<std::string> TextsOf(const std::optional<T>& value) {
  return value ? std::vector{TextOf(*value)} : std::vector<std::string>();
}
std::vector<std::string> TextsOf(const std::vector<std::string>& values) { return values; }

// What the flag was given, if `command` has it and it is not the default.
template <typename T>
std::vector<std::string> GivenValues(const TuneOptions& options, const Flag<TuneOptions, T>& flag,
                                     Repeats command) {
  static const TuneOptions kDefaults;
  if (flag.info.repeats < command) return {};
  std::vector<std::string> texts = TextsOf(options.*(flag.member));
  return texts == TextsOf(kDefaults.*(flag.member)) ? std::vector<std::string>() : texts;
}

}  // namespace

transport::ChannelOptions TuneOptions::Server() const {
  transport::ChannelOptions channel_with_address = channel;
  channel_with_address.address = server;
  return channel_with_address;
}

std::vector<std::string> TuneOptions::ModelWords() const {
  std::vector<std::string> words;
  ForEachFlag([&](const auto& flag) {
    for (const std::string& value : GivenValues(*this, flag, Repeats::kCompile)) {
      words.insert(words.end(), {flag.info.name, value});
    }
  });
  return words;
}

std::string TuneOptions::SourceFlags() const {
  return server.empty() ? " --log " + ShellQuoted(log) : ServerFlags(*this);
}

std::string TuneOptions::Command() const {
  std::string command = "mlc-tune";
  ForEachFlag([&](const auto& flag) {
    if (std::string_view(flag.info.name) == "--log") command += SourceFlags();
    constexpr bool kIsSwitch = std::same_as<decltype(this->*(flag.member)), const bool&>;
    for (const std::string& value : GivenValues(*this, flag, Repeats::kAgain)) {
      command += " " + std::string(flag.info.name);
      if (!kIsSwitch) command += " " + ShellQuoted(value);
    }
  });
  return command;
}

std::string TuneOptions::VerbCommand(const std::string& verb) const {
  return "mlc-tune " + verb + ServerFlags(*this);
}

}  // namespace mlc::client
