#include "worker/device/cpu/batch.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "base/machine/topology.h"
#include "base/process/child.h"
#include "base/process/frame.h"
#include "base/process/priority.h"
#include "base/sandbox/child_limits.h"
#include "worker/build/trial.h"
#include "worker/device/cpu/remeasurement.h"

namespace mlc::worker {
namespace {

using Clock = std::chrono::steady_clock;

std::string Report(const Measurement& measurement, const MachineState& machine) {
  ByteWriter out;
  Put(out, measurement);
  machine.fma.PutInto(out);
  machine.l1.PutInto(out);
  out.Put(machine.clock_mhz);
  out.Put(machine.clock_read_at_ns);
  out.Put(machine.retry_budget.timed_ns);
  out.Put(machine.retry_budget.lost_ns);
  return Frame(out.Take());
}

// The sums come from a process that ran generated code.
bool IsPlausible(const RetryBudget& budget) {
  constexpr int64_t kYearNs = int64_t{365} * 24 * 3600 * 1'000'000'000;
  return budget.timed_ns >= 0 && budget.timed_ns < kYearNs && budget.lost_ns >= 0 &&
         budget.lost_ns < kYearNs;
}

std::optional<Measurement> ReadReport(std::string_view bytes, MachineState& machine) {
  ByteReader in(bytes);
  const Measurement measurement = GetMeasurement(in);
  MachineState state;
  if (!state.fma.GetFrom(in) || !state.l1.GetFrom(in)) return std::nullopt;
  state.clock_mhz = in.Get<double>();
  state.clock_read_at_ns = in.Get<int64_t>();
  state.retry_budget.timed_ns = in.Get<int64_t>();
  state.retry_budget.lost_ns = in.Get<int64_t>();
  if (!in.AtEnd() || !IsPlausible(state.retry_budget)) return std::nullopt;
  machine = std::move(state);
  return measurement;
}

// In the order of the tasks. What passes between two of them is the later one's time.
class Results {
 public:
  void Add(Measurement measurement) {
    const Clock::time_point now = Clock::now();
    timed_.push_back({std::move(measurement), std::chrono::duration<double>(now - since_).count()});
    since_ = now;
  }
  size_t size() const { return timed_.size(); }
  std::vector<TimedMeasurement> Take() { return std::move(timed_); }

 private:
  std::vector<TimedMeasurement> timed_;
  Clock::time_point since_ = Clock::now();
};

// One runner child and the trials from `first` on that it manages. Returns the number of trials
// that have a result now.
class ChildRun {
 public:
  ChildRun(const std::vector<RunTask>& tasks, const BatchOptions& options, MachineState& machine)
      : tasks_(tasks), options_(options), machine_(machine) {}

  void Run(Results& results) {
    const size_t first = results.size();
    Result<Child> child = Start(first);
    if (!child.ok()) {
      results.Add(Failed(Outcome::kInfra, child.status().message()));
      return;
    }
    Step step = Step::kResult;
    while (step == Step::kResult && results.size() < tasks_.size()) step = Collect(*child, results);
    // No more results are expected, and a process that ran kernels may hang when it exits.
    if (step != Step::kEnd) child->Kill();
    const int end = child->Reap();
    if (step == Step::kLate) {
      const std::string limit = std::to_string(TimeoutMs(results.size()));
      results.Add(Failed(Outcome::kRunTimeout, "no result after " + limit + " ms"));
    }
    // An earlier trial of the same child may have caused the failure, so a later one is retried in
    // a new child before the failure counts.
    if (results.size() != first) return;
    if (step == Step::kNonsense) {
      results.Add(Failed(Outcome::kRunError, "the kernel's process sent no result"));
      return;
    }
    if (WIFSIGNALED(end) && WTERMSIG(end) == SIGXCPU) {
      results.Add(Failed(Outcome::kRunTimeout, "the kernel's process " + DescribeEnd(end)));
      return;
    }
    const bool infra = IsMachineFailure(end, "");
    std::string detail = (infra ? "the runner " : "the kernel's process ") + DescribeEnd(end);
    if (const std::string text = child->ErrorText(); !text.empty()) detail += ": " + text;
    results.Add(Failed(infra ? Outcome::kInfra : Outcome::kRunError, detail));
  }

