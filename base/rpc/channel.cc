#include "base/rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <map>
#include <utility>

#include "base/rpc/diagnose.h"
#include "base/rpc/socket.h"
#include "base/tls/revocations.h"
#include "base/tls/server_verifier.h"
#include "base/tls/tls_files.h"

namespace mlc::transport {
namespace {

constexpr unsigned kRefreshSeconds = 1;
constexpr int kMaxMessage = 64 << 20;

// Reads the token anew for every call: a file that is replaced counts at once.
class TokenPlugin : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenPlugin(std::string path) : path_(std::move(path)) {}
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    const Result<std::string> token = ReadSecret(path_);
    if (!token.ok()) {
      return {grpc::StatusCode::UNAUTHENTICATED, token.status().message()};
    }
    metadata->emplace("authorization", "Bearer " + *token);
    return grpc::Status::OK;
  }

 private:
  const std::string path_;
};

std::shared_ptr<grpc::ChannelCredentials> Credentials(
    const TlsFiles& files, std::shared_ptr<grpc::experimental::CertificateVerifier> verifier,
    const std::string& token_file) {
  grpc::experimental::TlsChannelCredentialsOptions tls;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider;
  if (files.pair_path().empty()) {
    provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
        files.authority_path(), kRefreshSeconds);
  } else {
    provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
        files.pair_path(), files.pair_path(), files.authority_path(), kRefreshSeconds);
    tls.watch_identity_key_cert_pairs();
  }
  tls.set_certificate_provider(std::move(provider));
  tls.watch_root_certs();
  if (verifier != nullptr) tls.set_certificate_verifier(std::move(verifier));
  auto credentials = grpc::experimental::TlsCredentials(tls);
  if (token_file.empty()) return credentials;
  return grpc::CompositeChannelCredentials(
      credentials, grpc::MetadataCredentialsFromPlugin(std::make_unique<TokenPlugin>(token_file)));
}

grpc::ChannelArguments Arguments(const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  // A cut wire is noticed within 15 s, on an idle connection, too: without the third setting gRPC
  // stops to ping after two pings without data.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // A restarted server is found again soon, yet not by all workers in one moment: gRPC adds jitter.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  // A new connection does not wait for what an old one to the same server waits for.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Workers and servers are neighbours; a proxy of the environment is for the world outside.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  return arguments;
}

}  // namespace

Connection::Connection(ChannelOptions options) : options_(std::move(options)) {}

// The channel's end is its last change of state.
Connection::~Connection() {
  channel_.reset();
  changes_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (changes_.Next(&tag, &ok)) {
  }
}

Result<std::unique_ptr<Connection>> Connection::Open(ChannelOptions options) {
  MLC_TRY(CheckAddress(options.address));
  std::unique_ptr<Connection> connection(new Connection(std::move(options)));
  const ChannelOptions& wanted = connection->options_;
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (wanted.tls.empty()) {
    if (!wanted.token_file.empty()) {
      return InvalidArgument(
          "--token-file needs --tls-ca: without TLS it could be read on the network");
    }
    if (!wanted.tls.revoked.empty()) return InvalidArgument("--tls-crl needs --tls-ca");
    credentials = grpc::InsecureChannelCredentials();
  } else {
    if (!wanted.token_file.empty()) MLC_TRY(ReadSecret(wanted.token_file));
    connection->files_ = MLC_TRY(TlsFiles::Open(wanted.tls, nullptr));
    std::shared_ptr<grpc::experimental::CertificateVerifier> verifier;
    if (!wanted.tls.revoked.empty()) {
      verifier =
          MakeServerVerifier(MLC_TRY(Revocations::Open(wanted.tls, "the certificate was revoked")));
    }
    credentials = Credentials(*connection->files_, std::move(verifier), wanted.token_file);
  }
  connection->channel_ = grpc::CreateCustomChannel(wanted.address, credentials, Arguments(wanted));
  return connection;
}

bool Connection::Await(int64_t timeout_ms) const {
  const std::lock_guard lock(awaiting_);
  const gpr_timespec end =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));
  while (true) {
    const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (!watching_) {
      channel_->NotifyOnStateChange(state, gpr_inf_future(GPR_CLOCK_MONOTONIC), &changes_, nullptr);
      watching_ = true;
    }
    void* tag = nullptr;
    bool ok = false;
    if (changes_.AsyncNext(&tag, &ok, end) != grpc::CompletionQueue::GOT_EVENT) return false;
    watching_ = false;
  }
}

Status Connection::WaitUntilReady(int64_t timeout_ms) const {
  if (Await(timeout_ms)) return Status();
  MLC_TRY(Explain());
  return Unavailable("no mlc-server answers at " + options_.address);
}

Status Connection::Explain() const {
  return Diagnose(options_.address, options_.tls, options_.server_name);
}

}  // namespace mlc::transport
