#include "tests/e2e/fleet/fleet_fixture.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/crash/process.h"

namespace mlc::fleet_e2e {

FleetFixture::FleetFixture()
    : folder_(std::filesystem::temp_directory_path() /
              ("mlc-fleet-e2e-" + std::to_string(getpid()))) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  // Workers of batch jobs inherit it by way of the server.
  setenv("FAKE_WORKER_ACKS", Path("acks").c_str(), 1);
  std::ofstream(Path("tiny.onnx"), std::ios::binary) << crash::TinyModel();
}

FleetFixture::~FleetFixture() {
  if (tune_ > 0) crash::Kill(tune_);
  KillServer();
  std::filesystem::remove_all(folder_);
}

std::string FleetFixture::Program(const std::string& name) {
  return std::string(MLC_BINARY_DIR) + "/" + name;
}

void FleetFixture::StartServer(const std::string& kind, const nlohmann::json& config) {
  std::ofstream(Path("fleet.json")) << config.dump(2);
  std::filesystem::remove(Path("server.out"));
  said_before_ = Said().size();
  server_ = crash::Spawn(
      {Program("bin/mlc-server"), "--log", Path("tuning.db"), "--listen",
       address_.empty() ? "127.0.0.1:0" : address_, "--log-file", Path("server.log"), "--lease-ms",
       "10000", "--grace-ms", "10000", "--fleet", kind, "--fleet-config", Path("fleet.json")},
      Path("server.out"));
  const std::string mark = "listening ";
  const bool listens = Await("the server listens", [&] {
    std::ifstream file(Path("server.out"));
    std::string line;
    while (std::getline(file, line) && !file.eof()) {
      if (line.starts_with(mark)) address_ = line.substr(mark.size());
      if (line.starts_with(mark)) return true;
    }
    return !crash::Running(server_);
  });
  ASSERT_TRUE(listens && !address_.empty());
}

void FleetFixture::KillServer() {
  if (server_ > 0) crash::Kill(server_);
  server_ = -1;
}

int FleetFixture::StopServer() {
  kill(server_, SIGTERM);
  const int code = crash::Wait(server_);
  server_ = -1;
  return code;
}

pid_t FleetFixture::Tune(int trials) {
  tune_ = crash::Spawn({Program("bin/mlc-tune"), "--model", Path("tiny.onnx"), "--trials",
                        std::to_string(trials), "--server", address_, "--threads", "2", "--json"},
                       Path("tune.out"));
  return tune_;
}

int FleetFixture::WaitForTune() {
  const int code = crash::Wait(tune_);
  tune_ = -1;
  return code;
}

std::string FleetFixture::Said() const {
  std::ifstream file(Path("server.log"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool FleetFixture::Await(const std::string& what, const std::function<bool()>& condition) const {
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      const std::string said = Said();
      ADD_FAILURE() << "it never happens that " << what << "\n"
                    << said.substr(said.size() > 4000 ? said.size() - 4000 : 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

std::vector<FleetFixture::Figures> FleetFixture::Pool(const std::string& pool) const {
  const std::string said = Said().substr(said_before_);
  const std::string mark = "fleet: pool " + pool + ": ";
  std::vector<Figures> figures;
  for (size_t at = said.find(mark); at != std::string::npos; at = said.find(mark, at + 1)) {
    Figures read;
    const int count =
        std::sscanf(said.c_str() + at + mark.size(), "%d wanted, %d placed, %d in contact",
                    &read.wanted, &read.placed, &read.attached);
    if (count == 3) figures.push_back(read);
  }
  return figures;
}

bool FleetFixture::AwaitAttached(int workers) const {
  return Await(std::to_string(workers) + " workers are in contact", [&] {
    const std::vector<Figures> figures = Pool("cpu");
    return !figures.empty() && figures.back().AllAttached(workers);
  });
}

bool FleetFixture::WereAttached(int workers) const {
  return std::ranges::any_of(Pool("cpu"), [&](const Figures& f) { return f.AllAttached(workers); });
}

}  // namespace mlc::fleet_e2e
