// The flags by which programs say how a connection is protected. Values are paths, never secrets.
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

// Takes what no flag gave from MLC_TLS_CERT, MLC_TLS_KEY, MLC_TLS_CA, MLC_TLS_CRL and
// MLC_TOKEN_FILE; `lookup` is getenv. An address that needs no protection (unix:PATH) gets none.
void FillMissing(ChannelOptions& options, const std::function<const char*(const char*)>& lookup);

}  // namespace mlc::transport
