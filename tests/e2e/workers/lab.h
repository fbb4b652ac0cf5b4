// A server and workers as processes in a folder of their own, and the calls that tests make of
// them. For one thread. The folder and every process are gone with the fixture.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"

namespace mlc::e2e {

inline constexpr std::chrono::seconds kTimeout(240);

class Lab : public ::testing::Test {
 protected:
  Lab();
  ~Lab() override;

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Address() const { return "unix:" + Path("socket"); }
  static std::string Program(const std::string& name);

  // Starts the server with these flags beside its log and address, and waits until it answers.
  void StartServer(const std::vector<std::string>& flags);
  // Submits a job of these workloads, once each, in batches of `batch`; returns its name.
  std::string Submit(const std::vector<std::string>& workloads, const std::string& target,
                     int64_t trials, int64_t batch);
  proto::JobProgress Progress(const std::string& job);
  // What the server lists of a worker; empty if it knows none of that name.
  proto::WorkerLine Line(const std::string& worker);

  // False after the timeout.
  template <typename Condition>
  static bool WaitFor(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  bool WaitForEnd(const std::string& job) {
    return WaitFor([&] { return Progress(job).state() == proto::DONE; });
  }

  // All that the processes have said.
  std::string AllMessages() const;
  // The end of it, for a failed test.
  std::string Messages() const;
  bool Said(const std::string& words) const {
    return AllMessages().find(words) != std::string::npos;
  }

  std::string folder_;
  pid_t server_ = -1;
  pid_t one_ = -1;
  pid_t two_ = -1;
  std::unique_ptr<proto::Workers::Stub> workers_;
  std::unique_ptr<proto::Tuner::Stub> tuner_;
};

}  // namespace mlc::e2e
