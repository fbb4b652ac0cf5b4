#include "server/security/open_calls.h"

#include <utility>

namespace mlc::server {

class OpenCalls::Handle : public OpenCall {
 public:
  Handle(OpenCalls& calls, std::list<Entry>::iterator entry) : calls_(calls), entry_(entry) {}
  ~Handle() override {
    std::lock_guard lock(calls_.mutex_);
    calls_.entries_.erase(entry_);
  }

 private:
  OpenCalls& calls_;
  const std::list<Entry>::iterator entry_;
};

std::unique_ptr<OpenCall> OpenCalls::Add(Authorize authorize, End end) {
  std::lock_guard lock(mutex_);
  entries_.push_back({std::move(authorize), std::move(end)});
  return std::make_unique<Handle>(*this, std::prev(entries_.end()));
}

void OpenCalls::Review() {
  std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (!entry.end) continue;
    const Status status = entry.authorize();
    if (!status.ok()) std::exchange(entry.end, nullptr)(status);
  }
}

}  // namespace mlc::server
