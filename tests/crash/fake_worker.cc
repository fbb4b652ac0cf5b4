// Takes the place of mlc-worker in crash tests: answers every trial after a moment with a time made
// from its config. Every acknowledged task_uid goes to the file $FAKE_WORKER_ACKS before the next
// call, so that a test can compare it with the log. Results that are not acknowledged are sent
// again, also to a server that was restarted. TERM drains it.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "base/digest.h"
#include "base/wire/protocol.h"
#include "compiler/target/target.h"
#include "proto/worker.grpc.pb.h"

namespace mlc {
namespace {

constexpr std::chrono::milliseconds kReconnect(5);

struct Options {
  std::string server;
  std::string name = "fake";
  int threads = 1;
  int trial_ms = 1;
  int slots = 16;
};

volatile std::sig_atomic_t draining = 0;

Measurement MeasurementOf(const std::string& config) {
  const uint64_t noise = DigestOf(std::string_view(config)).low;
  Measurement m;
  if (noise % 16 == 0) {
    m.outcome = Outcome::kRunError;
    m.detail = "SIGSEGV";
    return m;
  }
  m.outcome = Outcome::kOk;
  m.median_ns = 1e6 + static_cast<double>(noise % 1'000'000);
  m.p10_ns = m.median_ns * 0.99;
  m.p90_ns = m.median_ns * 1.01;
  m.runs = 5;
  return m;
}

int Run(const Options& options) {
  const char* path = std::getenv("FAKE_WORKER_ACKS");
  const int acks = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  grpc::ChannelArguments arguments;
  // A restarted server is found again at once; the default waits for seconds.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 20);
  // Also the time that one attempt to connect may take: handshakes are slow on a loaded machine.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  auto stub = proto::Workers::NewStub(
      grpc::CreateCustomChannel(options.server, grpc::InsecureChannelCredentials(), arguments));
  std::map<std::string, Measurement> spool;
  while (true) {
    proto::SynchronizeRequest request;
    request.set_protocol(server::kWireProtocol);
    request.set_worker(options.name);
    request.set_incarnation(std::to_string(getpid()));
    request.set_build("fake");
    request.set_target(target::DetectHost(options.threads).ToText());
    request.set_want(draining != 0 ? 0 : options.slots);
    request.set_draining(draining != 0);
    for (const auto& [uid, measurement] : spool) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(uid);
      *result.mutable_measurement() = server::ToWire(measurement);
    }
    proto::SynchronizeReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    // A call that fails at once polls for nothing: between such calls gRPC never sees that a
    // connection stands.
    context.set_wait_for_ready(true);
    if (!stub->Synchronize(&context, request, &reply).ok()) {
      std::this_thread::sleep_for(kReconnect);
      continue;
    }
    std::string lines;
    for (const std::string& uid : reply.acknowledged()) {
      spool.erase(uid);
      lines += server::DigestFromWire(uid)->ToText() + "\n";
    }
    for (const proto::Refusal& refusal : reply.refused()) spool.erase(refusal.task_uid());
    if (acks >= 0 && write(acks, lines.data(), lines.size()) < 0) return 1;
    for (const proto::Lease& lease : reply.leases()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(options.trial_ms));
      spool[lease.task_uid()] = MeasurementOf(lease.config());
    }
    if ((reply.drain() || request.draining()) && spool.empty()) return 0;
    if (reply.leases().empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(reply.next_poll_ms()));
    }
  }
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  mlc::Options options;
  std::string target, sandbox, settings;
  CLI::App app("a worker that measures nothing");
  app.add_option("--server", options.server)->required();
  app.add_option("--name", options.name);
  app.add_option("--threads", options.threads);
  app.add_option("--trial-ms", options.trial_ms);
  app.add_option("--slots", options.slots);
  app.add_option("--target", target);
  app.add_option("--sandbox", sandbox);
  app.add_option("--config", settings);
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGTERM, [](int) { mlc::draining = 1; });
  return mlc::Run(options);
}
