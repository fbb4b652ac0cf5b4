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

inline constexpr std::chrono::seconds kPatience(150);

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
  // Waits for the condition; false, with the server's last words as a failure, after kPatience.
  bool Await(const std::string& what, const std::function<bool()>& condition) const;
  // The last figures that the server told of a pool.
  struct Figures {
    int wanted = -1, placed = -1, attached = -1;
  };
  Figures Pool(const std::string& pool) const;
  bool AwaitAttached(int workers) const;

  std::string folder_;
  std::string address_;
  pid_t server_ = -1;
  pid_t tune_ = -1;
};

}  // namespace mlc::fleet_e2e
