#include "client/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "compiler/base/exit_code.h"

namespace mlc::client {
namespace {

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A closed pipe is an error of a write, not the end.
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([this] { Loop(); });
}

Interrupt::~Interrupt() {
  stopping_ = true;
  // The thread waits for this signal; it does not end the thread.
  pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  thread_.join();
}

void Interrupt::OnFirst(std::function<void()> callback) {
  std::unique_lock lock(mutex_);
  callback_ = std::move(callback);
  if (!requested_ || callback_ == nullptr) return;
  const std::function<void()> now = std::exchange(callback_, nullptr);
  lock.unlock();
  now();
}

void Interrupt::Loop() {
  const sigset_t signals = EndSignals();
  while (true) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (stopping_) return;
    std::function<void()> callback;
    {
      std::lock_guard lock(mutex_);
      if (requested_.exchange(true)) _exit(static_cast<int>(ExitCode::kInterrupted));
      callback = std::exchange(callback_, nullptr);
    }
    if (callback) callback();
  }
}

}  // namespace mlc::client
