// The open streams, whose callers are authorized when the stream begins and again at each review.
// Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace mlc::server {

// A registered stream; the destructor removes it.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
};

class OpenCalls {
 public:
  // OK while the caller is authorized.
  using Authorize = std::function<Status()>;
  // Ends the call. Runs at most once, on the thread of Review(); must be quick.
  using End = std::function<void(const Status&)>;

  // Registers a stream. Neither function runs after the returned object is destroyed, which must
  // happen before this object is. The functions may not add or remove calls.
  std::unique_ptr<OpenCall> Add(Authorize authorize, End end);
  // Ends each call whose caller is no longer authorized.
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
