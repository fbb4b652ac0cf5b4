#include "worker/check/reference_store.h"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

namespace mlc::worker {
namespace {

constexpr size_t kSets = 2;
constexpr int64_t kTrialsBeforeSecond = 8;
// Of a child that makes a set.
constexpr int64_t kMinMakerBytes = int64_t{4} << 30;
constexpr int64_t kStepsOfASet = 64;
// Of them, those that are in memory at a time.
constexpr int64_t kStepsAtATime = 12;

int64_t BytesOf(const WorkloadData& data) {
  int64_t bytes = 0;
  for (const SharedMemory& set : data.sets) bytes += static_cast<int64_t>(set.bytes().size());
  return bytes;
}

}  // namespace

Result<WorkloadData*> ReferenceStore::Find(const std::string& text, uint64_t seed) {
  for (WorkloadData& data : workloads_) {
    if (data.workload.ToText() != text) continue;
    data.last_use = ++uses_;
    if (data.sets.empty() && !data.maker && !data.failure.ok()) {
      data.failure = Status();
      data.waiting = seed;
      StartQueuedMakers();
    }
    return &data;
  }
  graph::Workload workload = MLC_TRY(graph::Workload::Parse(text));
  MakeRoom(2 * ReferenceLayoutOf(workload).bytes);
  WorkloadData& data = workloads_.emplace_back();
  data.workload = std::move(workload);
  data.last_use = ++uses_;
  data.waiting = seed;
  StartQueuedMakers();
  return &data;
}

bool ReferenceStore::CanStart(const WorkloadData& data) const {
  if (makers() >= options_.makers) return false;
  int64_t bytes = 0;
  for (const WorkloadData& other : workloads_) {
    if (other.maker) bytes += static_cast<int64_t>(other.made->bytes().size());
  }
  if (bytes == 0) return true;
  bytes += ReferenceLayoutOf(data.workload).bytes;
  return bytes <= options_.maker_bytes / kStepsAtATime;
}

void ReferenceStore::StartQueuedMakers() {
  for (WorkloadData& data : workloads_) {
    if (!data.waiting) continue;
    // In their order: a large one would wait for ever while small ones pass by.
    if (!CanStart(data)) return;
    Begin(data, *std::exchange(data.waiting, std::nullopt));
  }
}

void ReferenceStore::SetMakers(int most) {
  options_.makers = most;
  StartQueuedMakers();
}

build::ChildWork ReferenceStore::WorkOf(const WorkloadData& data) const {
  const int64_t bytes = ReferenceLayoutOf(data.workload).bytes;
  // Builds need CPUs, too, and so do those that begin later.
  const int sharing = makers() + 1;
  return {.threads = std::max(1, options_.cpus / sharing),
          .processes = std::max(1, options_.makers),
          .ms = options_.timeout_ms,
          .tensor_bytes = bytes,
          // Every step of the workload in double precision.
          .memory_bytes = kMinMakerBytes + kStepsOfASet * bytes};
}

void ReferenceStore::Begin(WorkloadData& data, uint64_t seed) {
  data.failure = Status();
  Result<SharedMemory> memory = SharedMemory::Create(ReferenceLayoutOf(data.workload).bytes);
  if (!memory.ok()) {
    data.failure = memory.status();
    return;
  }
  const build::ChildWork work = WorkOf(data);
  Child::Options options;
  options.limits = build::LimitsFor(work);
  options.limits.sandbox = options_.sandbox;
  const std::span<std::byte> bytes = memory->bytes();
  Result<Child> maker = Child::Start(options, [&](int pipe) {
    const Status status = MakeReference(data.workload, seed, bytes, work.threads);
    WriteAll(pipe, status.ok() ? "+" : "-" + status.ToString());
  });
  data.timeout_ms = build::WallMs(work, build::ThisMachine());
  if (!maker.ok()) {
    data.failure = maker.status();
    return;
  }
  data.maker = *std::move(maker);
  data.made = *std::move(memory);
  // Its maker alone writes it.
  data.made->KeepFromChildren();
}

const SharedMemory& ReferenceStore::NextSet(WorkloadData& data) {
  return data.sets[static_cast<size_t>(data.trials++) % data.sets.size()];
}

void ReferenceStore::Renew(WorkloadData& data, uint64_t seed) {
  if (data.maker || data.sets.empty() || !CanStart(data)) return;
  const int64_t since = data.trials - data.renewed_at;
  const int64_t renew_after =
      std::max(options_.renew_trials, static_cast<int64_t>(data.make_ms / 2));
  if (since < (data.sets.size() < kSets ? kTrialsBeforeSecond : renew_after)) return;
  data.renewed_at = data.trials;
  Begin(data, seed);
}

void ReferenceStore::AddTo(std::vector<pollfd>& waiting) const {
  for (const WorkloadData& data : workloads_) {
    if (data.maker) waiting.push_back({data.maker->pipe(), POLLIN, 0});
  }
}

int ReferenceStore::makers() const {
  return static_cast<int>(std::count_if(workloads_.begin(), workloads_.end(),
                                        [](const WorkloadData& d) { return d.maker.has_value(); }));
}

void ReferenceStore::Collect() {
  for (WorkloadData& data : workloads_) {
    if (!data.maker) continue;
    if (!data.maker->Read()) {
      Finish(data);
    } else if (data.maker->Running() > std::chrono::milliseconds(data.timeout_ms)) {
      data.maker->Kill();
      Finish(data);
      data.failure = Unavailable("the reference is not ready after " +
                                 std::to_string(data.timeout_ms) + " ms");
    }
  }
  StartQueuedMakers();
}

void ReferenceStore::Finish(WorkloadData& data) {
  data.make_ms = std::chrono::duration<double, std::milli>(data.maker->Running()).count();
  const int end = data.maker->Reap();
  const std::string report = std::move(data.maker->received());
  const std::string errors = data.maker->ErrorText();
  data.maker.reset();
  SharedMemory made = *std::exchange(data.made, std::nullopt);
  if (report != "+") {
    data.failure = Unavailable(
        "no reference: " + (report.empty() ? DescribeEnd(end) + " " + errors : report.substr(1)));
    return;
  }
  made.Protect();
  // The older set goes.
  if (data.sets.size() == kSets) data.sets.erase(data.sets.begin());
  data.sets.push_back(std::move(made));
}

void ReferenceStore::MakeRoom(int64_t bytes) {
  for (;;) {
    int64_t used = bytes;
    auto oldest = workloads_.end();
    for (auto it = workloads_.begin(); it != workloads_.end(); ++it) {
      used += BytesOf(*it);
      if (it->users > 0 || it->maker) continue;
      if (oldest == workloads_.end() || it->last_use < oldest->last_use) oldest = it;
    }
    if (used <= options_.budget_bytes || oldest == workloads_.end()) return;
    workloads_.erase(oldest);
  }
}

void ReferenceStore::StopMakers() {
  for (WorkloadData& data : workloads_) {
    if (data.maker) data.maker->Stop();
  }
}

void ReferenceStore::ContinueMakers() {
  for (WorkloadData& data : workloads_) {
    if (data.maker) data.maker->Continue();
  }
}

}  // namespace mlc::worker
