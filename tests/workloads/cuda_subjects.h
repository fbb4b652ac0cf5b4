// What random trials of the CUDA families are about: a family, the workloads that are drawn for it,
// and the part of its space that is looked at. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "compiler/target/target.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

struct CudaSubject {
  const char* name;
  const char* family;
  RandomWorkload (*draw)(Rng& rng);
  // Of |difference| over the largest |reference|; 0: the workload's tolerance is all that is asked.
  double bound = 0;
  // A knob that is at least so large in every config, or at most where that is negative; null: any
  // config. Negative knobs mean clusters.
  const char* knob = nullptr;
  int64_t least = 0;
  bool clusters = false;  // though the knob is positive

  bool Takes(int64_t value) const { return least < 0 ? value <= least : value >= least; }
  bool NeedsClusters() const { return least < 0 || clusters; }
};
std::span<const CudaSubject> CudaSubjects();

struct CudaTrial {
  std::string workload;  // canonical
  std::string config;
};
// The seed decides everything. Empty if no workload drawn has a legal config of the kind wanted: a
// mistake of the subject. REQUIRES: the generators give workloads.
std::optional<CudaTrial> DrawTrial(const CudaSubject& subject, const target::Target& target,
                                   uint64_t seed);

// What a worker says of a kernel that is right but not worth its time: no fault of the family.
bool IsCompilersRefusal(std::string_view detail);

}  // namespace mlc::schedule
