// Ctrl-C, SIGTERM and SIGHUP as events. Until there is something to keep, the first one ends the
// program at once; from then on the first one asks through a token, and the second one ends it. The
// exit code is 130. A signal that the parent process has set to be ignored (nohup, a job in the
// background of a script) stays ignored. Make one before any other thread starts, so that all
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

  // There is something to keep from now on. What waits for the token is called on a thread of its
  // own, or at once if the signal came already; its std::stop_callback may wait for it.
  std::stop_token Keep();
  bool requested() const { return stop_.stop_requested(); }

 private:
  void Loop();
  void OnSignal();

  sigset_t signals_;
  std::mutex mutex_;
  bool keeping_ = false;
  std::stop_source stop_;
  std::thread stopper_;  // calls those who wait for the token
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace mlc::client
