// What does a log of many devices cost a new job? Writes a log with records of real spaces of many
// workloads on many devices, in which one device and the workloads of one model have most, then
// times what a server does before the first trial of that model's job: it opens the log, reads what
// helps, and starts the search. Prints one JSON object a line. With logs=N also N logs of 2 % as
// many records each, and their merging into the large one.
//   knowledge_bench FOLDER [records=1000000] [devices=50] [workloads=20000] [tasks=64] [logs=0]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/steady_time.h"
#include "compiler/schedule/space/family.h"
#include "db/snapshot/merge.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_log.h"
#include "server/jobs/job_request.h"
#include "server/jobs/search_input.h"
#include "server/search/portfolio_strategy.h"
#include "tests/bench/arguments.h"

namespace mlc::bench {
namespace {

struct Scale {
  int64_t records = 1'000'000;
  int64_t devices = 50;
  int64_t workloads = 20'000;
  int64_t tasks = 64;
  int64_t logs = 0;
};

target::Target DeviceAt(int64_t n) {
  target::Target target;
  target.cpu().threads = static_cast<int>(n) + 1;
  target.fma_gflops = 100.0 * static_cast<double>(n + 1);
  target.copy_gbps = 10;
  return target;
}

graph::Workload WorkloadAt(int64_t n) {
  graph::Graph graph;
  graph::TensorType left, right;
  left.dims = {8 + 8 * (n % 160), 16 + 16 * (n / 160 % 16)};
  right.dims = {left.dims[1], 32 + 32 * (n / 2560)};
  graph::Value product;
  product.op = graph::Op::kMatMul;
  product.operands = {graph.Input(left), graph.Input(right)};
  product.type.dims = {left.dims[0], right.dims[1]};
  graph.outputs() = {graph.Add(product)};
  return *graph::Workload::Create(std::move(graph), 1e-4);
}

// A workload with the space of its first family.
struct Entry {
  db::WorkloadRow row;
  schedule::Space space;
  double ns = 0;  // of a good config on the first device
};

std::vector<Entry> EntriesOf(const Scale& scale) {
  std::vector<Entry> entries;
  for (int64_t n = 0; n < scale.workloads; ++n) {
    const graph::Workload workload = WorkloadAt(n);
    const target::Target target = DeviceAt(0);
    const schedule::Family& family = *schedule::FamiliesFor(workload, target).front();
    entries.push_back({{workload.digest(), workload.ToText(), workload.Summary()},
                       family.MakeSpace(workload, target),
                       1000 + workload.Flops() / 50});
  }
  return entries;
}

// A third of all records is of the first device, and half of each device's of the model's tasks.
db::Record RecordAt(uint64_t n, const Scale& scale, const std::vector<Entry>& entries,
                    const std::vector<std::string>& targets, Rng& rng) {
  const size_t device = rng.Below(3) == 0 ? 0 : rng.Below(targets.size());
  const size_t place =
      rng.Below(2) == 0 ? rng.Below(static_cast<uint64_t>(scale.tasks)) : rng.Below(entries.size());
  const Entry& entry = entries[place];
  db::Record record;
  record.task_uid = Digest{n + 1, 7};
  record.job_id = Digest{n / 2000 + 1, 1};
  record.workload = entry.row.key;
  record.target = targets[device];
  record.config =
      entry.space
          .At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(entry.space.NumPoints()))))
          .ToText();
  Measurement& m = record.measurement;
  m.outcome = rng.Below(20) == 0 ? Outcome::kRunError : Outcome::kOk;
  if (m.outcome == Outcome::kOk) {
    m.median_ns = entry.ns * (1 + 3 * rng.Uniform()) / static_cast<double>(device + 1);
    m.p10_ns = m.p90_ns = m.median_ns;
    m.runs = 11;
  }
  record.worker = "host-" + std::to_string(device);
  record.arm = "model";
  record.created_us = static_cast<int64_t>(1'000'000 + n);
  return record;
}

