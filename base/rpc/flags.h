// The flags of programs for protected connections. Their values are paths, never secrets.
#pragma once

#include "base/rpc/channel.h"
#include "base/settings/setting.h"

namespace CLI {
class App;
}

namespace mlc::transport {

// --tls-cert, --tls-key, --tls-ca, --tls-crl of the program.
void AddTlsFlags(CLI::App& app, TlsPaths& tls, settings::Program program);
// Those of clients, --token-file and --server-name.
void AddClientFlags(CLI::App& app, ChannelOptions& options);

}  // namespace mlc::transport