 private:
  // Of the trial after those that have a result; a surplus result's is the last one's.
  int64_t TimeoutMs(size_t trial) const {
    const RunTask& task = tasks_[std::min(trial, tasks_.size() - 1)];
    return build::WallMs({.threads = options_.threads,
                          .ms = options_.run_timeout_ms,
                          .tensor_bytes = ReferenceLayoutOf(*task.workload).bytes},
                         build::ThisMachine());
  }

  Result<Child> Start(size_t first) {
    build::ChildWork work{.threads = options_.threads, .ms = 0, .memory_bytes = 0};
    for (size_t i = first; i < tasks_.size(); ++i) {
      work.ms += options_.run_timeout_ms;
      work.tensor_bytes += ReferenceLayoutOf(*tasks_[i].workload).bytes;
      work.memory_bytes =
          std::max(work.memory_bytes, Runner::MemoryFor(tasks_[i], options_.threads));
    }
    Child::Options child;
    child.limits = build::LimitsFor(work);
    child.limits.file_bytes = 1 << 20;
    child.limits.sandbox = options_.sandbox;
    child.before = [] { RaisePriority(-20); };
    return Child::Start(child, [&, first](int pipe) {
      target::KeepToPlaces(options_.threads);
      Runner runner(options_.threads, options_.probe, machine_);
      for (size_t i = first; i < tasks_.size() && !runner.tainted(); ++i) {
        const Measurement measurement = runner.Run(tasks_[i]);
        if (!WriteAll(pipe, Report(measurement, runner.machine()))) return;
      }
    });
  }

  // The outcome of waiting for a result.
  enum class Step : uint8_t { kResult, kEnd, kLate, kNonsense };

  Step Collect(Child& child, Results& results) {
    const Clock::time_point deadline =
        Clock::now() + std::chrono::milliseconds(TimeoutMs(results.size()));
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd waiting = {child.pipe(), POLLIN, 0};
      if (left > 0) (void)poll(&waiting, 1, static_cast<int>(left) + 1);
      const bool open = child.Read();
      bool news = false;
      while (auto frame = TakeFrame(child.received())) {
        auto measurement = ReadReport(*frame, machine_);
        if (!measurement || results.size() == tasks_.size()) return Step::kNonsense;
        results.Add(*std::move(measurement));
        news = true;
      }
      if (child.sent_too_much()) return Step::kNonsense;
      if (!open) return Step::kEnd;
      if (news) return Step::kResult;
      if (left <= 0) return Step::kLate;
    }
  }

  const std::vector<RunTask>& tasks_;
  const BatchOptions& options_;
  MachineState& machine_;
};

std::vector<TimedMeasurement> RunOnce(const std::vector<RunTask>& tasks,
                                      const BatchOptions& options, MachineState& machine) {
  Results results;
  ChildRun run(tasks, options, machine);
  while (results.size() < tasks.size()) run.Run(results);
  return results.Take();
}

}  // namespace

std::vector<TimedMeasurement> RunBatch(const std::vector<RunTask>& tasks,
                                       const BatchOptions& options, MachineState& machine) {
  std::vector<TimedMeasurement> results = RunOnce(tasks, options, machine);
  std::vector<RunTask> again;
  std::vector<size_t> places;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!NeedsRemeasurement(results[i].measurement, tasks[i].early_stop_ns)) continue;
    places.push_back(i);
    again.push_back(tasks[i]);
    // It has passed its early-stop check.
    again.back().early_stop_ns = 0;
  }
  const std::vector<TimedMeasurement> second = RunOnce(again, options, machine);
  for (size_t i = 0; i < places.size(); ++i) {
    TimedMeasurement& result = results[places[i]];
    result.measurement = CombineMeasurements(result.measurement, second[i].measurement);
    result.took_s += second[i].took_s;
  }
  return results;
}

}  // namespace mlc::worker
