#include "client/tune/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <string_view>

#include "base/exit_code.h"

namespace mlc::client {
namespace {

// Wakes the thread at the end; no other process sends this signal.
constexpr int kWake = SIGUSR2;

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  sigaddset(&signals, kWake);
  return signals;
}

[[noreturn]] void End(std::string_view words) {
  (void)!write(STDERR_FILENO, words.data(), words.size());
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace

Interrupt::Interrupt() : signals_(EndSignals()) {
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  // A closed pipe or a file at its limit is an error of a write, not the end.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  thread_ = std::thread([this] { Loop(); });
}

Interrupt::~Interrupt() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), kWake);
  thread_.join();
  if (stopper_.joinable()) stopper_.join();
}

std::stop_token Interrupt::Keep() {
  std::lock_guard lock(mutex_);
  keeping_ = true;
  return stop_.get_token();
}

void Interrupt::OnSignal() {
  std::lock_guard lock(mutex_);
  if (!keeping_) End("\nmlc-tune: interrupted\n");
  if (stopper_.joinable()) End("\n");
  stopper_ = std::thread([this] { stop_.request_stop(); });
}

void Interrupt::Loop() {
  while (true) {
    int signal = 0;
    sigwait(&signals_, &signal);
    if (ending_) return;
    if (signal != kWake) OnSignal();
  }
}

}  // namespace mlc::client
