#include "base/rpc/acceptor.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mlc::transport {
namespace {

constexpr rlim_t kWantedDescriptors = 65'536;
constexpr rlim_t kFewestDescriptors = 4'096;
// For the log, snapshots, metrics and whatever else the process opens.
constexpr int64_t kReserve = 256;
constexpr int kShortageMs = 100;

void Prepare(int fd) {
  const int on = 1;
  // Fails on Unix sockets, which need none of it.
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& address,
                                                   AcceptorOptions options) {
  std::string bound;
  Descriptor listener = MLC_TRY(ListenOn(address, bound));
  Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (stop.get() < 0) return ResourceExhausted("no free descriptor for the listener");
  return std::unique_ptr<Acceptor>(
      new Acceptor(std::move(bound), std::move(listener), std::move(stop), options));
}

Acceptor::Acceptor(std::string address, Descriptor listener, Descriptor stop,
                   AcceptorOptions options)
    : address_(std::move(address)),
      options_(options),
      listener_(std::move(listener)),
      stop_(std::move(stop)) {}

void Acceptor::Start(Taker taker) {
  thread_ = std::thread([this, taker = std::move(taker)] { Run(taker); });
}

void Acceptor::Stop() {
  if (listener_.get() < 0) return;
  (void)eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
  listener_.Close();
  if (address_.starts_with("unix:")) (void)unlink(address_.c_str() + 5);
}

bool Acceptor::MayAccept() {
  const int64_t limit =
      options_.max_descriptors > 0 ? options_.max_descriptors : DescriptorLimit() - kReserve;
  if (counted_ && open_at_most_ < limit) return true;
  // gRPC closes connections without telling: count anew.
  open_at_most_ = OpenDescriptors();
  counted_ = true;
  return open_at_most_ < limit;
}

void Acceptor::Run(const Taker& taker) {
  for (;;) {
    pollfd waiting[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    // In a shortage the queue stays full: look at the clock instead.
    const nfds_t watched = short_ ? 1 : 2;
    (void)poll(waiting, watched, short_ ? kShortageMs : -1);
    if (waiting[0].revents != 0) return;
    const bool was_short = std::exchange(short_, !MayAccept());
    if (short_) {
      if (!was_short) ++shortages_;
      continue;
    }
    const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      ++accepted_;
      open_at_most_ += options_.descriptors_each;
      Prepare(fd);
      taker(listener_.get(), fd);
      continue;
    }
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (exhausted && !was_short) ++shortages_;
    short_ = exhausted;
    if (exhausted) counted_ = false;
  }
}

int64_t OpenDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  // None is left to count with.
  if (folder == nullptr) return DescriptorLimit();
  int64_t count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count - 1;  // the folder's own
}

int64_t DescriptorLimit() {
  rlimit limit = {};
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

Status RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Status();
  const rlim_t wanted = std::min(limit.rlim_max, kWantedDescriptors);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= kFewestDescriptors) return Status();
  return ResourceExhausted("this process may open " + std::to_string(limit.rlim_cur) +
                           " files, a server needs " + std::to_string(kFewestDescriptors) +
                           ": raise it with `ulimit -n`, or LimitNOFILE= of its systemd unit");
}

}  // namespace mlc::transport
