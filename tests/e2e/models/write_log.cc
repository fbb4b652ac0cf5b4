// Writes a tuning log as mlc-tune would: one record for every task of the given models, on this
// machine, with each family's own choice of config. The times are made up.
//   write_log LOG THREADS [MODEL...]
#include <cstdio>
#include <cstdlib>

#include "compiler/front/front.h"
#include "compiler/schedule/family.h"
#include "compiler/target/target.h"
#include "db/sqlite_log.h"

namespace mlc::testing {
namespace {

Status AddModel(const std::string& model, const target::Target& target, db::TuningLog& log) {
  const graph::Program program = MLC_TRY(front::CompileFront(model, {}, {}));
  for (const graph::Task& task : program.tasks) {
    const graph::Workload& workload = task.workload;
    MLC_TRY(log.AddWorkload({workload.digest(), workload.ToText(), workload.Summary()}));
    db::Record record;
    record.workload = workload.digest();
    record.target = target.ClassText();
    record.config =
        schedule::FamiliesFor(workload, target).at(0)->Default(workload, target).ToText();
    record.task_uid = DigestOf("trial of " + record.config + workload.ToText());
    record.measurement.outcome = Outcome::kOk;
    record.measurement.median_ns = 2000;
    record.measurement.p10_ns = 1900;
    record.measurement.p90_ns = 2100;
    record.measurement.runs = 9;
    record.arm = "seed";
    record.created_us = 1;
    MLC_TRY(db::AppendAndWait(log, record));
  }
  return {};
}

Status Write(int argc, char** argv) {
  const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLog(argv[1]));
  const target::Target target = target::DetectHost(std::atoi(argv[2]));
  for (int i = 3; i < argc; ++i) MLC_TRY(AddModel(argv[i], target, *log));
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
