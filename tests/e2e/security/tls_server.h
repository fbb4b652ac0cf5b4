// mlc-server behind TLS as a process of its own, for tests that call it. A fixture of one test.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/rpc/channel.h"
#include "tests/crash/process.h"
#include "tests/unit/base/rpc/lab.h"

namespace mlc::e2e {

inline constexpr char kBin[] = MLC_BINARY_DIR "/bin/";

class SecurityTest : public ::testing::Test {
 protected:
#if defined(__SANITIZE_THREAD__)
  void SetUp() override { GTEST_SKIP() << "gRPC's own locks are not instrumented"; }
#endif
  SecurityTest() : lab_(::testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~SecurityTest() override {
    if (server_ > 0) crash::Kill(server_);
  }

  void Start(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {std::string(kBin) + "mlc-server",
                                      "--log",
                                      lab_.path("tuning.db"),
                                      "--listen",
                                      address_.empty() ? "127.0.0.1:0" : address_,
                                      "--tls-cert",
                                      lab_.path("server.pem"),
                                      "--tls-key",
                                      lab_.path("server.key"),
                                      "--tls-ca",
                                      lab_.path("ca.pem"),
                                      "--metrics",
                                      "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    server_ = crash::Spawn(words, lab_.path("server.log"));
    WaitForWords("listening ");
    const std::string words_so_far = Words();
    const size_t at = words_so_far.find("listening ") + 10;
    address_ = words_so_far.substr(at, words_so_far.find('\n', at) - at);
  }
  std::string Words() const {
    std::ifstream file(lab_.path("server.log"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void WaitForWords(const std::string& words, size_t times = 1) const {
    for (;;) {
      const std::string text = Words();
      size_t seen = 0;
      for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
        ++seen;
      }
      if (seen >= times) return;
      ASSERT_TRUE(crash::Running(server_)) << text;
      usleep(10'000);
    }
  }
  transport::ChannelOptions As(const std::string& who) const {
    return {address_, lab_.tls(who), "", ""};
  }
  // Starts a program that calls the server with the certificate of `who`.
  pid_t Call(const std::string& program, const std::string& who,
             const std::vector<std::string>& more) const {
    std::vector<std::string> words = {kBin + program,
                                      "--server",
                                      address_,
                                      "--tls-ca",
                                      lab_.path("ca.pem"),
                                      "--tls-cert",
                                      lab_.path(who + ".pem"),
                                      "--tls-key",
                                      lab_.path(who + ".key")};
    words.insert(words.end(), more.begin(), more.end());
    return crash::Spawn(words, lab_.path(who + ".log"));
  }
  // What programs of `who` wrote.
  std::string Said(const std::string& who) const {
    std::ifstream file(lab_.path(who + ".log"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  int64_t Descriptors() const {
    int64_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(server_) + "/fd")) {
      ++count;
    }
    return count;
  }
  int64_t ResidentKib() const {
    std::ifstream file("/proc/" + std::to_string(server_) + "/status");
    std::string line;
    while (std::getline(file, line)) {
      if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    }
    return 0;
  }

  transport::Lab lab_;
  pid_t server_ = -1;
  std::string address_;
};

}  // namespace mlc::e2e
