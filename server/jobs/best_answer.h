// The question of a build to the log and the answer: the best configs of workloads and of similar
// workloads. Plain values; server/api converts them from and to messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/measurement.h"

namespace mlc::server {

struct BestQuestion {
  std::vector<std::string> workloads;  // digests, 32 hexadecimal digits
  std::string target;                  // class text; empty: the answer lists the classes
  int32_t candidates = 0;              // configs of each workload
  std::vector<std::string> kernels;    // families that the caller generates; empty: all
  std::vector<std::string> texts;      // of the workloads; none: no similar ones are wanted
};

// A measured config. If `config` is empty, the workload has no record.
struct MeasuredConfig {
  std::string config;
  Measurement measurement;
  Digest record;  // its task_uid
};

// The answer for one workload of the question.
struct BestConfig {
  MeasuredConfig best;
  std::vector<MeasuredConfig> others;  // the next best ones
  std::vector<int32_t> similar;        // indices into BestAnswer::similar; only if it has no record
};

// A workload similar to one without a record.
struct SimilarConfigs {
  std::string workload;              // text
  std::vector<MeasuredConfig> best;  // fastest first; of the measurements, outcome and median
  double default_ns = 0;             // of its family's default config; 0: not measured
};

struct BestAnswer {
  std::vector<BestConfig> best;  // in the order of the question
  std::vector<SimilarConfigs> similar;
  std::vector<std::string> targets;  // classes with records, if the question names none
};

// Approximate size in memory and in a message.
inline size_t BytesOf(const MeasuredConfig& config) {
  return sizeof(config) + config.config.size() + config.measurement.detail.size();
}
inline size_t BytesOf(const BestConfig& best) {
  size_t bytes = BytesOf(best.best) + best.similar.size() * sizeof(int32_t);
  for (const MeasuredConfig& other : best.others) bytes += BytesOf(other);
  return bytes;
}

}  // namespace mlc::server
