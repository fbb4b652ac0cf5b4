// An mlc-server process under load: its certificates, its address, and what it costs. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>

#include "base/status.h"

namespace mlc::bench {

inline constexpr const char* kUsers[] = {"ada", "grace", "emmy"};

class ServiceHost {
 public:
  // Makes an authority and certificates for the worker `lab` and the people of kUsers in `folder`,
  // unless they are there, and starts the server on `folder`/tuning.db behind mTLS, on a port of
  // loopback.
  static Result<std::unique_ptr<ServiceHost>> Start(const std::string& bin,
                                                    const std::string& folder,
                                                    const std::vector<std::string>& more);
  ~ServiceHost();  // SIGKILL if it still runs

  // A connection of its own, whatever others there are. `who` is "work-lab" or "submit-USER".
  std::shared_ptr<grpc::Channel> Connect(const std::string& who, int number) const;
  std::string log() const { return folder_ + "/tuning.db"; }

  struct Cost {
    double cpu_s = 0;  // of all its threads, since its start
    double resident_mib = 0;
    double most_mib = 0;  // ever
    int threads = 0;
  };
  Cost CostNow() const;
  // SIGTERM, then its exit code.
  int Stop();

 private:
  ServiceHost() = default;

  std::string folder_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace mlc::bench
