// How much of a space a log has measured: which values of each knob were tried, and how fast the
// fastest config with each of them is. For generated kernels and for kernels of --kernel.
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/log/log_commands.h"
#include "db/record.h"

namespace mlc::client {

struct ValueCoverage {
  std::string value;
  int64_t tried = 0;   // records with it, confirmations included
  double best_ns = 0;  // fastest correct one; 0: none
};

struct KnobCoverage {
  std::string name;
  std::vector<ValueCoverage> values;  // in the order of the space
};

// Of one family's space for a workload on a target, or of a specification.
struct SpaceCoverage {
  std::string space;       // "contraction/3", "user_kernel/2 gemm"
  int64_t points = 0;      // of the product of all domains
  double legal_share = 0;  // of these, estimated from a sample
  int64_t configs = 0;     // distinct ones with a record
  int64_t outside = 0;     // records whose config is no point of it
  double pairs_share = 0;  // of all pairs of values of two knobs, those that a record has
  double best_ns = 0;      // 0: no correct record
  std::vector<KnobCoverage> knobs;
};

// Of all spaces in which the log has records. FAILED_PRECONDITION for a target that this build does
// not read.
Result<std::vector<SpaceCoverage>> CoverageOf(const graph::Workload& workload,
                                              const std::string& target,
                                              const std::vector<db::Record>& records);

// Of workloads, on every target of the log unless the options name one. NOT_FOUND if the log has no
// record of any.
Result<std::string> CoverageCommand(const LogOptions& options,
                                    const std::vector<Digest>& workloads);

}  // namespace mlc::client
