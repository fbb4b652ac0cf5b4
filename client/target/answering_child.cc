#include "client/target/answering_child.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace mlc::client {
namespace {

constexpr int kTimeoutMs = 60'000;

// Everything the child writes until it closes its end; empty after the timeout.
std::string ReadAll(int fd) {
  std::string text;
  char block[512];
  pollfd waiting = {fd, POLLIN, 0};
  while (poll(&waiting, 1, kTimeoutMs) > 0) {
    const ssize_t count = read(fd, block, sizeof(block));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(block, static_cast<size_t>(count));
  }
  return {};
}

}  // namespace

std::string AnswerOfChild(const std::function<std::string()>& ask) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const std::string answer = ask();
    const ssize_t written = write(ends[1], answer.data(), answer.size());
    _exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string answer = child > 0 ? ReadAll(ends[0]) : std::string();
  close(ends[0]);
  if (child > 0) {
    if (answer.empty()) kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return answer;
}

}  // namespace mlc::client
