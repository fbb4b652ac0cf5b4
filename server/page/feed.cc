#include "server/page/feed.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <utility>
#include <vector>

namespace mlc::server::page {
namespace {

constexpr int kNice = 15;  // as the listener's threads

}  // namespace

std::string EventText(const std::string& name, const std::string& data) {
  std::string text = "event: " + name + "\ndata: ";
  for (const char c : data) {
    if (c == '\r') continue;
    text += c;
    if (c == '\n') text += "data: ";
  }
  return text + "\n\n";
}

Feed::Feed(Render render, FeedTerms terms)
    : render_(std::move(render)), terms_(terms), thread_([this] { Run(); }) {}

Result<std::shared_ptr<Feed::Subscription>> Feed::Subscribe(const std::string& topic,
                                                            const std::string& caller) {
  const MutexLock lock(mutex_);
  if (stopping_) return Unavailable("the server stops");
  if (all_ >= terms_.most) return ResourceExhausted("too many open pages: close some");
  if (of_caller_[caller] >= terms_.most_of_one) {
    return ResourceExhausted("too many open pages of " + caller + ": close some");
  }
  ++all_;
  ++of_caller_[caller];
  if (topics_[topic].readers++ == 0) {
    is_new_ = true;
    wanted_.NotifyAll();
  }
  return std::make_shared<Subscription>(*this, topic, caller);
}

Feed::Subscription::~Subscription() { feed_.Leave(topic_, caller_); }

void Feed::Leave(const std::string& topic, const std::string& caller) {
  const MutexLock lock(mutex_);
  --all_;
  if (--of_caller_[caller] == 0) of_caller_.erase(caller);
  const auto found = topics_.find(topic);
  if (--found->second.readers == 0) topics_.erase(found);
}

int Feed::size() const {
  const MutexLock lock(mutex_);
  return all_;
}

std::optional<std::string> Feed::Subscription::Next() {
  const auto end = std::chrono::steady_clock::now() + feed_.terms_.heartbeat;
  const MutexLock lock(feed_.mutex_);
  for (;;) {
    if (feed_.stopping_) return std::nullopt;
    const Topic& topic = feed_.topics_.at(topic_);
    if (topic.version > seen_) {
      seen_ = topic.version;
      return *topic.event;
    }
    if (!feed_.changed_.WaitUntil(feed_.mutex_, end)) return ": still here\n\n";
  }
}

void Feed::Run() {
  sigset_t all;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, nullptr);
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  for (;;) {
    std::vector<std::string> names;
    {
      const MutexLock lock(mutex_);
      const auto next = std::chrono::steady_clock::now() + terms_.period;
      while (!stopping_ && topics_.empty()) wanted_.Wait(mutex_);
      while (!stopping_ && !is_new_ && wanted_.WaitUntil(mutex_, next)) {
      }
      if (stopping_) return;
      is_new_ = false;
      for (const auto& [name, topic] : topics_) names.push_back(name);
    }
    for (const std::string& name : names) {
      std::string markup = render_(name);
      auto event = std::make_shared<const std::string>(EventText("fragment", markup));
      const MutexLock lock(mutex_);
      const auto found = topics_.find(name);
      if (found == topics_.end()) continue;
      Topic& topic = found->second;
      if (topic.version > 0 && topic.markup == markup) continue;
      topic.version = ++version_;
      topic.markup = std::move(markup);
      topic.event = std::move(event);
    }
    changed_.NotifyAll();
  }
}

void Feed::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  wanted_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

}  // namespace mlc::server::page
