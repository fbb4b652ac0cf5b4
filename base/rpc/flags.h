// The flags of programs for protected connections. Their values are paths, never secrets.
#pragma once

#include <functional>
#include <string>

#include "base/rpc/channel.h"

namespace CLI {
class App;
}

namespace mlc::transport {

// --tls-cert, --tls-key, --tls-ca, --tls-crl: "of this client" or "of this server".
void AddTlsFlags(CLI::App& app, TlsPaths& tls, const std::string& whose);
// Those, --token-file and --server-name.
void AddClientFlags(CLI::App& app, ChannelOptions& options);

// Fills options that no flag set from MLC_TLS_CERT, MLC_TLS_KEY, MLC_TLS_CA, MLC_TLS_CRL and
// MLC_TOKEN_FILE. `lookup` is getenv. Leaves options for an address that needs no protection
// (unix:PATH) empty.
void FillMissing(ChannelOptions& options, const std::function<const char*(const char*)>& lookup);

}  // namespace mlc::transport
