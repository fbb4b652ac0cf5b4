#include "base/rpc/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/rpc/acceptor.h"

namespace mlc::transport {
namespace {

// A relay behind a listener, and what it hands over, in the place of gRPC.
class RelayTest : public ::testing::Test {
 protected:
  ~RelayTest() override {
    if (acceptor_ != nullptr) acceptor_->Stop();
  }
  void Start(RelayOptions options) {
    relay_ = *Relay::Start(options, [this](int fd) {
      std::lock_guard lock(mutex_);
      handed_.emplace_back(fd);
      more_.notify_all();
    });
    acceptor_ = *Acceptor::Listen("127.0.0.1:0", {});
    acceptor_->Start([this](int, int fd) { relay_->Take(fd); });
  }
  Descriptor Connect(const std::string& words) {
    Descriptor client = *ConnectTo(acceptor_->address(), 30'000);
    EXPECT_EQ(write(client.get(), words.data(), words.size()), static_cast<ssize_t>(words.size()));
    return client;
  }
  // The oldest that was handed over, made blocking.
  Descriptor Handed() {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [this] { return !handed_.empty(); });
    Descriptor fd = std::move(handed_.front());
    handed_.pop_front();
    timeval limit = {30, 0};
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    const int flags = fcntl(fd.get(), F_GETFL);
    (void)fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK);
    return fd;
  }
  // As gRPC tells it.
  static std::string PeerOf(const Descriptor& fd) {
    sockaddr_un where = {};
    socklen_t size = sizeof(where);
    EXPECT_EQ(getpeername(fd.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
    return "unix-abstract:" +
           std::string(where.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1);
  }
  // So many bytes, or fewer if it ends before.
  static std::string Read(const Descriptor& fd, size_t size) {
    std::string all;
    std::string piece(65'536, '\0');
    while (all.size() < size) {
      const ssize_t got = read(fd.get(), piece.data(), std::min(piece.size(), size - all.size()));
      if (got <= 0) break;
      all.append(piece, 0, static_cast<size_t>(got));
    }
    return all;
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Descriptor> handed_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(RelayTest, PassesBytesOnInBothDirections) {
  Start({.limit_unauthenticated = false, .terms = {}});
  const Descriptor client = Connect("hello");
  const Descriptor server = Handed();
  EXPECT_EQ(Read(server, 5), "hello");
  std::string large(3'000'000, 'x');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 >> 3);
  // Both at once, more than the sockets hold.
  std::thread up([&] { (void)!send(client.get(), large.data(), large.size(), 0); });
  std::thread down([&] { (void)!send(server.get(), large.data(), large.size(), 0); });
  std::string heard;
  std::thread hears([&] { heard = Read(server, large.size()); });
  EXPECT_TRUE(Read(client, large.size()) == large);
  hears.join();
  EXPECT_TRUE(heard == large);
  up.join();
  down.join();
}

TEST_F(RelayTest, TheEndOfOneIsTheEndOfTheOther) {
  Start({.limit_unauthenticated = false, .terms = {}});
  {
    Descriptor client = Connect("a");
    const Descriptor server = Handed();
    EXPECT_EQ(Read(server, 1), "a");
    client.Close();
    EXPECT_EQ(Read(server, 1), "");
  }
  const Descriptor client = Connect("b");
  {
    const Descriptor server = Handed();
    EXPECT_EQ(Read(server, 1), "b");
    EXPECT_EQ(write(server.get(), "last", 4), 4);
  }
  EXPECT_EQ(Read(client, 10), "last") << "what was said before the end is heard";
  while (relay_->size() > 0) usleep(1'000);
}

TEST_F(RelayTest, AnUnauthenticatedConnectionIsNotReadBeyondItsLimit) {
  InboundLimits terms;
  terms.first_bytes = 300;
  terms.rest_burst = 700;
  terms.rest_rate = 0;
  Start({.limit_unauthenticated = true, .terms = terms});
  const Descriptor client = Connect(std::string(5'000, 'x'));
  const Descriptor server = Handed();
  EXPECT_EQ(Read(server, 1'000).size(), 1'000u);
  char more = 0;
  EXPECT_LT(recv(server.get(), &more, 1, MSG_DONTWAIT), 0);
  relay_->Received("ipv4:127.0.0.1:5", nullptr, 100);
  relay_->Received(PeerOf(server) + "7", nullptr, 100);
  EXPECT_LT(recv(server.get(), &more, 1, MSG_DONTWAIT), 0) << "another's call";
  relay_->Received(PeerOf(server), nullptr, 100);
  EXPECT_EQ(Read(server, 4'000).size(), 4'000u);
}

TEST_F(RelayTest, HangsUpOnThoseWhoSayNothing) {
  InboundLimits terms;
  terms.silent_ms = 50;
  terms.unauthenticated_ms = 100;
  Start({.limit_unauthenticated = true, .terms = terms});
  const Descriptor silent = Connect("");
  const Descriptor unauthenticated = Connect("who is there?");
  EXPECT_EQ(Read(silent, 1), "");
  EXPECT_EQ(Read(unauthenticated, 1), "");
  const Relay::Counts counts = relay_->counts();
  EXPECT_EQ(counts.silent, 1);
  EXPECT_EQ(counts.unauthenticated, 1);
  std::lock_guard lock(mutex_);
  EXPECT_EQ(handed_.size(), 1u) << "gRPC never heard of the silent one";
}

TEST_F(RelayTest, HangsUpOnFloods) {
  InboundLimits terms;
  terms.unattributed = 500'000;
  Start({.limit_unauthenticated = false, .terms = terms});
  const Descriptor client = Connect("x");
  const Descriptor server = Handed();
  std::thread reads([&] { (void)Read(server, SIZE_MAX); });
  const std::string words(100'000, 'x');
  while (send(client.get(), words.data(), words.size(), MSG_NOSIGNAL) > 0) {
  }
  reads.join();
  EXPECT_EQ(relay_->counts().floods, 1);
  EXPECT_EQ(relay_->last_flood(), "127.0.0.1");
}

TEST_F(RelayTest, HangsUpOnThoseWhoseCallsBringNoMessage) {
  InboundLimits terms;
  terms.open_calls = 10;
  Start({.limit_unauthenticated = true, .terms = terms});
  const Descriptor client = Connect("x");
  const Descriptor server = Handed();
  const char name = 0, other = 0;
  for (int i = 0; i < 100; ++i) relay_->Opened(&name);  // of no connection that is known yet
  relay_->Received(PeerOf(server), &name, 0);
  for (int i = 0; i < 100; ++i) {
    relay_->Opened(&name);
    relay_->Received(PeerOf(server), &name, 0);
    relay_->Opened(&other);
  }
  EXPECT_EQ(write(client.get(), "y", 1), 1);
  EXPECT_EQ(Read(server, 2), "xy");
  for (int i = 0; i < 100; ++i) relay_->Opened(&name);
  EXPECT_EQ(Read(client, 1), "");
  EXPECT_EQ(relay_->counts().floods, 1);
}

TEST_F(RelayTest, ANameBelongsToTheConnectionThatUsedItLast) {
  InboundLimits terms;
  terms.open_calls = 10;
  Start({.limit_unauthenticated = true, .terms = terms});
  const char name = 0;
  Descriptor old_client = Connect("x");
  Descriptor old_server = Handed();
  relay_->Received(PeerOf(old_server), &name, 0);
  const Descriptor client = Connect("y");
  const Descriptor server = Handed();
  relay_->Received(PeerOf(server), &name, 0);
  old_client.Close();
  old_server.Close();
  while (relay_->size() > 1) usleep(1'000);
  for (int i = 0; i < 100; ++i) relay_->Opened(&name);
  EXPECT_EQ(Read(client, 1), "");
  while (relay_->size() > 0) usleep(1'000);
  relay_->Opened(&name);  // of a connection that has gone
}

TEST_F(RelayTest, TheOldestUnauthenticatedConnectionIsEvicted) {
  Start({.limit_unauthenticated = true, .max_unauthenticated = 3, .terms = {}});
  std::deque<Descriptor> crowd;
  for (int i = 0; i < 3; ++i) crowd.push_back(Connect(std::string(1, static_cast<char>('a' + i))));
  std::deque<Descriptor> handed;
  for (int i = 0; i < 3; ++i) handed.push_back(Handed());
  // Authenticated connections are not evicted.
  relay_->Received(PeerOf(handed[0]), nullptr, 0);
  crowd.push_back(Connect("d"));
  handed.push_back(Handed());
  crowd.push_back(Connect("e"));
  EXPECT_EQ(Read(crowd[1], 1), "");
  EXPECT_EQ(relay_->counts().evicted, 1);
  EXPECT_EQ(write(crowd[0].get(), "!", 1), 1);
  EXPECT_EQ(Read(handed[0], 2), "a!");
}

TEST_F(RelayTest, HandsNothingOverWhenGrpcGoes) {
  Start({.limit_unauthenticated = false, .terms = {}});
  const Descriptor silent = Connect("");
  while (relay_->size() == 0) usleep(1'000);
  relay_->StopHandingOver();
  EXPECT_EQ(write(silent.get(), "x", 1), 1);
  EXPECT_EQ(Read(silent, 1), "");
  std::lock_guard lock(mutex_);
  EXPECT_TRUE(handed_.empty());
}

TEST_F(RelayTest, AStopPassesOnWhatWasSaidLast) {
  Start({.limit_unauthenticated = false, .terms = {}});
  const Descriptor client = Connect("x");
  {
    const Descriptor server = Handed();
    EXPECT_EQ(Read(server, 1), "x");  // a socket that is closed unread resets the other one
    EXPECT_EQ(write(server.get(), "bye", 3), 3);
  }
  relay_->Stop();
  EXPECT_EQ(Read(client, 10), "bye");
}

}  // namespace
}  // namespace mlc::transport
