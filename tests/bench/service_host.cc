#include "tests/bench/service_host.h"

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/crash/process.h"

namespace mlc::bench {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Status MakeCertificates(const std::string& folder) {
  if (std::filesystem::exists(folder + "/work-lab.pem")) return Status();
  std::vector<std::string> makes = {"ca", "server localhost 127.0.0.1"};
  for (const char* user : kUsers) makes.push_back(std::string("submit ") + user);
  makes.push_back("work lab");
  for (const std::string& what : makes) {
    const std::string command = MLC_SOURCE_DIR "/deploy/certificates.sh '" + folder + "' " + what;
    if (std::system(command.c_str()) != 0) return Internal(command + " failed");
  }
  return Status();
}

// Servers say in their first words where they listen.
Result<std::string> AddressIn(const std::string& words_path, pid_t pid) {
  for (;;) {
    const std::string words = ReadAll(words_path);
    const size_t at = words.find("listening ");
    const size_t end = at == std::string::npos ? at : words.find('\n', at);
    if (end != std::string::npos) return words.substr(at + 10, end - at - 10);
    if (!crash::Running(pid)) return Internal("mlc-server ended: " + words);
    usleep(10'000);
  }
}

}  // namespace

Result<std::unique_ptr<ServiceHost>> ServiceHost::Start(const std::string& bin,
                                                        const std::string& folder,
                                                        const std::vector<std::string>& more) {
  std::filesystem::create_directories(folder);
  MLC_TRY(MakeCertificates(folder));
  std::unique_ptr<ServiceHost> host(new ServiceHost);
  host->folder_ = folder;
  const std::string words = folder + "/server.words";
  std::filesystem::remove(words);
  std::vector<std::string> command = {bin + "/mlc-server",
                                      "--log",
                                      host->log(),
                                      "--listen",
                                      "127.0.0.1:0",
                                      "--tls-cert",
                                      folder + "/server.pem",
                                      "--tls-key",
                                      folder + "/server.key",
                                      "--tls-ca",
                                      folder + "/ca.pem",
                                      "--log-file",
                                      folder + "/server.log"};
  command.insert(command.end(), more.begin(), more.end());
  host->pid_ = crash::Spawn(command, words);
  host->address_ = MLC_TRY(AddressIn(words, host->pid_));
  return host;
}

ServiceHost::~ServiceHost() {
  if (pid_ > 0) crash::Kill(pid_);
}

std::shared_ptr<grpc::Channel> ServiceHost::Connect(const std::string& who, int number) const {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ReadAll(folder_ + "/ca.pem");
  tls.pem_cert_chain = ReadAll(folder_ + "/" + who + ".pem");
  tls.pem_private_key = ReadAll(folder_ + "/" + who + ".key");
  grpc::ChannelArguments arguments;
  // Otherwise channels of one process share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt("mlc.bench.number", number);
  return grpc::CreateCustomChannel(address_, grpc::SslCredentials(tls), arguments);
}

ServiceHost::Cost ServiceHost::CostNow() const {
  Cost cost;
  const std::string process = "/proc/" + std::to_string(pid_);
  std::istringstream stat(ReadAll(process + "/stat"));
  std::string word;
  double ticks = 0;
  for (int field = 1; field <= 15 && stat >> word; ++field) {
    if (field >= 14) ticks += std::atof(word.c_str());
  }
  cost.cpu_s = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::istringstream status(ReadAll(process + "/status"));
  for (std::string line; std::getline(status, line);) {
    const double value = std::atof(line.c_str() + line.find(':') + 1);
    if (line.starts_with("VmRSS:")) cost.resident_mib = value / 1024;
    if (line.starts_with("VmHWM:")) cost.most_mib = value / 1024;
    if (line.starts_with("Threads:")) cost.threads = static_cast<int>(value);
  }
  return cost;
}

int ServiceHost::Stop() {
  kill(pid_, SIGTERM);
  const int code = crash::Wait(pid_);
  pid_ = -1;
  return code;
}

}  // namespace mlc::bench
