// How many configs does a server propose in a second when many jobs run at once? Real searches on
// the products of a network, a log in memory, and a worker in this process that answers at once:
// what is timed is proposing, scoring, learning and leasing.
//   jobs_bench [JOBS=8] [THREADS=2] [TRIALS=600, of each job] [TASKS=20, of each job]
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/wire/protocol.h"
#include "server/search/portfolio_strategy.h"
#include "tests/bench/products.h"
#include "tests/support/db/memory_log.h"
#include "tests/support/server/wire_tuner.h"

namespace mlc::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Sizes of a transformer's products, other ones for each job.
proto::SubmitJobRequest RequestOf(int job, int64_t trials, int tasks) {
  proto::SubmitJobRequest request;
  for (int n = 0; n < tasks; ++n) {
    proto::Task& task = *request.add_tasks();
    task.set_workload(Product(32 * (1 + n % 5), 64 * (1 + n), 64 * (1 + job)).ToText());
    task.set_occurrences(1 + n % 4);
  }
  target::Target target = target::DetectHost(2);
  target.fma_gflops = 200;
  target.copy_gbps = 20;
  request.set_target(target.ToText());
  request.mutable_options()->set_trials(trials);
  request.set_user("user" + std::to_string(job % 3));
  return request;
}

Measurement MeasurementOf(const std::string& config) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns =
      1e7 * (1 + static_cast<double>(DigestOf(std::string_view(config)).low % 1000) / 500);
  m.p10_ns = m.p90_ns = m.median_ns;
  m.runs = 11;
  return m;
}

proto::SynchronizeReply Call(server::WireTuner& tuner, const proto::SynchronizeRequest& request) {
  std::promise<Result<proto::SynchronizeReply>> promise;
  tuner.Synchronize(
      request, [&](Result<proto::SynchronizeReply> reply) { promise.set_value(std::move(reply)); });
  Result<proto::SynchronizeReply> reply = promise.get_future().get();
  if (reply.ok()) return *std::move(reply);
  std::fprintf(stderr, "jobs_bench: %s\n", reply.status().ToString().c_str());
  std::exit(1);
}

bool AllDone(const server::WireTuner& tuner) {
  const auto jobs = tuner.List({});
  return std::none_of(jobs->jobs().begin(), jobs->jobs().end(),
                      [](const auto& job) { return job.state() == proto::RUNNING; });
}

void Work(server::WireTuner& tuner, const std::string& target) {
  proto::SynchronizeRequest request;
  request.set_protocol(server::kWireProtocol);
  request.set_worker("bench");
  request.set_incarnation("1");
  request.set_target(target);
  request.set_want(256);
  for (auto looked = Clock::now();;) {
    const proto::SynchronizeReply reply = Call(tuner, request);
    request.clear_finished();
    for (const proto::Lease& lease : reply.leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = server::ToWire(MeasurementOf(lease.config()));
    }
    if (reply.leases_size() > 0) continue;
    if (Clock::now() - looked > std::chrono::milliseconds(50)) {
      if (AllDone(tuner)) return;
      looked = Clock::now();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

int Main(int argc, char** argv) {
  const auto argument = [&](int place, int usual) {
    return argc > place ? std::atoi(argv[place]) : usual;
  };
  const int jobs = argument(1, 8), threads = argument(2, 2), trials = argument(3, 600);
  const std::unique_ptr<db::TuningLog> log = db::MakeMemoryLog();
  server::TunerOptions options;
  options.strategy = server::MakePortfolioStrategy;
  options.search_threads = threads;
  options.logger =
      std::make_shared<spdlog::logger>("bench", std::make_shared<spdlog::sinks::null_sink_mt>());
  server::WireTuner tuner(*log, std::move(options));
  (void)tuner.Start();
  std::string target;
  for (int job = 0; job < jobs; ++job) {
    const proto::SubmitJobRequest request = RequestOf(job, trials, argument(4, 20));
    target = request.target();
    const auto reply = tuner.Submit(request, server::Caller::Local());
    if (reply.ok()) continue;
    std::fprintf(stderr, "jobs_bench: %s\n", reply.status().ToString().c_str());
    return 1;
  }
  const auto start = Clock::now();
  Work(tuner, target);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto records = static_cast<double>(log->Stats()->records);
  std::printf("%d jobs, %d search threads: %.0f trials in %.2f s, %.0f a second\n", jobs, threads,
              records, seconds, records / seconds);
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) { return mlc::bench::Main(argc, argv); }
