// A task's kernel space that was measured on a GPU (space_record): the search sees its candidates
// as it does in a job, with their estimates and features, but only the measured ones. Immutable.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "tests/bench/search/recorded_space.h"

namespace mlc::bench {

// A point of the space is the number of a family, then the place of each knob's value, filled up
// with zeros to the length of the longest.
class KernelSpace : public RecordedSpace {
 public:
  // REQUIRES: as RecordedSpace; the rows are of legal configs of the workload on the target.
  KernelSpace(std::string problem, std::string device, Domains domains, Rows rows,
              graph::Workload workload, target::Target target);

  std::unique_ptr<server::CandidateSource> Source(Blind blind) const override;
  server::Point KeyOf(const server::PointRef& ref) const override;
  // Few of the points of the families are measured: all have to be looked at to find those.
  size_t sample_draws() const override { return size_t{1} << 21; }
  // What is recorded is the median of many executions, as a trial reports it.
  int timings_of_trial() const override { return 1; }

 private:
  graph::Workload workload_;
  target::Target target_;
};

// A file of the benchmark hub, one with its kernel (tuned_space.h), or a packed recording of a task
// (pack_spaces.py). Errors of RecordedSpace::Read.
Result<SpaceRef> ReadSpace(const std::string& path);

}  // namespace mlc::bench
