#include "base/rpc/flags.h"

#include <CLI/CLI.hpp>

namespace mlc::transport {

void AddTlsFlags(CLI::App& app, TlsPaths& tls, const std::string& whose) {
  app.add_option("--tls-cert", tls.certificate, "PEM certificate " + whose + ", with its chain");
  app.add_option("--tls-key", tls.key, "PEM key of --tls-cert");
  app.add_option("--tls-ca", tls.authority, "PEM certificates that sign the other side's");
  app.add_option("--tls-crl", tls.revoked,
                 "PEM list of revoked certificates of the other side, signed by --tls-ca");
}

void AddClientFlags(CLI::App& app, ChannelOptions& options) {
  AddTlsFlags(app, options.tls, "of this client");
  app.add_option("--token-file", options.token_file,
                 "file with a bearer token, instead of --tls-cert");
  app.add_option("--server-name", options.server_name,
                 "name in the server's certificate, if it is not the host of --server");
}

void FillMissing(ChannelOptions& options, const std::function<const char*(const char*)>& lookup) {
  if (options.address.starts_with("unix:")) return;
  const auto fill = [&](std::string& value, const char* variable) {
    const char* found = value.empty() ? lookup(variable) : nullptr;
    if (found != nullptr) value = found;
  };
  // A flag that names one of a pair means the pair.
  if (options.tls.certificate.empty() && options.tls.key.empty()) {
    fill(options.tls.certificate, "MLC_TLS_CERT");
    fill(options.tls.key, "MLC_TLS_KEY");
  }
  fill(options.tls.authority, "MLC_TLS_CA");
  fill(options.tls.revoked, "MLC_TLS_CRL");
  fill(options.token_file, "MLC_TOKEN_FILE");
}

}  // namespace mlc::transport
