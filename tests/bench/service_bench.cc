// How much does one mlc-server carry? A server process behind mTLS on loopback; 256 workers, each
// with its own connection, that call as real ones do and whose trials only take time; jobs of
// several users with real searches; builds that ask for whole models meanwhile. At the end every
// acknowledged result has to be in the log, once.
//   service_bench FOLDER [--seconds 60] [--workers 256] [--rate 1000] [--best 0] [--jobs 24] ...
// With --go-on it begins with the log that an earlier run left: what a long run comes to, at once.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "compiler/target/target.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/bench/service_clients.h"
#include "tests/bench/service_host.h"
#include "tests/bench/service_workers.h"

namespace mlc::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::string folder;
  std::string trace;
  bool go_on = false;
  int seconds = 60;
  int warmup = 15;
  int search_threads = 2;
  double best = 0;
  FleetOptions fleet;
  JobsOptions jobs;
};

double Percentile(std::vector<double>& values, double part) {
  if (values.empty()) return NAN;
  const auto place = static_cast<size_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(place), values.end());
  return values[place];
}

// What a stall of one second looks like; a mean would hide it.
class Trace {
 public:
  explicit Trace(const std::string& path)
      : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "w"), &std::fclose) {
    if (file_ == nullptr) return;
    std::fputs(
        "second results ack_p50_ms ack_p99_ms ack_longest_ms best_p99_ms cpu_s mib wal_mib\n",
        file_.get());
  }
  void Add(int second, ServiceWorkers::Seen& work, BestLoad::Seen& best,
           const ServiceHost::Cost& cost, const std::string& log) {
    if (file_ == nullptr) return;
    std::error_code absent;
    const auto wal = std::filesystem::file_size(log + "-wal", absent);
    std::fprintf(file_.get(), "%d %lld %.1f %.1f %.1f %.1f %.2f %.0f %.1f\n", second,
                 static_cast<long long>(work.acknowledged), Percentile(work.acknowledge_ms, 0.5),
                 Percentile(work.acknowledge_ms, 0.99), Percentile(work.acknowledge_ms, 1),
                 Percentile(best.latency_ms, 0.99), cost.cpu_s - cpu_s_, cost.resident_mib,
                 absent ? 0 : static_cast<double>(wal) / (1 << 20));
    std::fflush(file_.get());
    cpu_s_ = cost.cpu_s;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  double cpu_s_ = 0;
};

void Append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

struct Measured {
  ServiceWorkers::Seen work;
  BestLoad::Seen best;
  double seconds = 0;
  double cpu_s = 0;
  double most_mib = 0;
  int64_t slowest_second = INT64_MAX;  // results acknowledged in it
};

void Print(const Flags& flags, Measured& m) {
  std::printf("%d workers, %d jobs at once, %.0f s: %.0f results/s (least in one second %lld)\n",
              flags.fleet.workers, flags.jobs.running, m.seconds,
              static_cast<double>(m.work.acknowledged) / m.seconds,
              static_cast<long long>(m.slowest_second));
  std::printf("sent to acknowledged: p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n",
              Percentile(m.work.acknowledge_ms, 0.5), Percentile(m.work.acknowledge_ms, 0.99),
              Percentile(m.work.acknowledge_ms, 1));
  std::printf("a worker between two trials: p50 %.1f ms, p99 %.1f ms\n",
              Percentile(m.work.gap_ms, 0.5), Percentile(m.work.gap_ms, 0.99));
  std::printf("calls of workers: %.0f/s, failed %lld, results refused %lld\n",
              static_cast<double>(m.work.calls) / m.seconds,
              static_cast<long long>(m.work.failed_calls), static_cast<long long>(m.work.refused));
  if (flags.best > 0) {
    std::printf(
        "Best of %d workloads: %.0f calls/s, failed %lld, %.1f configs a call, p50 %.1f "
        "ms, p99 %.1f ms\n",
        flags.jobs.tasks, static_cast<double>(m.best.calls) / m.seconds,
        static_cast<long long>(m.best.failed),
        static_cast<double>(m.best.configs) / static_cast<double>(m.best.calls),
        Percentile(m.best.latency_ms, 0.5), Percentile(m.best.latency_ms, 0.99));
  }
  std::printf("server: %.2f CPUs, at most %.0f MiB\n", m.cpu_s / m.seconds, m.most_mib);
}

// Seconds are looked at one by one, so that a stall cannot hide in a mean.
Measured Measure(const Flags& flags, const ServiceHost& host, ServiceWorkers& workers,
                 BestLoad* best) {
  std::this_thread::sleep_for(std::chrono::seconds(flags.warmup));
  Measured m;
  Trace trace(flags.trace);
  (void)workers.Take();
  if (best != nullptr) (void)best->Take();
  const double cpu_before = host.CostNow().cpu_s;
  const auto start = Clock::now();
  for (int second = 1; second <= flags.seconds; ++second) {
    std::this_thread::sleep_until(start + std::chrono::seconds(second));
    ServiceWorkers::Seen work = workers.Take();
    m.slowest_second = std::min(m.slowest_second, work.acknowledged);
    m.work.acknowledged += work.acknowledged;
    m.work.calls += work.calls;
    m.work.failed_calls += work.failed_calls;
    m.work.refused += work.refused;
    Append(m.work.acknowledge_ms, work.acknowledge_ms);
    Append(m.work.gap_ms, work.gap_ms);
    BestLoad::Seen asked = best == nullptr ? BestLoad::Seen() : best->Take();
    const ServiceHost::Cost cost = host.CostNow();
    trace.Add(second, work, asked, cost, host.log());
    m.most_mib = std::max(m.most_mib, cost.resident_mib);
    if (second % 10 == 0) {
      std::fprintf(stderr, "%4d s: %lld results in the last second, %.0f MiB, %d threads\n", second,
                   static_cast<long long>(work.acknowledged), cost.resident_mib, cost.threads);
    }
    m.best.calls += asked.calls;
    m.best.failed += asked.failed;
    m.best.configs += asked.configs;
    Append(m.best.latency_ms, asked.latency_ms);
  }
  m.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  m.cpu_s = host.CostNow().cpu_s - cpu_before;
  return m;
}

