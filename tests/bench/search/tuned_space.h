// The space of a user-supplied kernel with tunable parameters: the search sees it as it does in a
// job. It is read from a cache of Kernel Tuner with two more members, `kernel`, the specification
// with its source, and `target`, a target's text. Immutable.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "compiler/target/target.h"
#include "tests/bench/search/recorded_space.h"

namespace mlc::bench {

// A point has the place of the value of each parameter.
class TunedSpace : public RecordedSpace {
 public:
  // REQUIRES: as RecordedSpace; the rows are of configs that the kernel's conditions allow.
  TunedSpace(std::string problem, std::string device, Domains domains, Rows rows,
             schedule::TunedKernel kernel, target::Target target);

  std::unique_ptr<server::CandidateSource> Source(Blind blind) const override;

 private:
  schedule::TunedKernel kernel_;
  target::Target target_;
};

// INVALID_ARGUMENT or DATA_LOSS for what is no such file.
Result<SpaceRef> ReadTunedSpace(const SpaceFile& file);

}  // namespace mlc::bench
