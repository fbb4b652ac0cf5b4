// Server-sent events: one thread makes the text of each topic that someone looks at, once a second,
// and everyone who looks at it gets the same text when it has changed. What open pages cost is
// writing that text, however many there are. Bounded in all and for each caller. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"

namespace mlc::server::page {

struct FeedTerms {
  std::chrono::milliseconds period{1'000};
  std::chrono::milliseconds heartbeat{2'000};  // a lock-out ends a quiet stream after so long
  int most = 256;
  int most_of_one = 256;  // callers who are not told apart count as one
};

class Feed {
  struct Topic;

 public:
  // The markup of a topic; runs on the feed's thread.
  using Render = std::function<std::string(const std::string& topic)>;

  explicit Feed(Render render, FeedTerms terms = {});
  ~Feed() { Stop(); }

  class Subscription {
   public:
    Subscription(Feed& feed, std::string topic, std::string caller)
        : feed_(feed), topic_(std::move(topic)), caller_(std::move(caller)) {}
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    // The next event, or a comment after the heartbeat; nothing once the feed has stopped.
    std::optional<std::string> Next();

   private:
    Feed& feed_;
    const std::string topic_;
    const std::string caller_;
    uint64_t seen_ = 0;
  };

  // RESOURCE_EXHAUSTED for one too many. The subscription must go before the feed.
  Result<std::shared_ptr<Subscription>> Subscribe(const std::string& topic,
                                                  const std::string& caller);
  int size() const;
  // Ends all subscriptions' waits.
  void Stop();

 private:
  struct Topic {
    int readers = 0;
    uint64_t version = 0;  // 0: no text yet
    std::string markup;
    std::shared_ptr<const std::string> event;
  };
  void Run();
  void Leave(const std::string& topic, const std::string& caller) MLC_EXCLUDES(mutex_);

  const Render render_;
  const FeedTerms terms_;
  mutable Mutex mutex_;
  CondVar changed_;  // a text, or the end
  CondVar wanted_;   // a topic has its first reader, or the end
  std::map<std::string, Topic> topics_ MLC_GUARDED_BY(mutex_);
  std::map<std::string, int> of_caller_ MLC_GUARDED_BY(mutex_);
  int all_ MLC_GUARDED_BY(mutex_) = 0;
  uint64_t version_ MLC_GUARDED_BY(mutex_) = 0;
  bool is_new_ MLC_GUARDED_BY(mutex_) = false;  // a topic without a text
  bool stopping_ MLC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// A text as an event of the stream.
std::string EventText(const std::string& name, const std::string& data);

}  // namespace mlc::server::page
