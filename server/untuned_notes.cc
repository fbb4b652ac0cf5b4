#include "server/untuned_notes.h"

#include <vector>

#include "compiler/graph/workload.h"
#include "db/untuned/untuned_list.h"

namespace mlc::server {

void UntunedNotes::Add(const std::string& workload, const std::string& target) {
  const int64_t now = clock_.WallUs();
  const MutexLock lock(mutex_);
  // What is asked for between two flushes beyond that is as if it were asked for later.
  if (wanted_.size() >= db::kMostUntuned) return;
  Wanted& wanted = wanted_[{workload, target}];
  ++wanted.builds;
  wanted.last_us = now;
}

Status UntunedNotes::Flush() {
  std::map<std::pair<std::string, std::string>, Wanted> wanted;
  {
    const MutexLock lock(mutex_);
    wanted.swap(wanted_);
  }
  std::vector<db::UntunedWorkload> list;
  for (const auto& [key, one] : wanted) {
    const Result<graph::Workload> workload = graph::Workload::Parse(key.first);
    if (!workload.ok()) continue;
    list.push_back(
        {key.first, workload->Summary(), key.second, one.builds, one.last_us, one.last_us});
  }
  return db::NoteUntuned(path_, list);
}

}  // namespace mlc::server