// What was acknowledged is in the log, and nothing else of this run is.
Result<bool> Check(const std::string& path, int64_t after_id, const ServiceWorkers& workers) {
  std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLogForReading(path));
  int64_t lost = 0, twice = 0, unknown = 0, records = 0;
  std::map<Digest, int> stored;
  db::RecordQuery page;
  page.limit = 10'000;
  page.after_id = after_id;
  for (;;) {
    const std::vector<db::Record> found = MLC_TRY(log->List(page));
    if (found.empty()) break;
    for (const db::Record& record : found) ++stored[record.task_uid];
    page.after_id = found.back().id;
  }
  for (const auto& [uid, count] : stored) {
    records += count;
    twice += count > 1 ? 1 : 0;
    unknown += workers.acknowledged().contains(uid) ? 0 : 1;
  }
  for (const auto& [uid, count] : workers.acknowledged()) lost += stored.contains(uid) ? 0 : 1;
  std::printf(
      "%lld results acknowledged, %lld records; lost %lld, twice %lld, not acknowledged "
      "%lld\n",
      static_cast<long long>(workers.acknowledged().size()), static_cast<long long>(records),
      static_cast<long long>(lost), static_cast<long long>(twice), static_cast<long long>(unknown));
  return lost == 0 && twice == 0 && unknown == 0;
}

Status Run(Flags& flags, bool& good) {
  target::Target target = target::DetectHost(2);
  target.fma_gflops = 200;
  target.copy_gbps = 20;
  flags.fleet.target = flags.jobs.target = target.ToText();
  const std::string path = flags.folder + "/tuning.db";
  int64_t last_id = 0;
  if (flags.go_on) {
    std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLogForReading(path));
    const db::LogStats before = MLC_TRY(log->Stats());
    last_id = before.last_id;
    flags.jobs.first = static_cast<int>(before.jobs);
  } else {
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part);
  }
  const auto root = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  // Canaries run the worker's own kernels, which these workers have not.
  const std::vector<std::string> more = {"--canaries", "off", "--search-threads",
                                         std::to_string(flags.search_threads)};
  auto host = MLC_TRY(ServiceHost::Start((root / "bin").string(), flags.folder, more));
  {
    JobSupply jobs(*host, flags.jobs);
    ServiceWorkers workers(*host, flags.fleet);
    std::unique_ptr<BestLoad> best;
    if (flags.best > 0) {
      best = std::make_unique<BestLoad>(*host, jobs, target.ClassText(), flags.best);
    }
    Measured measured = Measure(flags, *host, workers, best.get());
    best.reset();
    Print(flags, measured);
    std::printf("%d jobs were submitted%s\n", jobs.submitted(),
                jobs.WhyEarly().empty() ? "" : ("; one " + jobs.WhyEarly()).c_str());
    if (!workers.Drain(60'000)) return Internal("the workers did not get rid of their results");
    good = MLC_TRY(Check(host->log(), last_id, workers));
  }
  if (const int code = host->Stop(); code != 0) {
    return Internal("mlc-server ended with code " + std::to_string(code));
  }
  return Status();
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  mlc::bench::Flags flags;
  CLI::App app("service_bench: an mlc-server under load", "service_bench");
  app.add_option("folder", flags.folder, "for log and certificates")->required();
  app.add_option("--seconds", flags.seconds, "of measuring")->capture_default_str();
  app.add_option("--warmup", flags.warmup, "seconds before that")->capture_default_str();
  app.add_option("--workers", flags.fleet.workers)->capture_default_str();
  app.add_option("--rate", flags.fleet.results_per_second, "results a second of all workers")
      ->capture_default_str();
  app.add_option("--slots", flags.fleet.slots, "trials a worker holds")->capture_default_str();
  app.add_option("--best", flags.best, "Best calls a second")->capture_default_str();
  app.add_option("--jobs", flags.jobs.running, "at once")->capture_default_str();
  app.add_option("--tasks", flags.jobs.tasks, "of a job")->capture_default_str();
  app.add_option("--trials", flags.jobs.trials, "of a job")->capture_default_str();
  app.add_option("--batch", flags.jobs.batch, "of a job")->capture_default_str();
  app.add_flag("--go-on", flags.go_on, "with the log that is there, and jobs that it has not seen");
  app.add_option("--trace", flags.trace, "file for what each second was like");
  app.add_option("--search-threads", flags.search_threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  bool good = false;
  const mlc::Status status = mlc::bench::Run(flags, good);
  if (!status.ok()) std::fprintf(stderr, "service_bench: %s\n", status.ToString().c_str());
  return status.ok() && good ? 0 : 1;
}
