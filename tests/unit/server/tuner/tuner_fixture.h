// The tuner on a log in memory, with a worker that is a function.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/clock/skipping_clock.h"
#include "tests/support/db/memory_log.h"
#include "tests/support/server/wire_tuner.h"

namespace mlc::server {

// Of the worker: this machine's class, with figures.
std::string TargetText();
Caller Submitter(const std::string& name);

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override { Restart(); }

  // Another tuner on the same log, with the options below.
  void Restart();

  // What a job with these tasks knew, and all that its search did.
  struct Course {
    std::string knowledge;
    std::string story;
    bool operator==(const Course&) const = default;
  };
  // One whole job; with `limit`, cancelled after so many results.
  Course RunJob(uint64_t seed, std::vector<int64_t> sizes, int64_t limit = INT64_MAX);

  static proto::SubmitJobRequest Request(int64_t trials);
  static proto::SubmitJobRequest WithSeed(proto::SubmitJobRequest request, uint64_t seed);
  std::string Submit(int64_t trials);
  Result<proto::SynchronizeReply> Call(const proto::SynchronizeRequest& request);
  static proto::SynchronizeRequest Hello();
  // Runs trials until the job ends or `limit` results are acknowledged.
  int64_t Work(const std::string& job, int64_t limit = INT64_MAX);
  // Sends `bad` for every trial until the job has ended; how many results were refused.
  int SendUntilTheEnd(const std::string& job, const proto::Measurement& bad);

  tests::SkippingClock clock_;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  int64_t configs_ = 1000;
  int64_t lease_ms_ = 30'000;
  Quotas quotas_;
  RosterTerms names_;
  HealthTerms health_;
  StrategyFactory strategy_;  // instead of the fake one
  int search_threads_ = 1;
  bool own_stories_ = false;
  std::function<void(uint64_t seed)> before_start_;  // of a search, on its thread
  std::shared_ptr<std::string> story_ = std::make_shared<std::string>();
  size_t priors_ = 0;
  size_t related_ = 0;
  size_t models_ = 0;
  std::string knowledge_;
  std::unique_ptr<WireTuner> tuner_;
};

}  // namespace mlc::server
