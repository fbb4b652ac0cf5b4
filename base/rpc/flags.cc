#include "base/rpc/flags.h"

#include <CLI/CLI.hpp>

#include "base/settings/setting_table.h"

namespace mlc::transport {

void AddTlsFlags(CLI::App& app, TlsPaths& tls, settings::Program program) {
  const auto help = [program](const char* name) { return settings::Find(program, name)->help; };
  app.add_option("--tls-cert", tls.certificate, help("tls-cert"));
  app.add_option("--tls-key", tls.key, help("tls-key"));
  app.add_option("--tls-ca", tls.authority, help("tls-ca"));
  app.add_option("--tls-crl", tls.revoked, help("tls-crl"));
}

void AddClientFlags(CLI::App& app, ChannelOptions& options) {
  // All clients have the same rows.
  constexpr settings::Program kClient = settings::Program::kTune;
  AddTlsFlags(app, options.tls, kClient);
  app.add_option("--token-file", options.token_file, settings::HelpOf(kClient, "token-file"));
  app.add_option("--server-name", options.server_name, settings::HelpOf(kClient, "server-name"));
}

}  // namespace mlc::transport
