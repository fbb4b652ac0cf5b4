#include "tests/bench/service_workers.h"

#include <grpcpp/grpcpp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <queue>
#include <utility>

#include "worker/agent/agent.h"
#include "worker/agent/worker_session.h"

namespace mlc::bench {
namespace {

double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t WholeMs(double ms) { return static_cast<int64_t>(ms); }

// Times within a factor of two of each other, the same for the same config: nothing to doubt.
Measurement MeasurementOf(const worker::Trial& trial) {
  Measurement m;
  m.outcome = Outcome::kOk;
  const uint64_t hash = DigestOf(std::string_view(trial.config)).low;
  m.median_ns = 1e7 * (1 + static_cast<double>(hash % 1000) / 1000);
  m.p10_ns = m.median_ns * 0.99;
  m.p90_ns = m.median_ns * 1.01;
  m.runs = 11;
  m.build_ms = 20;
  m.machine_speed = 1;
  if (trial.early_stop_ns > 0 && m.median_ns > trial.early_stop_ns) m.outcome = Outcome::kTooSlow;
  return m;
}

Digest DigestOfWire(const std::string& bytes) {
  std::array<uint8_t, 16> raw{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), raw.size()), raw.begin());
  return Digest::FromBytes(raw);
}

}  // namespace

struct ServiceWorkers::Worker {
  explicit Worker(worker::AgentOptions options) : agent(std::move(options)) {}

  worker::Agent agent;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<proto::Workers::Stub> stub;
  std::unique_ptr<worker::WorkerSession> session;
  int news = -1;   // of the session
  int ended = -1;  // of the call
  std::deque<worker::Trial> waiting;
  std::optional<worker::Trial> running;
  double ends_ms = 0;   // of the running trial
  double idle_ms = -1;  // since when there is none; -1: never had one
  std::unordered_map<Digest, double, UidHash> reported_ms;
  bool calling = false;
  std::unique_ptr<grpc::ClientContext> context;
  proto::SynchronizeRequest request;
  proto::SynchronizeReply reply;
  grpc::Status status;
  int64_t planned_ms = INT64_MAX;  // when it is looked at next
  bool left = false;
};

ServiceWorkers::ServiceWorkers(const ServiceHost& host, FleetOptions options)
    : options_(std::move(options)), rng_(7), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  for (int n = 0; n < options_.workers; ++n) {
    worker::AgentOptions agent;
    agent.name = "lab-" + std::to_string(n);
    agent.incarnation = std::to_string(getpid());
    agent.build = "service_bench";
    agent.target = options_.target;
    agent.slots = options_.slots;
    agent.seed = static_cast<uint64_t>(n);
    auto made = std::make_unique<Worker>(std::move(agent));
    made->channel = host.Connect("work-lab", n);
    made->stub = proto::Workers::NewStub(made->channel);
    for (int* fd : {&made->news, &made->ended}) {
      *fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      epoll_event event{EPOLLIN, {}};
      event.data.u64 = static_cast<uint64_t>(n) * 2 + (fd == &made->ended ? 1 : 0);
      epoll_ctl(epoll_, EPOLL_CTL_ADD, *fd, &event);
    }
    made->session = worker::WorkerSession::Start(*made->stub, made->agent.name(),
                                                 made->agent.incarnation(), made->news);
    workers_.push_back(std::move(made));
  }
  left_ = options_.workers;
  thread_ = std::thread([this] { Loop(); });
}

ServiceWorkers::~ServiceWorkers() {
  stopping_ = true;
  thread_.join();
  for (const auto& worker : workers_) {
    worker->session.reset();
    close(worker->news);
    close(worker->ended);
  }
  close(epoll_);
}

bool ServiceWorkers::Drain(int64_t timeout_ms) {
  draining_ = true;
  const double until = NowMs() + static_cast<double>(timeout_ms);
  while (left_ > 0 && NowMs() < until) usleep(10'000);
  return left_ == 0;
}

ServiceWorkers::Seen ServiceWorkers::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(seen_, {});
}

// Calls of a worker never overlap; its next one tells what has come meanwhile.
void ServiceWorkers::Call(Worker& worker) {
  worker.calling = true;
  worker.request = worker.agent.Request();
  worker.reply.Clear();
  worker.context = std::make_unique<grpc::ClientContext>();
  worker.context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const double now = NowMs();
  for (const proto::TrialResult& result : worker.request.finished()) {
    worker.reported_ms.try_emplace(DigestOfWire(result.task_uid()), now);
  }
  worker.stub->async()->Synchronize(worker.context.get(), &worker.request, &worker.reply,
                                    [&worker](const grpc::Status& status) {
                                      worker.status = status;
                                      const uint64_t one = 1;
                                      (void)!write(worker.ended, &one, sizeof(one));
                                    });
}

