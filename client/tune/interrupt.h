// Turns Ctrl-C, SIGTERM and SIGHUP into events. Before Keep(), the first signal ends the program
// immediately. After it, the first signal requests a stop through a token, and the second one ends
// the program. The exit code is 130. A signal that the parent process ignores (nohup, a background
// job of a script) stays ignored. Create the object before any other thread starts, because threads
// inherit its blocked signals.
#pragma once

#include <signal.h>

#include <atomic>
#include <mutex>
#include <stop_token>
#include <thread>

namespace mlc::client {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();

  // From now on a signal first requests a stop, because there is work to keep. Callbacks of the
  // token run on a thread of this object, or immediately if the signal has already arrived; a
  // std::stop_callback may wait for it.
  std::stop_token Keep();
  bool requested() const { return stop_.stop_requested(); }

 private:
  void Loop();
  void OnSignal();

  sigset_t signals_;
  std::mutex mutex_;
  bool keeping_ = false;
  std::stop_source stop_;
  std::thread stopper_;  // runs the callbacks of the token
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace mlc::client
