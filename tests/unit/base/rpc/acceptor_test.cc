#include "base/rpc/acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace mlc::transport {
namespace {

// Keeps what is handed over; from LetGo on, nothing.
class Taken {
 public:
  Acceptor::Taker taker() {
    return [this](int, int fd) {
      std::lock_guard lock(mutex_);
      Descriptor taken(fd);
      if (keeping_) taken_.push_back(std::move(taken));
      more_.notify_all();
    };
  }
  void WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return taken_.size() >= count; });
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return taken_.size();
  }
  void LetGo() {
    std::lock_guard lock(mutex_);
    taken_.clear();
    keeping_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<Descriptor> taken_;
  bool keeping_ = true;
};

TEST(SocketTest, KnowsWhatIsLocal) {
  for (const char* local :
       {"unix:/run/x", "127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(IsLocal(local)) << local;
  }
  for (const char* open : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.evil.com:1",
                           "localhost.evil.com:1", "tuner.lab:1", "128.0.0.1:1"}) {
    EXPECT_FALSE(IsLocal(open)) << open;
  }
  EXPECT_EQ(HostOf("[fe80::1]:80"), "fe80::1");
  EXPECT_EQ(HostOf("tuner.lab:80"), "tuner.lab");
}

TEST(SocketTest, BadAddressesAreExplained) {
  std::string bound;
  for (const char* bad : {"", "nowhere", "host:", ":80", "unix:", "localhost:65536",
                          "localhost:99999999999999999999"}) {
    EXPECT_EQ(ListenOn(bad, bound).status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(ConnectTo(bad, 100).status().code(), StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ListenOn("unix:/" + std::string(200, 'x'), bound).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ListenOn("unix:/no/such/folder/socket", bound).status().code(),
            StatusCode::kUnavailable);
}

TEST(SocketTest, ADeadServersSocketIsReplacedALivingOnesIsNot) {
  const std::string path = ::testing::TempDir() + "/mlc-acceptor-socket";
  (void)unlink(path.c_str());
  std::string bound;
  {
    const Result<Descriptor> first = ListenOn("unix:" + path, bound);
    ASSERT_TRUE(first.ok());
    EXPECT_THAT(ListenOn("unix:" + path, bound).status().message(),
                ::testing::HasSubstr("another server"));
  }
  EXPECT_TRUE(ListenOn("unix:" + path, bound).ok());
  (void)unlink(path.c_str());
}

TEST(AcceptorTest, HandsConnectionsOver) {
  auto acceptor = Acceptor::Listen("127.0.0.1:0", {});
  ASSERT_TRUE(acceptor.ok());
  Taken taken;
  (*acceptor)->Start(taken.taker());
  const Result<Descriptor> client = ConnectTo((*acceptor)->address(), 10'000);
  ASSERT_TRUE(client.ok());
  taken.WaitFor(1);
  EXPECT_EQ((*acceptor)->accepted(), 1);
  EXPECT_EQ((*acceptor)->shortages(), 0);
  (*acceptor)->Stop();
  EXPECT_FALSE(ConnectTo((*acceptor)->address(), 1'000).ok());
}

TEST(AcceptorTest, ConnectionsWaitWhileDescriptorsAreShortAndThenCome) {
  Taken taken;
  auto acceptor = Acceptor::Listen("127.0.0.1:0", {.max_descriptors = OpenDescriptors() + 60});
  ASSERT_TRUE(acceptor.ok());
  (*acceptor)->Start(taken.taker());
  std::vector<Descriptor> clients;
  // Both ends are in this process: each connection takes two descriptors, the limit is passed.
  for (int i = 0; i < 60; ++i) {
    Result<Descriptor> client = ConnectTo((*acceptor)->address(), 10'000);
    ASSERT_TRUE(client.ok()) << i;
    clients.push_back(*std::move(client));
  }
  while ((*acceptor)->shortages() == 0) usleep(1000);
  const size_t first = taken.size();
  EXPECT_LT(first, 60u);
  clients.clear();
  taken.LetGo();
  const Result<Descriptor> late = ConnectTo((*acceptor)->address(), 10'000);
  ASSERT_TRUE(late.ok());
  while ((*acceptor)->accepted() < 61) usleep(1000);
  EXPECT_GE((*acceptor)->shortages(), 1);
}

}  // namespace
}  // namespace mlc::transport
