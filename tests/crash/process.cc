#include "tests/crash/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace mlc::crash {
namespace {

void PutVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

std::string IntField(int field, uint64_t value) {
  std::string out;
  PutVarint(out, static_cast<uint64_t>(field) << 3);
  PutVarint(out, value);
  return out;
}

std::string Field(int field, const std::string& bytes) {
  std::string out;
  PutVarint(out, static_cast<uint64_t>(field) << 3 | 2);
  PutVarint(out, bytes.size());
  return out + bytes;
}

// ValueInfoProto of an f32 matrix.
std::string Matrix(const std::string& name, int rows, int columns) {
  std::string shape;
  for (int size : {rows, columns}) shape += Field(1, IntField(1, static_cast<uint64_t>(size)));
  const std::string tensor = IntField(1, 1) + Field(2, shape);
  return Field(1, name) + Field(2, Field(1, tensor));
}

}  // namespace

pid_t Spawn(const std::vector<std::string>& arguments, const std::string& messages) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  const int output = open(messages.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const pid_t pid = fork();
  if (pid != 0) {
    close(output);
    return pid;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Whoever runs the tests in the background has them ignored.
  for (const int sent : {SIGINT, SIGHUP}) signal(sent, SIG_DFL);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv(words[0], words.data());
  _exit(127);
}

void Kill(pid_t pid) {
  kill(pid, SIGKILL);
  (void)Wait(pid);
}

int Wait(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool Running(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == 0; }

bool Answers(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return connected;
}

std::string TinyModel() {
  std::string graph;
  int task = 0;
  for (int size : {48, 64, 80, 96, 112}) {
    const std::string n = std::to_string(task++);
    graph +=
        Field(1, Field(1, "a" + n) + Field(1, "b" + n) + Field(2, "c" + n) + Field(4, "MatMul"));
    graph += Field(11, Matrix("a" + n, size, 2 * size));
    graph += Field(11, Matrix("b" + n, 2 * size, 3 * size));
    graph += Field(12, Matrix("c" + n, size, 3 * size));
  }
  graph += Field(2, "tiny");
  return IntField(1, 8) + Field(7, graph) + Field(8, IntField(2, 13));
}

}  // namespace mlc::crash
