// The certificates of a small lab, made by deploy/certificates.sh in a folder that goes away.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/rpc/channel.h"

namespace mlc::transport {

class Lab {
 public:
  explicit Lab(const std::string& name) : folder_(::testing::TempDir() + "/mlc-lab-" + name) {
    std::filesystem::remove_all(folder_);
    Make("ca");
    Make("server localhost 127.0.0.1");
  }
  ~Lab() { std::filesystem::remove_all(folder_); }

  // Runs the script; `environment` may set DAYS.
  void Make(const std::string& what, const std::string& environment = "") const {
    const std::string command =
        environment + " " MLC_SOURCE_DIR "/deploy/certificates.sh " + folder_ + " " + what;
    if (std::system(command.c_str()) != 0) std::abort();
  }
  std::string path(const std::string& file) const { return folder_ + "/" + file; }
  // Of one who has this certificate; nobody's if `who` is empty.
  TlsPaths tls(const std::string& who) const {
    if (who.empty()) return {"", "", path("ca.pem")};
    return {path(who + ".pem"), path(who + ".key"), path("ca.pem")};
  }

 private:
  std::string folder_;
};

}  // namespace mlc::transport