void ServiceWorkers::Finished(Worker& worker) {
  worker.calling = false;
  const double now = NowMs();
  std::lock_guard lock(mutex_);
  ++seen_.calls;
  if (!worker.status.ok()) {
    if (seen_.failed_calls++ == 0) {
      std::fprintf(stderr, "service_bench: a call failed: %s\n",
                   worker.status.error_message().c_str());
    }
    (void)worker.agent.OnFailure(Status(StatusCode::kUnavailable, worker.status.error_message()),
                                 WholeMs(now));
    return;
  }
  seen_.refused += worker.reply.refused_size();
  for (const std::string& bytes : worker.reply.acknowledged()) {
    const Digest uid = DigestOfWire(bytes);
    ++seen_.acknowledged;
    ++acknowledged_[uid];
    if (const auto reported = worker.reported_ms.extract(uid)) {
      seen_.acknowledge_ms.push_back(now - reported.mapped());
    }
  }
  worker::Agent::Orders orders = worker.agent.OnReply(worker.reply, WholeMs(now));
  for (const Digest& uid : orders.cancel) {
    std::erase_if(worker.waiting, [&](const worker::Trial& trial) { return trial.uid == uid; });
  }
  for (worker::Trial& trial : orders.start) worker.waiting.push_back(std::move(trial));
}

void ServiceWorkers::RunTrials(Worker& worker, double now_ms) {
  if (worker.running && worker.ends_ms <= now_ms) {
    worker.agent.OnResult({worker.running->uid, MeasurementOf(*worker.running)});
    worker.idle_ms = worker.ends_ms;
    worker.running.reset();
  }
  if (worker.running || worker.waiting.empty()) return;
  worker.running = std::move(worker.waiting.front());
  worker.waiting.pop_front();
  const double mean_ms = 1000 * options_.workers / options_.results_per_second;
  // A trial that waited in the worker begins with the end of the one before, as late as it is seen.
  const bool waited = worker.idle_ms >= 0 && now_ms - worker.idle_ms < 2;
  if (worker.idle_ms >= 0) {
    std::lock_guard lock(mutex_);
    seen_.gap_ms.push_back(waited ? 0 : now_ms - worker.idle_ms);
  }
  worker.ends_ms = (waited ? worker.idle_ms : now_ms) + mean_ms * (0.5 + rng_.Uniform());
}

// Does what is due; returns when the worker has to be looked at again.
int64_t ServiceWorkers::Advance(Worker& worker) {
  if (worker.left) return INT64_MAX;
  if (draining_) worker.agent.Drain();
  const double now = NowMs();
  RunTrials(worker, now);
  if (!worker.calling && worker.agent.done()) {
    worker.left = true;
    --left_;
    return INT64_MAX;
  }
  if (!worker.calling && worker.agent.NextCallMs() <= WholeMs(now)) Call(worker);
  int64_t next = worker.calling ? INT64_MAX : worker.agent.NextCallMs();
  if (worker.running) next = std::min(next, WholeMs(worker.ends_ms) + 1);
  // To hear of the drain.
  return std::min(next, WholeMs(now) + 1000);
}

void ServiceWorkers::Loop() {
  using Due = std::pair<int64_t, int>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  const auto look = [&](int n) {
    Worker& worker = *workers_[static_cast<size_t>(n)];
    worker.planned_ms = Advance(worker);
    if (!worker.left) due.emplace(worker.planned_ms, n);
  };
  for (int n = 0; n < options_.workers; ++n) look(n);
  bool calling = true;
  while (!stopping_ || calling) {
    const int64_t wait = due.empty() ? 50 : due.top().first - WholeMs(NowMs());
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(std::clamp<int64_t>(wait, 0, 50)));
    for (int i = 0; i < count; ++i) {
      const uint64_t which = events[static_cast<size_t>(i)].data.u64;
      Worker& worker = *workers_[which / 2];
      uint64_t number = 0;
      (void)!read(which % 2 == 1 ? worker.ended : worker.news, &number, sizeof(number));
      if (which % 2 == 1) Finished(worker);
      if (which % 2 == 0) worker.agent.Wake();
      if (!stopping_) look(static_cast<int>(which / 2));
    }
    while (!stopping_ && !due.empty() && due.top().first <= WholeMs(NowMs())) {
      const auto [planned_ms, n] = due.top();
      due.pop();
      // Looked at meanwhile, it has another entry.
      if (planned_ms == workers_[static_cast<size_t>(n)]->planned_ms) look(n);
    }
    calling = std::any_of(workers_.begin(), workers_.end(),
                          [](const auto& worker) { return worker->calling; });
  }
}

}  // namespace mlc::bench
