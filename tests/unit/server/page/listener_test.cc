#include "server/page/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rpc/socket.h"

namespace mlc::server::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kTimeoutMs = 30'000;
constexpr char kAsk[] = "GET /one HTTP/1.1\r\nHost: here\r\n\r\n";

class ListenerTest : public ::testing::Test {
 protected:
  void Start(ListenerOptions options, HttpListener::Handler handler) {
    options.address = "127.0.0.1:0";
    auto listener = HttpListener::Open(std::move(options));
    ASSERT_TRUE(listener.ok()) << listener.status().ToString();
    listener_ = *std::move(listener);
    listener_->Start(std::move(handler));
  }
  transport::Descriptor Connect() const {
    Result<transport::Descriptor> socket = transport::ConnectTo(listener_->address(), kTimeoutMs);
    EXPECT_TRUE(socket.ok()) << socket.status().ToString();
    return *std::move(socket);
  }
  transport::Descriptor Send(const std::string& bytes) const {
    transport::Descriptor socket = Connect();
    EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return socket;
  }
  static std::string ReadTo(const transport::Descriptor& socket, const std::string& words) {
    std::string text;
    char part[4096];
    while (words.empty() || text.find(words) == std::string::npos) {
      const ssize_t count = recv(socket.get(), part, sizeof(part), 0);
      if (count == 0) break;
      if (count < 0) {
        EXPECT_EQ(errno, ECONNRESET) << "neither an answer nor the end comes";
        break;
      }
      text.append(part, static_cast<size_t>(count));
    }
    return text;
  }
  static HttpReply Hello(const HttpRequest& request) {
    HttpReply reply;
    reply.body = "hello " + request.path + "!";
    return reply;
  }
  static HttpReply KnownHello(const HttpRequest& request) {
    HttpReply reply = Hello(request);
    reply.known = true;
    return reply;
  }

  std::unique_ptr<HttpListener> listener_;
};

// A stream that never ends, and a note of when its connection is gone and how much it has given.
struct EndlessStream {
  std::promise<void> gone;
  std::atomic<size_t> bytes = 0;

  HttpReply Reply() {
    const std::shared_ptr<void> end(nullptr, [this](void*) { gone.set_value(); });
    HttpReply reply;
    reply.next = [this, end]() -> std::optional<std::string> {
      constexpr size_t kPiece = size_t{64} << 10;
      bytes += kPiece;
      return std::string(kPiece, 'x');
    };
    return reply;
  }
};

TEST_F(ListenerTest, AConnectionWithoutARequestIsClosed) {
  ListenerOptions options;
  options.handshake_ms = 20;
  Start(std::move(options), Hello);
  EXPECT_EQ(ReadTo(Connect(), ""), "");
}

TEST_F(ListenerTest, AnIdleConnectionIsClosedAfterItsAnswer) {
  ListenerOptions options;
  options.idle_ms = 20;
  Start(std::move(options), Hello);
  EXPECT_THAT(ReadTo(Send(kAsk), ""), HasSubstr("hello /one!"));
}

TEST_F(ListenerTest, ARequestThatDoesNotEndInTimeIsClosed) {
  ListenerOptions options;
  options.request_ms = 20;
  Start(std::move(options), Hello);
  const std::string answer = ReadTo(Send("GET /one HTTP/1.1\r\nHost: he"), "");
  EXPECT_THAT(answer, Not(HasSubstr("hello")));
}

TEST_F(ListenerTest, ABodyThatDoesNotComeIsClosed) {
  ListenerOptions options;
  options.request_ms = 20;
  Start(std::move(options), Hello);
  const std::string answer =
      ReadTo(Send("POST /one HTTP/1.1\r\nHost: here\r\nContent-Length: 4000\r\n\r\nsecret="), "");
  EXPECT_THAT(answer, Not(HasSubstr("hello")));
}

TEST_F(ListenerTest, AReaderThatTakesNothingLosesItsStreamAndCostsItsSocketAlone) {
  ListenerOptions options;
  options.answer_ms = 50;
  EndlessStream stream;
  std::future<void> gone = stream.gone.get_future();
  Start(std::move(options), [&](const HttpRequest&) { return stream.Reply(); });
  const transport::Descriptor reader = Send(kAsk);
  gone.get();
  // What both ends of a loopback connection buffer.
  EXPECT_LT(stream.bytes, size_t{32} << 20);
}

TEST_F(ListenerTest, OfTooManyTheOldestStrangerGoes) {
  ListenerOptions options;
  options.most_connections = 3;
  Start(std::move(options), [](const HttpRequest& request) {
    return request.path == "/one" ? KnownHello(request) : Hello(request);
  });
  const transport::Descriptor known = Send(kAsk);
  EXPECT_THAT(ReadTo(known, "!"), HasSubstr("hello"));
  const transport::Descriptor first = Send("GET /two HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(ReadTo(first, "!"), HasSubstr("hello"));
  const transport::Descriptor second = Send("GET /two HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(ReadTo(second, "!"), HasSubstr("hello"));
  EXPECT_EQ(ReadTo(Connect(), ""), "") << "there was no room";
  EXPECT_EQ(ReadTo(first, ""), "");
  // Who has proved who it is stays, and so does the younger stranger.
  ASSERT_EQ(send(known.get(), kAsk, sizeof(kAsk) - 1, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof(kAsk) - 1));
  EXPECT_THAT(ReadTo(known, "!"), HasSubstr("hello"));
  ASSERT_EQ(send(second.get(), kAsk, sizeof(kAsk) - 1, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof(kAsk) - 1));
  EXPECT_THAT(ReadTo(second, "!"), HasSubstr("hello"));
}

TEST_F(ListenerTest, OneAddressHasNotAllConnections) {
  ListenerOptions options;
  options.most_of_one_address = 2;
  Start(std::move(options), KnownHello);
  const transport::Descriptor first = Send(kAsk), second = Send(kAsk);
  EXPECT_THAT(ReadTo(first, "!"), HasSubstr("hello"));
  EXPECT_THAT(ReadTo(second, "!"), HasSubstr("hello"));
  EXPECT_EQ(ReadTo(Connect(), ""), "");
}

TEST_F(ListenerTest, AStopEndsAHundredReadersThatTakeNothing) {
  constexpr size_t kReaders = 100;
  std::vector<EndlessStream> streams(kReaders);
  std::atomic<size_t> next = 0;
  Start({}, [&](const HttpRequest&) { return streams[next++].Reply(); });
  std::vector<transport::Descriptor> readers;
  for (size_t i = 0; i < kReaders; ++i) readers.push_back(Send(kAsk));
  for (const transport::Descriptor& reader : readers) {
    EXPECT_THAT(ReadTo(reader, "\r\n"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(listener_->connections(), static_cast<int>(kReaders));
  listener_->Stop();
  EXPECT_EQ(listener_->connections(), 0);
  for (EndlessStream& stream : streams) stream.gone.get_future().get();
}

TEST_F(ListenerTest, WhatFollowsARefusedBodyIsNoRequest) {
  std::atomic<int> asked = 0;
  Start({}, [&](const HttpRequest& request) {
    ++asked;
    return Hello(request);
  });
  const std::string smuggled = kAsk;
  const std::string answer = ReadTo(Send("POST /one HTTP/1.1\r\nHost: here\r\n"
                                         "Content-Length: 100000\r\n\r\n" +
                                         smuggled),
                                    "");
  EXPECT_THAT(answer, Not(HasSubstr("hello")));
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace mlc::server::page
