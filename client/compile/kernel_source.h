// The source of measured kernels for a build: a log, a snapshot or a server's answer. All give the
// same choices for the same records. Use it from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/graph/workload.h"
#include "costmodel/transfer.h"
#include "db/tuning_log.h"

namespace mlc::client {

struct KnownKernel {
  std::string config;
  Digest record;
  double median_ns = 0;
};

// A similar workload, and the records behind similar->best in the same order.
struct KnownSimilar {
  const costmodel::SimilarWorkload* similar;
  const std::vector<Digest>* records;
};

class KernelSource {
 public:
  using Accept = std::function<bool(const std::string& config)>;

  virtual ~KernelSource() = default;
  // The best record whose config `accept` returns true for.
  virtual Result<std::optional<KnownKernel>> Best(const graph::Workload& workload,
                                                  const Accept& accept) = 0;
  // Similar workloads with records, nearest first. The pointers are valid during the lifetime of
  // this object.
  virtual Result<std::vector<KnownSimilar>> Near(const graph::Workload& workload) = 0;
};

// Which record is the best one.
enum class Winner : uint8_t {
  kFastest,  // db/confirmed_best.h
  kKept,     // db/kept_best.h; then answers are the same for any order of the log's records
};

// Borrows the log. `target`: a class text.
std::unique_ptr<KernelSource> MakeLogSource(const db::TuningLog& log, std::string target,
                                            Winner winner = Winner::kFastest);

}  // namespace mlc::client
