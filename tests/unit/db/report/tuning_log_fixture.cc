#include "tests/unit/db/report/tuning_log_fixture.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::report {
namespace {

// The default, then legal configs of the space, each once as far as there are enough.
std::vector<std::string> ConfigsOf(const graph::Workload& workload, const target::Target& target,
                                   size_t count) {
  const schedule::Family* family = schedule::FamiliesFor(workload, target).front();
  const std::string first = family->Default(workload, target).ToText();
  std::vector<std::string> configs = {first};
  const schedule::Space space = family->MakeSpace(workload, target);
  for (int64_t rank = 0; rank < space.NumPoints() && configs.size() < count; ++rank) {
    const schedule::Config config = space.At(rank);
    if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
    if (config.ToText() != first) configs.push_back(config.ToText());
  }
  return configs;
}

db::Record RecordOf(const db::JobRow& job, const graph::Workload& workload,
                    const target::Target& target, int64_t number, double ns) {
  db::Record record;
  record.task_uid =
      DigestOf("trial " + std::to_string(number) + " of " + workload.digest().ToText());
  record.job_id = job.id;
  record.workload = workload.digest();
  record.target = target.ClassText();
  record.arm = number == 0 ? "default" : "model";
  record.predicted_rank = number;
  record.worker = "here";
  record.toolchain = "compiler 1";
  record.created_us = job.created_us + (number + 1) * 1'000'000;
  Measurement& m = record.measurement;
  m.clock_mhz = 3000;
  m.machine_speed = number % 8 == 7 ? 0.8 : 1;
  m.outcome = Outcome::kOk;
  m.median_ns = ns;
  m.p10_ns = 0.9 * ns;
  m.p90_ns = 1.1 * ns;
  m.runs = 9;
  return record;
}

void Fail(Measurement& m) {
  m.outcome = Outcome::kWrongResult;
  m.median_ns = m.p10_ns = m.p90_ns = 0;
  m.runs = 0;
  m.detail = "element 7 is wrong";
}

}  // namespace

graph::Workload ProductWorkload(int64_t columns) {
  graph::Graph graph;
  graph::TensorType left, right;
  left.dims = {64, 128};
  right.dims = {128, columns};
  graph::Value product;
  product.op = graph::Op::kMatMul;
  product.operands = {graph.Input(left), graph.Input(right)};
  product.type.dims = {64, columns};
  graph.outputs() = {graph.Add(product)};
  return *graph::Workload::Create(std::move(graph), 1e-4);
}

Result<db::JobRow> WriteTuningLog(const std::string& path, const TuningLogOptions& options) {
  const std::string hostile(kHostile);
  target::Target target = target::DetectHost(1);
  target.fma_gflops = 100;
  target.copy_gbps = 10;
  const std::array<graph::Workload, 2> workloads = {ProductWorkload(96), ProductWorkload(32)};
  db::JobRow job;
  job.id = job.base = DigestOf(std::string_view("the job of a test"));
  job.label = options.hostile ? hostile : "model.onnx";
  job.owner = options.hostile ? hostile : "";
  job.target = target.ToText();
  job.options = "{}";
  job.state = db::JobState::kDone;
  job.trials = options.trials;
  job.created_us = 1'700'000'000'000'000;
  job.tasks = {{workloads[0].digest(), 1, ""}, {workloads[1].digest(), 3, ""}};
  const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLog(path));
  for (const graph::Workload& workload : workloads) {
    const std::string summary = options.hostile ? hostile : workload.Summary();
    MLC_TRY(log->AddWorkload({workload.digest(), workload.ToText(), summary}));
  }
  MLC_TRY(log->PutJob(job));
  const int64_t each = options.trials / 2;
  for (const graph::Workload& workload : workloads) {
    const auto configs = ConfigsOf(workload, target, static_cast<size_t>(each));
    for (int64_t i = 0; i < each; ++i) {
      const double ns = 9000 - 6000 * static_cast<double>(i) /
                                   static_cast<double>(std::max<int64_t>(1, each - 2));
      db::Record record = RecordOf(job, workload, target, i, ns);
      record.config = configs[static_cast<size_t>(i) % configs.size()];
      if (i == each - 1) Fail(record.measurement);
      if (options.hostile) {
        record.arm = record.worker = record.toolchain = hostile;
        if (record.measurement.outcome != Outcome::kOk) record.measurement.detail = hostile;
      }
      log->Append(std::move(record), [](const Result<db::Appended>&) {});
    }
  }
  MLC_TRY(log->Flush());
  return job;
}

}  // namespace mlc::report
