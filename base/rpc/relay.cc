#include "base/rpc/relay.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/steady_time.h"

namespace mlc::transport {
namespace {

constexpr size_t kChunk = 16 << 10;  // so the next one's turn comes soon
constexpr int kPausedMs = 10;
constexpr int kCheckMs = 500;
constexpr int64_t kStopMs = 1'000;
// How long a peer may take to read the last bytes of gRPC.
constexpr int64_t kFlushMs = 10'000;
constexpr int kEvents = 256;

// Abstract socket names are visible to the whole host: use an unpredictable one.
std::string RandomName() {
  uint64_t number = 0;
  (void)!getrandom(&number, sizeof(number), 0);
  return "mlc-" + std::to_string(number) + "-";
}

bool Later(ssize_t sent) { return sent < 0 && (errno == EAGAIN || errno == EINTR); }

// What could not be sent stays in `rest`. False: the peer is gone.
bool Send(int fd, const char* data, size_t size, std::string& rest) {
  const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !Later(sent)) return false;
  const size_t gone = sent < 0 ? 0 : static_cast<size_t>(sent);
  rest.assign(data + gone, size - gone);
  return true;
}

bool Flush(int fd, std::string& rest) {
  if (rest.empty()) return true;
  const std::string data = std::exchange(rest, std::string());
  return Send(fd, data.data(), data.size(), rest);
}

}  // namespace

struct Relay::Link {
  Link(uint64_t number, Descriptor connection, InboundLimiter::Account begun)
      : id(number),
        address(SourceOf(connection.get())),
        outer(std::move(connection)),
        account(begun) {}

  const uint64_t id;
  const std::string address;  // see SourceOf
  Descriptor outer;           // the connection
  Descriptor inner;           // gRPC's, from the first byte on
  std::string up;             // read, and not passed on yet
  std::string down;
  bool outer_ended = false;
  int64_t inner_ended_ms = -1;  // since when, if it has
  bool paused = false;
  std::array<uint32_t, 2> watched = {0, 0};
  InboundLimiter::Account account;
  const void* connection = nullptr;  // see Received()
};

Result<std::unique_ptr<Relay>> Relay::Start(RelayOptions options, Taker taker) {
  Descriptor poll(epoll_create1(EPOLL_CLOEXEC));
  Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event = {};
  event.events = EPOLLIN;
  if (poll.get() < 0 || stop.get() < 0 ||
      epoll_ctl(poll.get(), EPOLL_CTL_ADD, stop.get(), &event) != 0) {
    return ResourceExhausted("no free descriptor for the connections");
  }
  std::unique_ptr<Relay> relay(
      new Relay(options, std::move(taker), std::move(poll), std::move(stop)));
  relay->thread_ = std::thread([&relay = *relay] { relay.Run(); });
  return relay;
}

Relay::Relay(RelayOptions options, Taker taker, Descriptor poll, Descriptor stop)
    : options_(options),
      taker_(std::move(taker)),
      poll_(std::move(poll)),
      stop_(std::move(stop)),
      names_(RandomName()),
      limiter_(options.terms, NowMs()),
      buffer_(kChunk) {}

Relay::~Relay() { Stop(); }

void Relay::Take(int fd) {
  std::lock_guard lock(mutex_);
  Descriptor outer(fd);
  if (stopping_) return;
  if (options_.limit_unauthenticated && ++unauthenticated_ > options_.max_unauthenticated)
    MakeRoom();
  const uint64_t id = ++numbers_;
  const InboundLimiter::Account account(options_.terms, !options_.limit_unauthenticated, NowMs());
  auto link = std::make_unique<Link>(id, std::move(outer), account);
  Watch(*links_.emplace(id, std::move(link)).first->second);
}

void Relay::Received(std::string_view peer, const void* connection, size_t bytes) {
  const size_t at = peer.find(names_);
  if (at == std::string_view::npos) return;
  const std::string_view digits = peer.substr(at + names_.size());
  uint64_t id = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), id);
  std::lock_guard lock(mutex_);
  const auto link = links_.find(id);
  if (link == links_.end()) return;
  limiter_.Attribute(link->second->account, static_cast<int64_t>(bytes), NowMs());
  if (connection == nullptr || link->second->connection != nullptr) return;
  link->second->connection = connection;
  by_connection_[connection] = id;
}

void Relay::Opened(const void* connection) {
  std::lock_guard lock(mutex_);
  const auto known = by_connection_.find(connection);
  if (known == by_connection_.end()) return limiter_.OpenUnauthenticated();
  limiter_.Open(links_.at(known->second)->account, NowMs());
}

