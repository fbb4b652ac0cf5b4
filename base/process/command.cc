#include "base/process/command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace mlc::server::fleet {
namespace {

constexpr size_t kMostOutput = size_t{64} << 20;
constexpr size_t kMostErrors = 4096;
constexpr int kPollMs = 50;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// A pair of connected sockets: writing to one whose reader is gone is an error, not a signal.
struct Channel {
  Descriptor ours, theirs;
  bool Open() {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
    ours = Descriptor(ends[0]);
    theirs = Descriptor(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& own : more) replaced = replaced || own.starts_with(name);
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

class Child {
 public:
  Child(const Command& command, const std::stop_token& stop) : command_(command), stop_(stop) {}
  ~Child() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  Status Start() {
    if (!in_.Open() || !out_.Open() || !err_.Open()) {
      return Unavailable(std::string("cannot open descriptors for a command: ") + strerror(errno));
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_.theirs.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out_.theirs.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err_.theirs.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // The server blocks and ignores signals that the command shall hear.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const std::vector<std::string> environment = EnvironmentWith(command_.environment);
    const int error = posix_spawnp(&pid_, command_.words[0].c_str(), &files, &attributes,
                                   Pointers(command_.words).data(), Pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    for (Channel* channel : {&in_, &out_, &err_}) channel->theirs.Close();
    if (error == 0) return Status();
    pid_ = -1;
    return Unavailable("cannot run " + command_.words[0] + ": " + strerror(error));
  }

  Result<CommandOutput> Finish() {
    const int64_t deadline = SystemClock().SteadyMs() + command_.timeout_ms;
    CommandOutput result;
    if (command_.input.empty()) in_.ours.Close();
    while (true) {
      if (stop_.stop_requested()) return Status(StatusCode::kCancelled, "the fleet stops");
      if (SystemClock().SteadyMs() > deadline) {
        return Status(
            StatusCode::kDeadlineExceeded,
            command_.words[0] + " took more than " + std::to_string(command_.timeout_ms) + " ms");
      }
      if (result.output.size() > kMostOutput) {
        return InvalidArgument(command_.words[0] + " prints more than 64 MiB");
      }
      if (const std::optional<int> code = Ended()) {
        // Output that a grandchild still prints is dropped.
        (void)Read(out_, result.output);
        (void)Read(err_, result.errors);
        result.code = *code;
        break;
      }
      Exchange(result);
    }
    if (result.errors.size() > kMostErrors) result.errors.resize(kMostErrors);
    return result;
  }

 private:
  std::optional<int> Ended() {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    kill(-pid_, SIGKILL);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void Exchange(CommandOutput& result) {
    std::array<pollfd, 3> waiting = {
        {{in_.ours.get(), POLLOUT, 0}, {out_.ours.get(), POLLIN, 0}, {err_.ours.get(), POLLIN, 0}}};
    (void)poll(waiting.data(), waiting.size(), open_ ? kPollMs : 1);
    if (waiting[0].revents != 0) Write();
    const bool out = Read(out_, result.output);
    const bool err = Read(err_, result.errors);
    open_ = out || err;
    if (!open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void Write() {
    const ssize_t count = send(in_.ours.get(), command_.input.data() + written_,
                               command_.input.size() - written_, MSG_NOSIGNAL);
    if (count > 0) written_ += static_cast<size_t>(count);
    const bool failed = count < 0 && errno != EAGAIN && errno != EINTR;
    if (failed || written_ == command_.input.size()) in_.ours.Close();
  }

  // False at the end.
  static bool Read(Channel& channel, std::string& text) {
    std::array<char, 65536> buffer;
    while (channel.ours.get() >= 0) {
      const ssize_t count = read(channel.ours.get(), buffer.data(), buffer.size());
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      if (count == 0) channel.ours.Close();
      if (text.size() <= kMostOutput) text.append(buffer.data(), static_cast<size_t>(count));
      if (text.size() > kMostOutput) return true;
    }
    return false;
  }

  const Command& command_;
  const std::stop_token& stop_;
  Channel in_, out_, err_;
  pid_t pid_ = -1;
  size_t written_ = 0;
  bool open_ = true;
};

}  // namespace

Result<CommandOutput> RunCommand(const Command& command, const std::stop_token& stop) {
  if (command.words.empty()) return InvalidArgument("an empty command");
  Child child(command, stop);
  MLC_TRY(child.Start());
  return child.Finish();
}

Result<std::string> RunChecked(const Command& command, const std::stop_token& stop) {
  CommandOutput done = MLC_TRY(RunCommand(command, stop));
  if (done.code == 0) return std::move(done.output);
  const std::string first = done.errors.substr(0, done.errors.find('\n'));
  return Unavailable(command.words[0] + " ended with " + std::to_string(done.code) +
                     (first.empty() ? "" : ": " + first));
}

}  // namespace mlc::server::fleet
