// The calls that stay open, streams: their callers were let in when they began, and are looked at
// again for as long as they last. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace mlc::server {

// One of them, for as long as this lives.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
};

class OpenCalls {
 public:
  // OK as long as the caller may go on.
  using Authorize = std::function<Status()>;
  // What ends the call: runs once at most, on the thread of Review(), quickly.
  using End = std::function<void(const Status&)>;

  // Neither function runs after the result has gone, which must be before this object. They may
  // not add or remove calls.
  std::unique_ptr<OpenCall> Add(Authorize authorize, End end);
  // Ends each call whose caller may not go on.
  void Review();

 private:
  struct Entry {
    Authorize authorize;
    End end;
  };
  class Handle;

  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace mlc::server
