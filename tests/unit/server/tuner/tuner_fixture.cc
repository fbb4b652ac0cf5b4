#include "tests/unit/server/tuner/tuner_fixture.h"

#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <future>
#include <thread>
#include <utility>

#include "base/wire/protocol.h"
#include "tests/unit/server/tuner/fake_strategy.h"

namespace mlc::server {
namespace {

std::string KnowledgeOf(const SearchInput& input) {
  std::string text;
  for (const SearchTask& task : input.tasks) {
    for (const PriorTrial& trial : task.prior) text += trial.config.ToText() + "\n";
    for (const auto& config : task.of_other_targets) text += "other " + config.ToText() + "\n";
    for (const int uses : task.uses) text += "used " + std::to_string(uses) + "\n";
  }
  for (const costmodel::SimilarWorkload& related : input.related) {
    text += related.workload.ToText() + "\n";
    for (const costmodel::Timed& trial : related.best) text += trial.config.ToText() + "\n";
  }
  for (const SavedModel& model : input.models) text += model.family + model.bytes + "\n";
  return text;
}

}  // namespace

std::string TargetText() {
  target::Target target;
  target.fma_gflops = 100;
  target.copy_gbps = 10;
  return target.ToText();
}

Caller Submitter(const std::string& name) { return {name, Role::kSubmit, false}; }

void TunerTest::Restart() {
  tuner_.reset();
  TunerOptions options;
  options.logger =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  options.clock = &clock_;
  options.terms.lease_ms = lease_ms_;
  options.quotas = quotas_;
  options.names = names_;
  options.health = health_;
  options.search_threads = search_threads_;
  options.strategy = [this](SearchInput input) {
    if (before_start_) before_start_(input.seed);
    if (own_stories_) {
      return std::make_unique<FakeStrategy>(std::move(input), configs_,
                                            std::make_shared<std::string>());
    }
    priors_ = input.tasks[0].prior.size();
    related_ = input.related.size();
    models_ = input.models.size();
    knowledge_ = KnowledgeOf(input);
    return std::make_unique<FakeStrategy>(std::move(input), configs_, story_);
  };
  if (strategy_) options.strategy = strategy_;
  tuner_ = std::make_unique<WireTuner>(*log_, std::move(options));
  ASSERT_TRUE(tuner_->Start().ok());
}

TunerTest::Course TunerTest::RunJob(uint64_t seed, std::vector<int64_t> sizes, int64_t limit) {
  story_ = std::make_shared<std::string>();
  proto::SubmitJobRequest request = Request(40);
  request.mutable_options()->set_seed(seed);
  request.clear_tasks();
  for (int64_t size : sizes) {
    proto::Task& task = *request.add_tasks();
    task.set_workload(MakeWorkload(size).ToText());
    task.set_occurrences(1);
  }
  const std::string job = tuner_->Submit(request, Caller::Local())->job();
  Work(job, limit);
  if (limit != INT64_MAX) {
    EXPECT_TRUE(tuner_->Cancel(job, Caller::Local()).ok());
  }
  Work(job);
  return {knowledge_, *story_};
}

proto::SubmitJobRequest TunerTest::Request(int64_t trials) {
  proto::SubmitJobRequest request;
  for (int64_t size : {8, 16}) {
    proto::Task& task = *request.add_tasks();
    task.set_workload(MakeWorkload(size).ToText());
    task.set_occurrences(1);
  }
  request.set_target(target::Target().ToText());
  request.mutable_options()->set_trials(trials);
  request.mutable_options()->set_batch(4);
  request.set_label("test model");
  return request;
}

proto::SubmitJobRequest TunerTest::WithSeed(proto::SubmitJobRequest request, uint64_t seed) {
  request.mutable_options()->set_seed(seed);
  return request;
}

std::string TunerTest::Submit(int64_t trials) {
  auto reply = tuner_->Submit(Request(trials), Caller::Local());
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
  return reply->job();
}

Result<proto::SynchronizeReply> TunerTest::Call(const proto::SynchronizeRequest& request) {
  std::promise<Result<proto::SynchronizeReply>> promise;
  tuner_->Synchronize(
      request, [&](Result<proto::SynchronizeReply> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

proto::SynchronizeRequest TunerTest::Hello() {
  proto::SynchronizeRequest request;
  request.set_protocol(kWireProtocol);
  request.set_worker("w0");
  request.set_incarnation("1");
  request.set_build("test-build");
  request.set_target(TargetText());
  request.set_want(3);
  return request;
}

int64_t TunerTest::Work(const std::string& job, int64_t limit) {
  int64_t acknowledged = 0;
  proto::SynchronizeRequest request = Hello();
  while (acknowledged < limit) {
    auto reply = Call(request);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    acknowledged += reply->acknowledged_size();
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      const auto config = schedule::Config::Parse(lease.config());
      *result.mutable_measurement() = ToWire(FakeMeasurement((*config)["x"]));
    }
    if (tuner_->Progress(job)->state() != proto::RUNNING) break;
    if (reply->leases_size() == 0) std::this_thread::yield();
  }
  return acknowledged;
}

int TunerTest::SendUntilTheEnd(const std::string& job, const proto::Measurement& bad) {
  int refused = 0;
  proto::SynchronizeRequest request = Hello();
  while (true) {
    const auto progress = tuner_->Progress(job);
    EXPECT_TRUE(progress.ok()) << "for whoever watches: " << progress.status().ToString();
    if (!progress.ok() || progress->state() != proto::RUNNING) return refused;
    const auto reply = Call(request);
    EXPECT_TRUE(reply.ok()) << "for the worker: " << reply.status().ToString();
    if (!reply.ok()) return refused;
    refused += reply->refused_size();
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = bad;
    }
  }
}

}  // namespace mlc::server
