#include "client/follow_job.h"

#include <chrono>
#include <thread>

namespace mlc::client {
namespace {

// A server that is upgraded or restarted is back long before.
constexpr std::chrono::minutes kPatience(15);
constexpr std::chrono::milliseconds kBetweenTries(250);
constexpr int64_t kReconnectMs = 1'000;

const Status& Left() {
  static const Status* const left = new Status(StatusCode::kCancelled, "left");
  return *left;
}

}  // namespace

Result<Followed> FollowJob(TunerClient& client, const std::string& job, ProgressOutput& output,
                           const Interrupt& interrupt) {
  Followed followed;
  auto heard = std::chrono::steady_clock::now();
  while (true) {
    const Result<proto::JobProgress> ended =
        client.Watch(job, [&](const proto::JobProgress& progress) {
          heard = std::chrono::steady_clock::now();
          followed.progress = progress;
          output.Show(progress);
          const bool leaves = interrupt.requested() && progress.state() == proto::RUNNING;
          return leaves ? Left() : Status();
        });
    // A server that stops ends the stream without a last word on the job.
    if (ended.ok() && ended->state() != proto::RUNNING) {
      followed.progress = *ended;
      return followed;
    }
    if (interrupt.requested()) {
      followed.left = true;
      return followed;
    }
    // A server that is stopped cancels what is open.
    const bool away = ended.ok() || ended.status().code() == StatusCode::kUnavailable ||
                      ended.status().code() == StatusCode::kCancelled;
    if (!away) return ended.status();
    if (std::chrono::steady_clock::now() - heard > kPatience) {
      return Unavailable("the server does not come back; the job goes on when it does");
    }
    std::this_thread::sleep_for(kBetweenTries);
    (void)client.Await(kReconnectMs);
  }
}

}  // namespace mlc::client
