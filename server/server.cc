#include "server/server.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <utility>

#include "db/sqlite_log.h"
#include "server/services.h"

namespace mlc::server {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;
constexpr std::chrono::milliseconds kCallGrace(2000);

// A listener that runs out of descriptors is dead for good, so there are to be enough of them.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

bool IsLocal(const std::string& address) {
  for (const char* prefix : {"unix:", "127.", "localhost:", "[::1]:"}) {
    if (address.starts_with(prefix)) return true;
  }
  return false;
}

class RunningServer : public Server {
 public:
  RunningServer(std::unique_ptr<db::TuningLog> log, TunerOptions options)
      : log_(std::move(log)),
        tuner_(std::make_unique<Tuner>(*log_, std::move(options))),
        tuner_service_(MakeTunerService(*tuner_)),
        workers_service_(MakeWorkersService(*tuner_)) {}
  ~RunningServer() override { Stop(0); }

  Status Listen(const std::string& address) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(tuner_service_.get());
    builder.RegisterService(workers_service_.get());
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5'000);
    // Two servers on one port would share its connections at random.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Unavailable("cannot listen on " + address);
    address_ = address.starts_with("unix:")
                   ? address
                   : address.substr(0, address.rfind(':') + 1) + std::to_string(port);
    return tuner_->Start();
  }

  std::string address() const override { return address_; }

  void Stop(int64_t grace_ms) override {
    if (server_ == nullptr) return;
    server_->GetHealthCheckService()->SetServingStatus(false);
    if (grace_ms > 0) tuner_->Drain(grace_ms);
    server_->Shutdown(std::chrono::system_clock::now() + kCallGrace);
    server_->Wait();
    server_.reset();
    tuner_.reset();
    log_.reset();
  }

 private:
  std::unique_ptr<db::TuningLog> log_;
  std::unique_ptr<Tuner> tuner_;
  std::unique_ptr<proto::Tuner::CallbackService> tuner_service_;
  std::unique_ptr<proto::Workers::CallbackService> workers_service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  if (!IsLocal(options.listen)) {
    return InvalidArgument("cannot listen on " + options.listen +
                           ": only unix:PATH and loopback addresses are allowed, because the "
                           "connection is not encrypted");
  }
  RaiseDescriptorLimit();
  auto server = std::make_unique<RunningServer>(MLC_TRY(db::OpenSqliteLog(options.log)),
                                                std::move(options.tuner));
  MLC_TRY(server->Listen(options.listen));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace mlc::server