Relay::Counts Relay::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

std::string Relay::last_flood() const {
  std::lock_guard lock(mutex_);
  return last_flood_;
}

size_t Relay::size() const {
  std::lock_guard lock(mutex_);
  return links_.size();
}

void Relay::StopHandingOver() {
  std::lock_guard lock(mutex_);
  hands_over_ = false;
}

void Relay::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    end_ms_ = NowMs() + kStopMs;
  }
  (void)eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  links_.clear();
  by_connection_.clear();
}

void Relay::Run() {
  std::array<epoll_event, kEvents> events;
  int64_t checked_ms = NowMs();
  for (;;) {
    int timeout_ms = kCheckMs;
    {
      std::lock_guard lock(mutex_);
      if (Done()) return;
      if (any_paused_ || stopping_) timeout_ms = kPausedMs;
    }
    const int count = epoll_wait(poll_.get(), events.data(), kEvents, timeout_ms);
    std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      Handle(event.data.u64, event.events);
    }
    WakePaused();
    if (NowMs() - checked_ms < kCheckMs) continue;
    checked_ms = NowMs();
    CheckLinks();
  }
}

// REQUIRES mutex_, as all that follow.
bool Relay::Done() const {
  if (!stopping_) return false;
  const auto speaks = [](const auto& entry) { return entry.second->inner.get() >= 0; };
  return NowMs() > end_ms_ || std::ranges::none_of(links_, speaks);
}

void Relay::Handle(uint64_t tag, uint32_t events) {
  if (tag == 0) {
    uint64_t ignored = 0;
    (void)!read(stop_.get(), &ignored, sizeof(ignored));
    return;
  }
  const auto found = links_.find(tag / 2);
  if (found == links_.end()) return;
  Link& link = *found->second;
  bool good = true;
  if (tag % 2 == static_cast<uint64_t>(Side::kOuter)) {
    // Closed in both directions: no peer is left to read the rest.
    good = (events & (EPOLLHUP | EPOLLERR)) == 0;
    if (good && (events & EPOLLOUT) != 0) good = Flush(link.outer.get(), link.down) && Down(link);
    if (good && (events & EPOLLIN) != 0) good = Up(link);
  } else {
    if ((events & EPOLLOUT) != 0) good = Flush(link.inner.get(), link.up);
    // A closed socket still has what was said last.
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) link.inner_ended_ms = NowMs();
    if (good && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) good = Down(link);
  }
  good ? Watch(link) : Close(link.id);
}

// From the connection to gRPC, one piece. False: it has ended.
bool Relay::Up(Link& link) {
  if (!link.up.empty() || link.outer_ended) return true;
  const int64_t now_ms = NowMs();
  const int64_t allowed = limiter_.AllowedBytes(link.account, now_ms);
  if (allowed <= 0) {
    link.paused = any_paused_ = true;
    return true;
  }
  const size_t most = std::min(kChunk, static_cast<size_t>(allowed));
  const ssize_t got = recv(link.outer.get(), buffer_.data(), most, MSG_DONTWAIT);
  if (Later(got)) return true;
  if (got < 0) return false;
  if (got == 0) {
    link.outer_ended = true;
    return link.inner.get() >= 0 && shutdown(link.inner.get(), SHUT_WR) == 0;
  }
  limiter_.RecordBytes(link.account, got, now_ms);
  if (link.inner.get() < 0 && !Open(link)) return false;
  return Send(link.inner.get(), buffer_.data(), static_cast<size_t>(got), link.up);
}

// Hands gRPC its end, whose peer has a name by which calls are known.
bool Relay::Open(Link& link) {
  std::array<int, 2> pair = {-1, -1};
  if (!hands_over_ ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
    return false;
  }
  link.inner = Descriptor(pair[0]);
  Descriptor theirs(pair[1]);
  const std::string name = names_ + std::to_string(link.id);
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(link.inner.get(), reinterpret_cast<const sockaddr*>(&where), size) != 0) return false;
  taker_(theirs.Release());
  return true;
}

// From gRPC to the connection, until there is no more or the peer does not read. False: gRPC has
// ended it, and has been heard.
bool Relay::Down(Link& link) {
  while (link.down.empty()) {
    const ssize_t got = recv(link.inner.get(), buffer_.data(), kChunk, MSG_DONTWAIT);
    if (Later(got)) return true;
    if (got <= 0) return false;
    if (!Send(link.outer.get(), buffer_.data(), static_cast<size_t>(got), link.down)) return false;
  }
  return true;
}

