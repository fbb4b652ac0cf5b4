#include "server/api/endpoint.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/rpc/acceptor.h"
#include "base/rpc/relay.h"
#include "base/rpc/socket.h"
#include "base/tls/tls_files.h"
#include "server/metrics/watched_files.h"
#include "server/security/stream_ends.h"
#include "server/security/tls_access_control.h"

namespace mlc::server {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;
constexpr size_t kMemoryQuota = size_t{512} << 20;
constexpr unsigned kRefreshSeconds = 1;
constexpr char kRevoked[] =
    "the client's certificate was revoked: ask the server's administrator for another";

struct Setting {
  const char* name;
  int value;
};
constexpr Setting kSettings[] = {
    // A cut wire is noticed within 15 s.
    {GRPC_ARG_KEEPALIVE_TIME_MS, 10'000},
    {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000},
    // Our clients ping each 10 s, idle or not. By default that is ENHANCE_YOUR_CALM after 10 s.
    {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000},
    {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
    // Who connects and says nothing, or a byte a second, is gone after this; by default 120 s.
    {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5'000},
    {GRPC_ARG_MAX_CONCURRENT_STREAMS, 64},
    {GRPC_ARG_MAX_CONNECTION_IDLE_MS, 300'000},
    // Renewed certificates reach every connection within a day.
    {GRPC_ARG_MAX_CONNECTION_AGE_MS, 12 * 3'600'000},
    {GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 60'000},
};

class RunningEndpoint : public Endpoint {
 public:
  RunningEndpoint(EndpointOptions options, std::shared_ptr<spdlog::logger> logger,
                  std::shared_ptr<Metrics> metrics)
      : options_(std::move(options)),
        logger_(std::move(logger)),
        metrics_(std::move(metrics)),
        watched_files_(logger_, metrics_) {}
  ~RunningEndpoint() override { Stop(0); }

  Status Open() {
    MLC_TRY(transport::CheckAddress(options_.listen).WithPrefix("--listen"));
    MLC_TRY(CheckProtection());
    MLC_TRY(transport::RaiseDescriptorLimit());
    MLC_TRY(OpenGates());
    // A connection and both ends between relay and gRPC.
    const bool relayed = !options_.listen.starts_with("unix:");
    acceptor_ = MLC_TRY(
        transport::Acceptor::Listen(options_.listen, {.descriptors_each = relayed ? 3 : 1}));
    return Status();
  }

  const std::string& address() const override { return acceptor_->address(); }
  const AccessControl& access() const override {
    return tls_access_ == nullptr ? static_cast<const AccessControl&>(open_access_) : *tls_access_;
  }

  Status Serve(const std::vector<grpc::Service*>& services) override {
    grpc::EnableDefaultHealthCheckService(true);
    if (options_.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    taker_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, Credentials());
    for (grpc::Service* service : services) builder.RegisterService(service);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> ends;
    ends.push_back(MakeStreamEnds(access()));
    builder.experimental().SetInterceptorCreators(std::move(ends));
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    // No client of ours compresses, and 16 KiB may come to 16 MiB.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    grpc::ResourceQuota quota("mlc-server");
    builder.SetResourceQuota(quota.Resize(kMemoryQuota));
    for (const Setting& setting : kSettings) {
      builder.AddChannelArgument(setting.name, setting.value);
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Internal("gRPC does not start; its messages say why");
    return Accept();
  }

  void SetServing(const std::string& service, bool serving) override {
    if (server_ == nullptr) return;
    if (service.empty()) {
      server_->GetHealthCheckService()->SetServingStatus(serving);
    } else {
      server_->GetHealthCheckService()->SetServingStatus(service, serving);
    }
  }

  void Reload() override {
    if (tls_files_ != nullptr) (void)tls_files_->Reload();
    if (tls_access_ != nullptr) tls_access_->Refresh(transport::Look::kNow, watched_files_);
  }

  void RefreshFiles() override {
    if (tls_access_ != nullptr) tls_access_->Refresh(transport::Look::kIfChanged, watched_files_);
  }

  bool files_are_valid() const override { return watched_files_.all_valid(); }

  void Tick() override {
    metrics_->Set(Gauge::kOpenDescriptors, static_cast<double>(transport::OpenDescriptors()));
    metrics_->Set(Gauge::kConnections, static_cast<double>(acceptor_->accepted()));
    if (tls_files_ != nullptr) {
      const int64_t now_s = options_.clock->WallUs() / 1'000'000;
      metrics_->Set(Gauge::kCertificateExpiry,
                    static_cast<double>(tls_files_->expires_s() - now_s));
    }
    ReportClosedConnections();
    const int64_t shortages = acceptor_->shortages();
    if (shortages == seen_shortages_) return;
    logger_->error("descriptors ran short {} times: connections wait; raise the limit of files",
                   shortages - seen_shortages_);
    metrics_->AddRejected("descriptors");
    seen_shortages_ = shortages;
  }

  void Stop(int64_t grace_ms) override {
    if (acceptor_ != nullptr) acceptor_->Stop();
    if (relay_ != nullptr) relay_->StopHandingOver();
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(grace_ms));
    server_->Wait();
    if (relay_ != nullptr) relay_->Stop();
    server_.reset();
    taker_.reset();
  }

 private:
  // Callers on a Unix socket have every role already: nothing to protect.
  Status Accept() {
    if (options_.listen.starts_with("unix:")) {
      acceptor_->Start([this](int listener, int fd) { HandOver(listener, fd); });
      return Status();
    }
    transport::RelayOptions options;
    options.limit_unauthenticated = tls_access_ != nullptr;
    // gRPC gets no listener.
    relay_ = MLC_TRY(transport::Relay::Start(options, [this](int fd) { HandOver(-1, fd); }));
    const AccessControl::TrafficObserver accounts = {
        .opened = [this](const void* connection) { relay_->Opened(connection); },
        .received = [this](const std::string& peer, const void* connection,
                           size_t bytes) { relay_->Received(peer, connection, bytes); }};
    tls_access_ == nullptr ? open_access_.SetTrafficObserver(accounts)
                           : tls_access_->SetTrafficObserver(accounts);
    acceptor_->Start([this](int, int fd) { relay_->Take(fd); });
    return Status();
  }
  void HandOver(int listener, int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = fd;
    taker_->HandleNewConnection(&connection);
  }

  void ReportClosedConnections() {
    if (relay_ == nullptr) return;
    const transport::Relay::Counts counts = relay_->counts();
    const auto report = [&](const char* reason, int64_t now, int64_t& before) {
      const int64_t more = now - std::exchange(before, now);
      for (int64_t i = 0; i < more; ++i) metrics_->AddRejected(reason);
      return more;
    };
    report("silent", counts.silent, logged_.silent);
    report("unauthenticated_timeout", counts.unauthenticated, logged_.unauthenticated);
    if (const int64_t more = report("evicted", counts.evicted, logged_.evicted); more > 0) {
      logger_->warn("audit: closed the {} oldest unauthenticated connections: too many", more);
    }
    if (const int64_t more = report("flood", counts.floods, logged_.floods); more > 0) {
      logger_->warn("audit: closed {} flooding connections, the last from {}", more,
                    relay_->last_flood());
    }
  }

  Status CheckProtection() {
    const bool local = transport::IsLocal(options_.listen);
    if (options_.listen.starts_with("unix:") && !options_.tls.empty()) {
      return InvalidArgument("TLS is for HOST:PORT; " + options_.listen +
                             " is protected by the permissions of its folder");
    }
    if (!options_.tokens.empty() && options_.tls.empty()) {
      return InvalidArgument(
          "--tokens needs --tls-cert, --tls-key and --tls-ca: without TLS "
          "they could be read on the network");
    }
    if (!options_.tls.empty() && options_.tls.certificate.empty()) {
      return InvalidArgument("a server with TLS needs --tls-cert and --tls-key");
    }
    if (!options_.tls.revoked.empty() && options_.tls.empty()) {
      return InvalidArgument("--tls-crl needs --tls-cert, --tls-key and --tls-ca");
    }
    if (!options_.tls.empty() || local) return Status();
    if (!options_.insecure_listen) {
      return InvalidArgument(
          "cannot listen on " + options_.listen +
          ": others can reach it, and without TLS any of them could run code on the workers. Give "
          "--tls-cert, --tls-key and --tls-ca, or --insecure-listen on a network you trust");
    }
    logger_->warn(
        "INSECURE: {} is open to every host that can reach it: callers may submit, work and "
        "administer, and read along. --tls-cert, --tls-key and --tls-ca protect it",
        options_.listen);
    return Status();
  }

  Status OpenGates() {
    if (options_.tls.empty()) return Status();
    tls_files_ = MLC_TRY(transport::TlsFiles::Open(
        options_.tls, [this](const Status& status, const std::string& description) {
          watched_files_.Update("certificates", status, options_.clock->SteadyMs());
          if (status.ok()) logger_->info("certificates: {}", description);
        }));
    logger_->info("certificates: {}", tls_files_->description());
    std::unique_ptr<Tokens> tokens;
    if (!options_.tokens.empty()) tokens = MLC_TRY(Tokens::Open(options_.tokens));
    std::unique_ptr<transport::Revocations> revoked;
    if (!options_.tls.revoked.empty()) {
      revoked = MLC_TRY(transport::Revocations::Open(options_.tls, kRevoked));
      logger_->info("certificates: {} are revoked", revoked->size());
    }
    tls_access_ = std::make_unique<TlsAccessControl>(*options_.clock, logger_, metrics_,
                                                     std::move(tokens), std::move(revoked));
    return Status();
  }

  std::shared_ptr<grpc::ServerCredentials> Credentials() {
    if (tls_files_ == nullptr) return grpc::InsecureServerCredentials();
    grpc::experimental::TlsServerCredentialsOptions tls(
        std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
            tls_files_->pair_path(), tls_files_->pair_path(), tls_files_->authority_path(),
            kRefreshSeconds));
    tls.watch_root_certs();
    tls.watch_identity_key_cert_pairs();
    // With tokens, a certificate is not the only way to be known; access control demands one of
    // both.
    tls.set_cert_request_type(options_.tokens.empty()
                                  ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                  : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    auto credentials = grpc::experimental::TlsServerCredentials(tls);
    credentials->SetAuthMetadataProcessor(tls_access_->processor());
    return credentials;
  }

  const EndpointOptions options_;
  const std::shared_ptr<spdlog::logger> logger_;
  const std::shared_ptr<Metrics> metrics_;
  WatchedFiles watched_files_;  // outlives those who write into it
  OpenAccess open_access_;
  std::unique_ptr<transport::TlsFiles> tls_files_;
  std::unique_ptr<TlsAccessControl> tls_access_;
  std::unique_ptr<transport::Acceptor> acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> taker_;
  // Calls report to it until the server has gone.
  std::unique_ptr<transport::Relay> relay_;
  transport::Relay::Counts logged_;
  std::unique_ptr<grpc::Server> server_;
  int64_t seen_shortages_ = 0;
};

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::Open(EndpointOptions options,
                                                 std::shared_ptr<spdlog::logger> logger,
                                                 std::shared_ptr<Metrics> metrics) {
  auto endpoint =
      std::make_unique<RunningEndpoint>(std::move(options), std::move(logger), std::move(metrics));
  MLC_TRY(endpoint->Open());
  return std::unique_ptr<Endpoint>(std::move(endpoint));
}

}  // namespace mlc::server
