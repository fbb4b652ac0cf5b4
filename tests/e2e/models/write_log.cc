// Writes a tuning log as mlc-tune would: one record for every task of the given models, on this
// machine, with each family's own choice of config; with --faster or --slower one more, of another
// config that takes half or 1.2 times as long; with --apart of the model with products of one value
// apart, in NS nanoseconds each, where the log has no record yet. The times are made up.
//   write_log LOG THREADS [--faster | --slower | --apart NS] [MODEL...]
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/rng.h"
#include "compiler/front/front.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::testing {
namespace {

Status AddRecord(const graph::Workload& workload, const target::Target& target,
                 const schedule::Config& config, double ns, db::TuningLog& log) {
  db::Record record;
  record.workload = workload.digest();
  record.target = target.ClassText();
  record.config = config.ToText();
  record.task_uid = DigestOf("trial of " + record.config + workload.ToText());
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = ns;
  record.measurement.p10_ns = 0.95 * ns;
  record.measurement.p90_ns = 1.05 * ns;
  record.measurement.runs = 9;
  record.arm = "seed";
  record.created_us = 1;
  const std::optional<db::Record> there = MLC_TRY(log.Find(record.task_uid));
  if (there) return {};
  MLC_TRY(db::AppendAndWait(log, record));
  return {};
}

// Another config than the family's own choice, the same one every time.
schedule::Config Another(const graph::Workload& workload, const target::Target& target,
                         const schedule::Family& family) {
  const schedule::Config usual = family.Default(workload, target);
  const schedule::Space space = family.MakeSpace(workload, target);
  Rng rng(1);
  for (int tries = 0; tries < 1000; ++tries) {
    const auto points = static_cast<uint64_t>(space.NumPoints());
    schedule::Config config = space.At(static_cast<int64_t>(rng.Below(points)));
    if (family.Check(workload, target, config) == schedule::RejectReason::kNone &&
        config != usual) {
      return config;
    }
  }
  return usual;
}

struct Times {
  double ns = 2000;
  double another_ns = 0;  // 0: of the usual config alone
  bool apart = false;
};

Status AddModel(const std::string& model, const target::Target& target, const Times& times,
                db::TuningLog& log) {
  front::FrontOptions front;
  if (times.apart) front.skip.insert("merge_siblings");
  const graph::Program program = MLC_TRY(front::CompileFront(model, {}, front));
  for (const graph::Task& task : program.tasks) {
    const graph::Workload& workload = task.workload;
    MLC_TRY(log.AddWorkload({workload.digest(), workload.ToText(), workload.Summary()}));
    const schedule::Family& family = *schedule::FamiliesFor(workload, target).at(0);
    MLC_TRY(AddRecord(workload, target, family.Default(workload, target), times.ns, log));
    if (times.another_ns == 0) continue;
    const schedule::Config another = Another(workload, target, family);
    if (another == family.Default(workload, target)) continue;
    MLC_TRY(AddRecord(workload, target, another, times.another_ns, log));
  }
  return {};
}

Status Write(int argc, char** argv) {
  const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLog(argv[1]));
  const target::Target target = target::DetectHost(std::atoi(argv[2]));
  const std::string flag = argc > 3 ? argv[3] : "";
  Times times;
  if (flag == "--faster") times.another_ns = 1000;
  if (flag == "--slower") times.another_ns = 2400;
  times.apart = flag == "--apart" && argc > 4;
  if (times.apart) times.ns = std::atof(argv[4]);
  for (int i = times.apart ? 5 : times.another_ns > 0 ? 4 : 3; i < argc; ++i) {
    MLC_TRY(AddModel(argv[i], target, times, *log));
  }
  return log->Flush();
}

}  // namespace
}  // namespace mlc::testing

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const mlc::Status status = mlc::testing::Write(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
