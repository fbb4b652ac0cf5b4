#include "client/progress/follow_job.h"

#include <thread>

namespace mlc::client {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// gRPC's keepalive notices a cut wire before, unless its timers are paused
// (base/rpc/clock_watch.h).
constexpr seconds kSilence(30);
// One attempt; the next one is a new connection, which waits for no timer of gRPC.
constexpr seconds kAttempt(5);
constexpr milliseconds kBetweenTries(250);
constexpr int64_t kLookMs = 100;

const Status& Left() {
  static const Status* const left = new Status(StatusCode::kCancelled, "left");
  return *left;
}

// Of a server that is stopped, restarted or out of reach. One that stops cancels what is open.
bool IsAway(const Status& status) {
  return status.ok() || status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kCancelled;
}

// Tries once to reach the server.
void TryAgain(TunerClient& client, const std::stop_token& leave) {
  std::this_thread::sleep_for(kBetweenTries);
  // Files of keys may be renewed just now.
  if (!client.Reconnect().ok()) return;
  const auto end = Clock::now() + kAttempt;
  while (!leave.stop_requested() && Clock::now() < end && !client.Await(kLookMs)) {
  }
}

Status StaysAway(const TunerClient& client, seconds waited) {
  const Status cause = client.Explain();
  return Unavailable("waited " + std::to_string(waited.count()) + " s for the server at " +
                     client.address() + ": " +
                     (cause.ok() ? "the connection keeps breaking" : cause.message()));
}

}  // namespace

Result<Followed> FollowJob(TunerClient& client, const std::string& job, ProgressOutput& output,
                           const std::stop_token& leave, milliseconds reconnect_timeout) {
  Followed followed;
  auto last_contact = Clock::now();
  const WatchLimits limits = {kSilence, leave};
  while (true) {
    const Result<proto::JobProgress> ended = client.Watch(
        job,
        [&](const proto::JobProgress& progress) {
          last_contact = Clock::now();
          followed.progress = progress;
          MLC_TRY(output.Show(progress));
          const bool leaves = leave.stop_requested() && progress.state() == proto::RUNNING;
          return leaves ? Left() : Status();
        },
        limits);
    // A server that stops ends the stream without a last word on the job.
    if (ended.ok() && ended->state() != proto::RUNNING) {
      followed.progress = *ended;
      return followed;
    }
    if (leave.stop_requested()) {
      followed.left = true;
      return followed;
    }
    if (!IsAway(ended.status())) return ended.status();
    const auto waited = std::chrono::duration_cast<seconds>(Clock::now() - last_contact);
    if (waited >= reconnect_timeout) return StaysAway(client, waited);
    output.ShowWaiting(waited);
    TryAgain(client, leave);
  }
}

}  // namespace mlc::client
