#include "tests/slurm/private_slurm.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>

namespace mlc::slurm {

PrivateSlurm::PrivateSlurm(std::string folder, int nodes) : folder_(std::move(folder)) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  std::array<int, 2> in, out;
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    trouble_ = "no pipes";
    return;
  }
  const std::string script = std::string(MLC_SOURCE_DIR) + "/tests/slurm/private_slurm.sh";
  const std::string count = std::to_string(nodes);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl(script.c_str(), script.c_str(), folder_.c_str(), count.c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  const std::string line = ReadLine();
  if (line != "ready") trouble_ = line.empty() ? "Slurm does not start" : line;
}

PrivateSlurm::~PrivateSlurm() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool PrivateSlurm::Do(const std::string& command) {
  const std::string line = command + "\n";
  if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return false;
  return ReadLine() == "ok";
}

std::string PrivateSlurm::Run(const std::string& command) const {
  const std::string line = "SLURM_CONF=" + conf() + " timeout 20 " + command + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  pclose(pipe);
  return text;
}

std::string PrivateSlurm::ReadLine() {
  std::string line;
  for (char c = 0; read(from_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace mlc::slurm