Status Write(const std::string& path, uint64_t first, int64_t count, const Scale& scale,
             const std::vector<Entry>& entries, const std::vector<std::string>& targets) {
  db::Database database = MLC_TRY(db::Database::Open(path, db::OpenMode::kReadWrite));
  MLC_TRY(database.Execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-1000000"));
  MLC_TRY(db::PrepareSchema(database, path));
  Rng rng(first + 1);
  MLC_TRY(database.Execute("BEGIN"));
  for (const Entry& entry : entries) MLC_TRY(db::InsertWorkload(database, entry.row));
  for (int64_t n = 0; n < count; ++n) {
    const db::Record record =
        RecordAt(first + static_cast<uint64_t>(n), scale, entries, targets, rng);
    MLC_TRY(db::InsertRecord(database, record).status());
    if (n % 100'000 == 99'999) MLC_TRY(database.Execute("COMMIT; BEGIN"));
  }
  MLC_TRY(database.Execute("COMMIT"));
  return database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

db::JobRow JobOf(const Scale& scale, const std::vector<Entry>& entries) {
  server::JobOptions options;
  options.trials = 2000;
  db::JobRow job;
  job.id = Digest{1, 3};
  job.target = DeviceAt(0).ToText();
  job.options = options.ToText();
  job.watermark = INT64_MAX;
  for (int64_t n = 0; n < scale.tasks; ++n) {
    job.tasks.push_back({entries[static_cast<size_t>(n)].row.key, 1, ""});
  }
  return job;
}

double PeakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Of this process: the machine may be busy with others.
double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentMiB() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  return resident * 4 / 1024;
}

// `again`: the index of workloads is there, as for every job of a server but the first.
Status WarmStart(db::TuningLog& log, server::WorkloadIndex& index, const db::JobRow& job,
                 bool again) {
  const double start = NowSeconds();
  const double cpu = CpuSeconds();
  server::SearchInput input = MLC_TRY(server::SearchInputOf(log, index, job));
  const double read = NowSeconds();
  size_t prior = 0;
  for (const server::SearchTask& task : input.tasks) prior += task.prior.size();
  const size_t related = input.related.size();
  const std::unique_ptr<server::Strategy> strategy =
      server::MakePortfolioStrategy(std::move(input));
  const double made = NowSeconds();
  const size_t proposals = strategy->Propose(16).size();
  const double proposed = NowSeconds();
  std::printf(
      "{\"what\": \"warm start\", \"again\": %s, \"read_s\": %.3f, \"search_s\": %.3f, "
      "\"propose_s\": %.3f, \"sum_s\": %.3f, \"cpu_s\": %.3f, \"prior\": %zu, \"related\": %zu, "
      "\"proposals\": %zu, \"resident_mib\": %.1f, \"peak_mib\": %.1f}\n",
      again ? "true" : "false", read - start, made - read, proposed - made, proposed - start,
      CpuSeconds() - cpu, prior, related, proposals, ResidentMiB(), PeakMiB());
  std::fflush(stdout);
  return Status();
}

Status Run(const std::string& folder, const Scale& scale) {
  const std::vector<Entry> entries = EntriesOf(scale);
  std::vector<std::string> targets;
  for (int64_t n = 0; n < scale.devices; ++n) targets.push_back(DeviceAt(n).ClassText());
  const std::string path = folder + "/knowledge-" + std::to_string(scale.records) + ".db";
  if (!std::filesystem::exists(path)) {
    const double start = NowSeconds();
    MLC_TRY(Write(path, 0, scale.records, scale, entries, targets));
    std::printf("{\"what\": \"written\", \"records\": %lld, \"mb\": %.0f, \"seconds\": %.1f}\n",
                static_cast<long long>(scale.records),
                static_cast<double>(std::filesystem::file_size(path)) / 1e6, NowSeconds() - start);
    std::fflush(stdout);
  }
  {
    const double start = NowSeconds();
    const auto log = MLC_TRY(db::OpenSqliteLog(path));
    server::WorkloadIndex index(*log);
    std::printf("{\"what\": \"open\", \"seconds\": %.4f, \"resident_mib\": %.1f}\n",
                NowSeconds() - start, ResidentMiB());
    const db::JobRow job = JobOf(scale, entries);
    for (const bool again : {false, true, true}) MLC_TRY(WarmStart(*log, index, job, again));
  }
  for (int64_t n = 0; n < scale.logs; ++n) {
    const std::string other = folder + "/other-" + std::to_string(n) + ".db";
    for (const char* end : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(other + end);
    const auto first = static_cast<uint64_t>(n + 1) << 40;
    MLC_TRY(Write(other, first, scale.records / 50, scale, entries, targets));
    const double start = NowSeconds();
    const db::MergeCounts counts = MLC_TRY(db::Merge(path, other, db::Trust::kAll));
    const double merged = NowSeconds();
    MLC_TRY(db::Merge(path, other, db::Trust::kAgreeing).status());
    std::printf(
        "{\"what\": \"merge\", \"read\": %lld, \"added\": %lld, \"seconds\": %.2f, "
        "\"again_judged_s\": %.2f, \"peak_mib\": %.1f}\n",
        static_cast<long long>(counts.read), static_cast<long long>(counts.added), merged - start,
        NowSeconds() - merged, PeakMiB());
    std::fflush(stdout);
  }
  return Status();
}

int Main(int argc, char** argv) {
  Scale scale;
  const std::map<std::string, int64_t*> figures = {{"records", &scale.records},
                                                   {"devices", &scale.devices},
                                                   {"workloads", &scale.workloads},
                                                   {"tasks", &scale.tasks},
                                                   {"logs", &scale.logs}};
  std::string folder;
  for (const Argument& argument : Arguments(argc, argv)) {
    const auto figure = figures.find(argument.key);
    if (argument.has_value && figure != figures.end()) {
      *figure->second = std::atoll(argument.value.c_str());
    } else {
      folder = argument.word;
    }
  }
  if (folder.empty() || scale.tasks > scale.workloads) {
    std::fprintf(stderr,
                 "usage: knowledge_bench FOLDER [records=1000000] [devices=50] [workloads=20000] "
                 "[tasks=64] [logs=0]\n");
    return 2;
  }
  const Status status = Run(folder, scale);
  if (status.ok()) return 0;
  std::fprintf(stderr, "knowledge_bench: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) { return mlc::bench::Main(argc, argv); }
