#include "worker/measure/calibration.h"

#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/machine/topology.h"
#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/process/priority.h"

namespace mlc::worker {
namespace {

// Below four seconds on an idle machine, of which all threads compute for one.
constexpr int64_t kMeasuringMs = 30'000;

constexpr char kFewer[] = "give fewer threads (--threads N)";

std::string Which(const build::ChildWork& work) {
  return "measuring this machine with " + std::to_string(work.threads) + " threads";
}

// In the child.
void Measure(const MachineProbe& probe, int threads, int pipe) {
  target::KeepToPlaces(threads);
  mlc_pool* pool = mlc_pool_create(threads, 1);
  ByteWriter out;
  out.Put(pool == nullptr ? errno : 0);
  if (pool != nullptr) {
    out.Put(probe.PeakGflops(pool));
    out.Put(CopyGbps(pool));
  }
  WriteAll(pipe, out.Take());
}

Status CalibrationError(const build::ChildWork& work, int end, const std::string& errors) {
  if (WIFSIGNALED(end) && WTERMSIG(end) == SIGXCPU) {
    return Unavailable(std::string(kFewer) + ", or stop other programs: " + Which(work) +
                       " took more than its limit of " + std::to_string(build::CpuSeconds(work)) +
                       " s of CPU time");
  }
  const std::string how =
      Which(work) + " " + DescribeEnd(end) + (errors.empty() ? "" : ": " + errors);
  if (IsMachineFailure(end, "")) {
    return Unavailable(std::string(kFewer) + ", or free some memory: " + how);
  }
  return Internal("report this as a bug of mlc-worker: " + how);
}

}  // namespace

build::ChildWork CalibrationWork(int threads) {
  return {.threads = threads, .ms = kMeasuringMs, .memory_bytes = 0};
}

Result<Peaks> MeasurePeaks(const MachineProbe& probe, const build::ChildWork& work, bool sandbox) {
  Child::Options options;
  options.limits = build::LimitsFor(work);
  options.limits.sandbox = sandbox;
  options.before = [] { RaisePriority(-20); };
  Child child =
      MLC_TRY(Child::Start(options, [&](int pipe) { Measure(probe, work.threads, pipe); }));
  const int64_t timeout_ms = build::WallMs(work, build::ThisMachine());
  pollfd waiting = {child.pipe(), POLLIN, 0};
  while (child.Read()) {
    if (poll(&waiting, 1, static_cast<int>(timeout_ms)) != 0) continue;
    return Unavailable(std::string(kFewer) + ", or stop other programs: " + Which(work) +
                       " is not done after " + std::to_string(timeout_ms / 1000) + " s");
  }
  const int end = child.Reap();
  ByteReader in(child.received());
  const int error = in.Get<int>();
  if (in.ok() && error != 0) {
    return Unavailable(std::string(kFewer) + ": this machine does not start " +
                       std::to_string(work.threads) + " (" + std::strerror(error) +
                       "); `ulimit -u`, pids.max of the container and its memory limit them");
  }
  Peaks peaks{.fma_gflops = in.Get<double>(), .copy_gbps = in.Get<double>()};
  if (in.AtEnd()) return peaks;
  return CalibrationError(work, end, child.ErrorText());
}

}  // namespace mlc::worker