void Relay::Watch(Link& link) {
  const bool listens = !link.outer_ended && link.up.empty() && !link.paused;
  WatchSide(link, Side::kOuter,
            (listens ? uint32_t{EPOLLIN} : 0) | (link.down.empty() ? 0 : uint32_t{EPOLLOUT}));
  if (link.inner.get() < 0) return;
  // Its end would be told again and again while the connection takes the rest.
  const uint32_t inner =
      (link.down.empty() ? uint32_t{EPOLLIN} : 0) | (link.up.empty() ? 0 : uint32_t{EPOLLOUT});
  WatchSide(link, Side::kInner, link.inner_ended_ms >= 0 ? 0 : inner);
}

void Relay::WatchSide(Link& link, Side side, uint32_t wanted) {
  const auto place = static_cast<size_t>(side);
  // A side that is not watched for anything still tells its end: out with it if that is known.
  const bool out = side == Side::kInner && link.inner_ended_ms >= 0;
  uint32_t& watched = link.watched[place];
  const uint32_t mark = uint32_t{1} << 27;  // watched at all
  const uint32_t next = out ? 0 : wanted | mark;
  if (next == watched) return;
  const int fd = side == Side::kOuter ? link.outer.get() : link.inner.get();
  epoll_event event = {};
  event.events = wanted;
  event.data.u64 = link.id * 2 + place;
  const int change = out ? EPOLL_CTL_DEL : watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  (void)epoll_ctl(poll_.get(), change, fd, &event);
  watched = next;
}

void Relay::WakePaused() {
  if (!any_paused_) return;
  any_paused_ = false;
  // Each one's turn is first some time; but of those known, who owes least goes first, so that
  // small requests do not wait for floods.
  std::vector<uint64_t> waiting;
  for (const auto& [id, link] : links_) {
    if (link->paused) waiting.push_back(id);
  }
  const auto first = std::ranges::lower_bound(waiting, first_paused_);
  std::rotate(waiting.begin(), first, waiting.end());
  std::ranges::stable_sort(waiting, {},
                           [this](uint64_t id) { return limiter_.Owed(links_.at(id)->account); });
  for (const uint64_t id : waiting) {
    Link& link = *links_.at(id);
    link.paused = false;
    if (!Up(link)) {
      Close(id);
      continue;
    }
    if (link.paused) {
      any_paused_ = true;
    } else {
      first_paused_ = id + 1;
    }
    Watch(link);
  }
}

void Relay::CheckLinks() {
  const int64_t now_ms = NowMs();
  unauthenticated_ = 0;
  for (auto next = links_.begin(); next != links_.end();) {
    // One by one: the end of one may be all that the others wait for.
    const auto& [id, link] = *next++;
    const InboundLimiter::Decision decision = limiter_.Check(link->account, now_ms);
    const bool left = link->inner_ended_ms >= 0 && now_ms - link->inner_ended_ms > kFlushMs;
    if (decision == InboundLimiter::Decision::kKeep && !left) {
      unauthenticated_ += link->account.authenticated ? 0 : 1;
      continue;
    }
    if (decision == InboundLimiter::Decision::kSilent) ++counts_.silent;
    if (decision == InboundLimiter::Decision::kUnauthenticatedTimeout) ++counts_.unauthenticated;
    if (decision == InboundLimiter::Decision::kFlood) {
      ++counts_.floods;
      last_flood_ = link->address;
    }
    Close(id);
  }
}

// Closes the oldest unauthenticated connection of the address that has most of them.
void Relay::MakeRoom() {
  std::map<std::string_view, int> by_address;
  unauthenticated_ = 1;  // the one that comes
  for (const auto& [id, link] : links_) {
    if (link->account.authenticated) continue;
    ++unauthenticated_;
    ++by_address[link->address];
  }
  if (unauthenticated_ <= options_.max_unauthenticated) return;
  const auto most =
      std::ranges::max_element(by_address, {}, [](const auto& entry) { return entry.second; });
  const auto oldest = std::ranges::find_if(links_, [&](const auto& entry) {
    return !entry.second->account.authenticated && entry.second->address == most->first;
  });
  ++counts_.evicted;
  --unauthenticated_;
  Close(oldest->first);
}

void Relay::Close(uint64_t id) {
  const auto link = links_.find(id);
  limiter_.Close(link->second->account);
  // The name may belong to a newer connection by now.
  const auto known = by_connection_.find(link->second->connection);
  if (known != by_connection_.end() && known->second == id) by_connection_.erase(known);
  links_.erase(link);
}

}  // namespace mlc::transport
