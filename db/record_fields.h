// The fields of a record, once: the columns of the log, the keys of exported lines, validation and
// tests follow from these tables and base/measurement.h. Values, known at compile time.
#pragma once

#include <algorithm>
#include <tuple>

#include "base/fields.h"
#include "base/measurement.h"
#include "db/record.h"

namespace mlc::db {

// Before the measurement.
inline constexpr std::tuple kSubjectFields{
    Field{&Record::task_uid, {.name = "task_uid", .label = "task uid"}},
    Field{&Record::job_id, {.name = "job_id", .label = "job"}},
    Field{&Record::workload, {.name = "workload", .label = "workload"}},
    Field{&Record::target, {.name = "target", .label = "target"}},
    Field{&Record::config, {.name = "config", .label = "config"}},
};

// In the middle of the measurement, after cold_ns.
inline constexpr Field kFloorField{
    &Record::floor_ns, {.name = "floor_ns", .label = "floor", .unit = "ns", .limit = kMaxTimeNs}};

// After the measurement. New rows go to the end.
inline constexpr std::tuple kProvenanceFields{
    Field{&Record::toolchain, {.name = "toolchain", .label = "toolchain"}},
    Field{&Record::worker, {.name = "worker", .label = "worker"}},
    Field{&Record::arm, {.name = "arm", .label = "arm"}},
    Field{&Record::predicted_rank, {.name = "predicted_rank", .label = "rank"}},
    Field{&Record::seed, {.name = "seed", .label = "seed"}},
    Field{&Record::created_us,
          {.name = "created_us", .label = "time", .unit = "us", .range = Range::kAny}},
};

// visit(const FieldInfo&, value) for each field but `id`, in the order of the log's columns and of
// exported lines. `record` may be const.
template <MaybeConst<Record> R, typename Visit>
void VisitFields(R& record, Visit&& visit) {
  VisitTable(kSubjectFields, record, visit);
  mlc::VisitFields(record.measurement, [&](const FieldInfo& field, auto& value) {
    visit(field, value);
    if (field.name == "cold_ns") visit(kFloorField.info, record.*(kFloorField.member));
  });
  VisitTable(kProvenanceFields, record, visit);
}

// Whether a record of the first version, which lacks the field, has this value.
template <typename T>
bool IsAbsent(const FieldInfo& field, const T& value) {
  return field.since > 1 && value == T();
}

// The newest version that a field came with.
constexpr int NewestField() {
  const auto newest = [](const auto&... field) { return std::max({1, field.info.since...}); };
  return std::max({std::apply(newest, kSubjectFields), std::apply(newest, kMeasurementFields),
                   std::apply(newest, kProvenanceFields)});
}

}  // namespace mlc::db
