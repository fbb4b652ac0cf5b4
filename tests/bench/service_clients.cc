#include "tests/bench/service_clients.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "tests/bench/products.h"

namespace mlc::bench {
namespace {

constexpr int kBestConnections = 8;

double NowMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

proto::SubmitJobRequest RequestOf(int job, const JobsOptions& options) {
  proto::SubmitJobRequest request;
  request.set_protocol(1);
  request.set_target(options.target);
  request.set_label("load " + std::to_string(job));
  request.mutable_options()->set_trials(options.trials);
  request.mutable_options()->set_batch(options.batch);
  for (int n = 0; n < options.tasks; ++n) {
    proto::Task& task = *request.add_tasks();
    task.set_workload(Product(32 * (1 + n % 5), 64 * (1 + n), 16 * (1 + job)).ToText());
    task.set_occurrences(1 + n % 4);
  }
  return request;
}

}  // namespace

JobSupply::JobSupply(const ServiceHost& host, JobsOptions options) : options_(std::move(options)) {
  for (const char* user : kUsers) {
    users_.push_back(proto::Tuner::NewStub(
        host.Connect(std::string("submit-") + user, static_cast<int>(users_.size()))));
  }
  while (submitted_ < options_.running && SubmitOne().ok()) continue;
  thread_ = std::thread([this] { Loop(); });
}

JobSupply::~JobSupply() {
  stopping_ = true;
  thread_.join();
}

std::vector<std::string> JobSupply::Model(uint64_t choice) const {
  std::lock_guard lock(mutex_);
  if (models_.empty()) return {};
  return models_[choice % models_.size()];
}

std::string JobSupply::WhyEarly() const {
  std::lock_guard lock(mutex_);
  return why_early_;
}

Status JobSupply::SubmitOne() {
  const proto::SubmitJobRequest request = RequestOf(options_.first + submitted_, options_);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  proto::SubmitJobReply reply;
  const grpc::Status status =
      users_[static_cast<size_t>(submitted_) % users_.size()]->SubmitJob(&context, request, &reply);
  if (!status.ok()) {
    std::fprintf(stderr, "service_bench: no job: %s\n", status.error_message().c_str());
    return Internal(status.error_message());
  }
  std::vector<std::string> model;
  for (const proto::Task& task : request.tasks()) {
    model.push_back(DigestOf(std::string_view(task.workload())).ToText());
  }
  std::lock_guard lock(mutex_);
  models_.push_back(std::move(model));
  ++submitted_;
  return Status();
}

int JobSupply::RunningNow() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  proto::ListJobsReply reply;
  if (!users_[0]->ListJobs(&context, {}, &reply).ok()) return options_.running;
  int running = 0;
  for (const proto::JobSummary& job : reply.jobs()) {
    running += job.state() == proto::RUNNING ? 1 : 0;
    if (job.state() == proto::RUNNING || job.detail().empty()) continue;
    std::lock_guard lock(mutex_);
    why_early_ = job.detail();
  }
  return running;
}

void JobSupply::Loop() {
  while (!stopping_) {
    for (int missing = options_.running - RunningNow(); missing > 0 && !stopping_; --missing) {
      if (!SubmitOne().ok()) break;
    }
    for (int i = 0; i < 20 && !stopping_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

struct BestLoad::Call {
  grpc::ClientContext context;
  proto::BestRequest request;
  proto::BestReply reply;
  double due_ms = 0;
};

BestLoad::BestLoad(const ServiceHost& host, const JobSupply& jobs, std::string target_class,
                   double calls_per_second)
    : jobs_(jobs), target_class_(std::move(target_class)), calls_per_second_(calls_per_second) {
  for (int n = 0; n < kBestConnections; ++n) {
    stubs_.push_back(proto::Tuner::NewStub(host.Connect("submit-ada", 1000 + n)));
  }
  thread_ = std::thread([this] { Loop(); });
}

BestLoad::~BestLoad() {
  stopping_ = true;
  thread_.join();
  while (open_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

BestLoad::Seen BestLoad::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(seen_, {});
}

void BestLoad::Start(double due_ms) {
  auto call = std::make_shared<Call>();
  call->due_ms = due_ms;
  call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  call->request.set_target(target_class_);
  for (const std::string& workload : jobs_.Model(started_)) call->request.add_workloads(workload);
  proto::Tuner::Stub& stub = *stubs_[started_++ % stubs_.size()];
  ++open_;
  stub.async()->Best(&call->context, &call->request, &call->reply,
                     [this, call](const grpc::Status& status) {
                       {
                         std::lock_guard lock(mutex_);
                         ++seen_.calls;
                         seen_.failed += status.ok() ? 0 : 1;
                         for (const auto& best : call->reply.best()) {
                           seen_.configs += best.config().empty() ? 0 : 1;
                         }
                         seen_.latency_ms.push_back(NowMs() - call->due_ms);
                       }
                       --open_;
                     });
}

void BestLoad::Loop() {
  double due_ms = NowMs();
  while (!stopping_) {
    const double now = NowMs();
    for (; due_ms <= now; due_ms += 1000 / calls_per_second_) Start(due_ms);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(due_ms - now));
  }
}

}  // namespace mlc::bench
