// An mlc-server with a fleet, and jobs for it, as processes. The test's folder and all processes
// end with it.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mlc::fleet_e2e {

inline constexpr std::chrono::seconds kTimeout(240);

class FleetFixture : public ::testing::Test {
 protected:
  FleetFixture();
  ~FleetFixture() override;

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Program(const std::string& name);

  // Writes fleet.json, starts the server and waits until it listens. A second call starts another
  // one at the same address, over the same log.
  void StartServer(const std::string& kind, const nlohmann::json& config);
  void KillServer();
  int StopServer();
  // mlc-tune with a small model against the server; returns its process.
  pid_t Tune(int trials);
  int WaitForTune();

  // All the server has said.
  std::string Said() const;
  // Waits for the condition; false, with the server's last words as a failure, after kTimeout.
  bool Await(const std::string& what, const std::function<bool()>& condition) const;
  // What the server that was started last told of a pool, the newest last.
  struct Figures {
    int wanted = -1, placed = -1, attached = -1;
    bool AllAttached(int workers) const { return placed == workers && attached == workers; }
  };
  std::vector<Figures> Pool(const std::string& pool) const;
  // So many now, or ever.
  bool AwaitAttached(int workers) const;
  bool WereAttached(int workers) const;

  std::string folder_;
  std::string address_;
  size_t said_before_ = 0;  // by the servers before this one
  pid_t server_ = -1;
  pid_t tune_ = -1;
};

}  // namespace mlc::fleet_e2e
