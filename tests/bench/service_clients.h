// Those who ask a server for something while it works: people whose jobs never run out, and builds
// that ask for the best configs of whole models.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/tuner.grpc.pb.h"
#include "tests/bench/service_host.h"

namespace mlc::bench {

struct JobsOptions {
  int first = 0;            // number of the first one: other numbers, other workloads
  int running = 24;         // at any time, of all users together
  int tasks = 8;            // of each job: products of a transformer, other sizes for each job
  int64_t trials = 20'000;  // of each job
  int batch = 32;
  std::string target;  // full text
};

// Submits another job for each that ends. Thread-safe.
class JobSupply {
 public:
  JobSupply(const ServiceHost& host, JobsOptions options);
  ~JobSupply();

  // Digests of the workloads of a job that was submitted.
  std::vector<std::string> Model(uint64_t choice) const;
  int submitted() const { return submitted_; }
  // CPU that the trials of ended jobs never needed: why they ended early; empty if none did.
  std::string WhyEarly() const;

 private:
  void Loop();
  Status SubmitOne();
  int RunningNow();

  const JobsOptions options_;
  std::vector<std::unique_ptr<proto::Tuner::Stub>> users_;
  mutable std::mutex mutex_;
  std::vector<std::vector<std::string>> models_;
  std::string why_early_;
  std::atomic<int> submitted_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// Calls at fixed moments, whatever becomes of the ones before. Thread-safe.
class BestLoad {
 public:
  BestLoad(const ServiceHost& host, const JobSupply& jobs, std::string target_class,
           double calls_per_second);
  ~BestLoad();  // waits for the calls under way

  struct Seen {
    int64_t calls = 0;
    int64_t failed = 0;
    int64_t configs = 0;             // that were found
    std::vector<double> latency_ms;  // from the moment at which the call was to be made
  };
  Seen Take();

 private:
  struct Call;
  void Loop();
  void Start(double due_ms);

  const JobSupply& jobs_;
  const std::string target_class_;
  const double calls_per_second_;
  std::vector<std::unique_ptr<proto::Tuner::Stub>> stubs_;
  std::mutex mutex_;
  Seen seen_;
  uint64_t started_ = 0;
  std::atomic<int64_t> open_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace mlc::bench
