// What the log knows of workloads like a given one: what near misses are made of (see
// costmodel/transfer.h). Searches, builds and queries read it alike. Not thread-safe; borrows the
// log.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/status.h"
#include "costmodel/transfer.h"
#include "db/tuning_log.h"

namespace mlc::server {

class Precedents {
 public:
  // Reads the text of every workload of the log, some 50 us each. `target`: a class text. Records
  // after `up_to_id` are as if they were not there.
  static Result<Precedents> Read(const db::TuningLog& log, std::string target,
                                 int64_t up_to_id = INT64_MAX);

  // The nearest other workloads with correct records on the target, nearest first, at most
  // costmodel::kMostPrecedents. They live as long as this object.
  Result<std::vector<const costmodel::Precedent*>> For(const graph::Workload& workload);
  // Key of the workload and uid of the record behind precedent->best[place].
  struct Source {
    Digest workload;
    std::vector<Digest> records;  // parallel to `best`
  };
  // REQUIRES: `precedent` came from this object.
  const Source& SourceOf(const costmodel::Precedent& precedent) const;

 private:
  struct Entry {
    costmodel::Precedent precedent;
    Source source;
    bool read = false;
  };

  Precedents(const db::TuningLog& log, std::string target, int64_t up_to_id)
      : log_(&log), target_(std::move(target)), up_to_id_(up_to_id) {}
  Status Fill(Entry& entry) const;

  const db::TuningLog* log_;
  std::string target_;
  int64_t up_to_id_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<costmodel::Problem> problems_;  // parallel to entries_
  std::map<const costmodel::Precedent*, const Entry*> by_precedent_;
};

}  // namespace mlc::server
