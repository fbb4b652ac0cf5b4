// How fast is a log of a million records? Builds such a log once, in the given folder, then times
// the query for the best config in this process and by a cold mlc-log, queries of a snapshot by
// several threads, and the making of a snapshot while others write.
//   log_bench FOLDER [RECORDS]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "compiler/schedule/space/family.h"
#include "db/snapshot/snapshot.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::db {
namespace {

constexpr int kWorkloads = 1000;
constexpr int kQueries = 200;
constexpr int kProcesses = 30;
constexpr double kThreadsMs = 3000;

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

WorkloadRow WorkloadAt(int n) {
  const std::string text = "workload v1 number " + std::to_string(n);
  return {mlc::DigestOf(std::string_view(text)), text, "bench " + std::to_string(n)};
}

int Version() { return schedule::FindFamily("contraction")->version(); }

Record RecordAt(int64_t n, Rng& rng) {
  Record record;
  record.task_uid = Digest{0, static_cast<uint64_t>(n)};
  record.workload = WorkloadAt(static_cast<int>(n % kWorkloads)).key;
  record.target = "cpu avx512 threads=2";
  // Of the version that this build generates: queries skip all others.
  record.config = "contraction/" + std::to_string(Version()) + " mr=" + std::to_string(n % 14) +
                  " nr=2 kc=" + std::to_string(n);
  Measurement& m = record.measurement;
  m.outcome = n % 10 == 0 ? Outcome::kRunError : Outcome::kOk;
  if (m.outcome == Outcome::kOk) {
    m.median_ns = 1e5 * (1 + rng.Uniform());
    m.p10_ns = m.median_ns;
    m.p90_ns = m.median_ns;
    m.runs = 11;
  }
  record.worker = "bench";
  record.arm = "random";
  return record;
}

Status Build(const std::string& path, int64_t records) {
  std::unique_ptr<TuningLog> log = MLC_TRY(OpenSqliteLog(path));
  for (int n = 0; n < kWorkloads; ++n) MLC_TRY(log->AddWorkload(WorkloadAt(n)));
  Rng rng(1);
  const auto start = Clock::now();
  for (int64_t n = 0; n < records; ++n) {
    log->Append(RecordAt(n, rng), [](const Result<Appended>&) {});
    if (n % 4096 == 4095) MLC_TRY(log->Flush());
  }
  MLC_TRY(log->Flush());
  std::printf("built %lld records in %.1f s\n", static_cast<long long>(records),
              MsSince(start) / 1000);
  return Status();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status TimeInProcess(const std::string& path) {
  std::vector<double> opened;
  std::vector<double> times;
  for (int n = 0; n < kQueries; ++n) {
    const auto start = Clock::now();
    std::unique_ptr<TuningLog> log = MLC_TRY(OpenSqliteLogForReading(path));
    (void)MLC_TRY(log->Best(WorkloadAt(n * 7 % kWorkloads).key, "cpu avx512 threads=2", 1));
    opened.push_back(MsSince(start));
    const auto again = Clock::now();
    (void)MLC_TRY(log->Best(WorkloadAt(n * 11 % kWorkloads).key, "cpu avx512 threads=2", 1));
    times.push_back(MsSince(again));
  }
  std::printf("open and best: %.3f ms; best again: %.3f ms (medians of %d)\n", Median(opened),
              Median(times), kQueries);
  return Status();
}

// Queries a second of all threads together, each about another workload.
Status TimeThreads(const std::string& path, int threads) {
  std::unique_ptr<TuningLog> log = MLC_TRY(OpenSqliteLogForReading(path));
  std::atomic<int64_t> queries = 0, failed = 0;
  const auto start = Clock::now();
  {
    std::vector<std::jthread> askers;
    for (int t = 0; t < threads; ++t) {
      askers.emplace_back([&, t] {
        std::vector<Digest> keys;
        for (int n = 0; n < kWorkloads; ++n) {
          // All trials of every tenth failed.
          if (n % 10 != 0) keys.push_back(WorkloadAt(n).key);
        }
        for (size_t n = static_cast<size_t>(t) * 7; MsSince(start) < kThreadsMs; n += 11) {
          const auto best = log->Best(keys[n % keys.size()], "cpu avx512 threads=2", 1);
          ++(best.ok() && best->size() == 1 ? queries : failed);
        }
      });
    }
  }
  if (failed > 0) return Internal("a query found nothing");
  std::printf("%d threads ask a snapshot: %.0f queries a second\n", threads,
              static_cast<double>(queries) * 1000 / MsSince(start));
  return Status();
}

// Commits go on while the copy is made, and wait no longer than without it.
Status TimeSnapshot(const std::string& path, const std::string& folder,
                    const std::string& snapshot) {
  const std::string live = folder + "/live.db";
  std::filesystem::copy_file(path, live, std::filesystem::copy_options::overwrite_existing);
  std::unique_ptr<TuningLog> log = MLC_TRY(OpenSqliteLog(live));
  std::atomic<bool> stop = false;
  std::vector<double> alone, meanwhile;
  std::atomic<bool> copying = false;
  std::jthread writer([&] {
    Rng rng(2);
    for (int64_t n = int64_t{1} << 40; !stop; ++n) {
      const bool before = copying;
      const auto start = Clock::now();
      if (!AppendAndWait(*log, RecordAt(n, rng)).ok()) break;
      (before || copying ? meanwhile : alone).push_back(MsSince(start));
    }
  });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  copying = true;
  const auto start = Clock::now();
  const Result<SnapshotInfo> info = WriteSnapshot(live, snapshot);
  const double ms = MsSince(start);
  copying = false;
  stop = true;
  writer.join();
  MLC_TRY(info.status());
  if (alone.empty() || meanwhile.empty()) return Internal("nothing was written meanwhile");
  std::printf(
      "snapshot of %lld records: %.2f s; commits one by one: median %.1f ms, longest %.1f "
      "ms; meanwhile %.1f and %.1f ms\n",
      static_cast<long long>(info->records), ms / 1000, Median(alone),
      *std::max_element(alone.begin(), alone.end()), Median(meanwhile),
      *std::max_element(meanwhile.begin(), meanwhile.end()));
  log.reset();
  std::filesystem::remove(live);
  return Status();
}

double RunOnce(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.data()));
  words.push_back(nullptr);
  std::fflush(stdout);  // or the child would print it again
  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(1);
    execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0 ? MsSince(start) : -1;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: log_bench FOLDER [RECORDS]\n");
    return 2;
  }
  const int64_t records = argc > 2 ? std::atoll(argv[2]) : 1'000'000;
  const std::string path = std::string(argv[1]) + "/bench-" + std::to_string(records) + "-v" +
                           std::to_string(Version()) + ".db";
  Status status;
  if (!std::filesystem::exists(path)) status = Build(path, records);
  if (status.ok()) status = TimeInProcess(path);
  const std::string snapshot = std::string(argv[1]) + "/snapshot.db";
  if (status.ok()) status = TimeSnapshot(path, argv[1], snapshot);
  for (int threads : {1, 2}) {
    if (status.ok()) status = TimeThreads(snapshot, threads);
  }
  std::filesystem::remove(snapshot);
  if (!status.ok()) {
    std::fprintf(stderr, "log_bench: %s\n", status.ToString().c_str());
    return 1;
  }
  const std::string tool =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/mlc-log")
          .string();
  std::vector<double> times;
  for (int n = 0; n < kProcesses; ++n) {
    times.push_back(RunOnce({tool, "best", path, WorkloadAt(n * 13 % kWorkloads).key.ToText()}));
    if (times.back() < 0) {
      std::fprintf(stderr, "log_bench: %s best failed\n", tool.c_str());
      return 1;
    }
  }
  std::printf("mlc-log best, whole process: %.2f ms (median of %d)\n", Median(times), kProcesses);
  return 0;
}

}  // namespace
}  // namespace mlc::db

int main(int argc, char** argv) { return mlc::db::Main(argc, argv); }
