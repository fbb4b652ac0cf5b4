// Finds the records of workloads similar to a given one, so that their configs can be transferred
// (costmodel/transfer.h). Searches, builds and queries all use it. Not thread-safe; borrows the log
// and the index.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "costmodel/transfer.h"
#include "db/tuning_log.h"

namespace mlc::server {

class SimilarWorkloads {
 public:
  // `index` belongs to the same log. `target` is a class text. Ignores records after `up_to_id`.
  SimilarWorkloads(const db::TuningLog& log, WorkloadIndex& index, std::string target,
                   int64_t up_to_id = INT64_MAX)
      : log_(log), index_(index), target_(std::move(target)), up_to_id_(up_to_id) {}

  // The nearest other workloads with correct records on the target, nearest first, at most
  // costmodel::kMostSimilar. The pointers are valid during the lifetime of this object.
  Result<std::vector<const costmodel::SimilarWorkload*>> For(const graph::Workload& workload);
  // Key of the workload and uid of the record behind similar->best[place].
  struct Source {
    Digest workload;
    std::vector<Digest> records;  // parallel to `best`
  };
  // REQUIRES: `similar` came from this object.
  const Source& SourceOf(const costmodel::SimilarWorkload& similar) const;

 private:
  struct Entry {
    costmodel::SimilarWorkload similar;
    Source source;
  };

  Result<Entry*> EntryOf(const Digest& key);
  Status Fill(Entry& entry) const;

  const db::TuningLog& log_;
  WorkloadIndex& index_;
  const std::string target_;
  const int64_t up_to_id_;
  std::map<Digest, std::unique_ptr<Entry>> entries_;  // entries that were read
  std::map<const costmodel::SimilarWorkload*, const Entry*> sources_;
};

}  // namespace mlc::server
