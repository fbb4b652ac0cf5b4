// The commands that mlc-tune tells people, from its own.
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
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

}  // namespace

transport::ChannelOptions TuneOptions::Server() const {
  transport::ChannelOptions channel_with_address = channel;
  channel_with_address.address = server;
  return channel_with_address;
}

std::vector<std::string> TuneOptions::ModelWords() const {
  std::vector<std::string> words = {"--model", model};
  const auto add = [&](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  for (const std::string& dim : dims) add("--dim", dim);
  if (target != TuneOptions().target) add("--target", target);
  if (threads != 0) add("--threads", std::to_string(threads));
  if (precision != TuneOptions().precision) add("--precision", precision);
  for (const std::string& pass : skipped_passes) add("--skip-pass", pass);
  if (!cuda_home.empty()) add("--cuda-home", cuda_home);
  if (tolerance) add("--tolerance", FloatToText(*tolerance));
  return words;
}

std::string TuneOptions::SourceFlags() const {
  return server.empty() ? " --log " + ShellQuoted(log) : ServerFlags(*this);
}

std::string TuneOptions::Command() const {
  std::string command = "mlc-tune";
  if (is_raw()) {
    command += " --cuda-kernel " + ShellQuoted(cuda_kernel) + " --workload " +
               ShellQuoted(workload) + " --entry " + ShellQuoted(entry) + " --grid " +
               grid->ToText() + " --block " + block->ToText();
    if (shared != 0) command += " --shared " + std::to_string(shared);
  } else {
    command += " --model " + ShellQuoted(model) + " --trials " + std::to_string(trials);
  }
  if (target != TuneOptions().target) command += " --target " + ShellQuoted(target);
  if (threads != 0) command += " --threads " + std::to_string(threads);
  command += SourceFlags();
  for (const std::string& dim : dims) command += " --dim " + ShellQuoted(dim);
  if (precision != TuneOptions().precision) command += " --precision " + precision;
  if (tolerance) command += " --tolerance " + FloatToText(*tolerance);
  for (const std::string& pass : skipped_passes) command += " --skip-pass " + ShellQuoted(pass);
  if (!cuda_home.empty()) command += " --cuda-home " + ShellQuoted(cuda_home);
  if (whole_model >= 0) command += " --whole-model " + std::to_string(whole_model);
  if (!cubin_cache.empty()) command += " --cubin-cache " + ShellQuoted(cubin_cache);
  if (!worker.empty()) command += " --worker " + ShellQuoted(worker);
  if (seed != 0) command += " --seed " + std::to_string(seed);
  if (priority != 0) command += " --priority " + std::to_string(priority);
  return command;
}

std::string TuneOptions::VerbCommand(const std::string& verb) const {
  return "mlc-tune" + ServerFlags(*this) + " " + verb;
}

}  // namespace mlc::client
