// A recording in progress: for each task a file of what is to be measured (NAME.selection.jsonl)
// and one of what was (NAME.times.jsonl), to which each result is added at once, so that a
// recording that was cut goes on where it ended. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/status.h"
#include "tests/bench/search/space_selection.h"

namespace mlc::bench {

// Writes the selection of a task, whose name is that of its workload's file.
Status WriteSelection(const std::string& folder, const std::string& name,
                      const std::string& workload, const std::string& target,
                      const SelectionSizes& sizes, uint64_t seed, const Selection& selection);

class Recording {
 public:
  struct Next {
    size_t task;
    std::string config;
    double early_stop_ns;  // 0: none
  };

  // Reads all selections of the folder and what was measured so far.
  static Result<Recording> Open(const std::string& folder);

  size_t size() const { return tasks_.size(); }
  const std::string& workload(size_t task) const { return tasks_[task].workload; }
  // Tasks in turns, each with the next config that was not handed out.
  std::optional<Next> TakeFirst();
  // The fastest ones in turns, until each has `times` measurements.
  std::optional<Next> TakeAgain(size_t fastest, size_t times);
  // Measurements that are no fact about the config (kInfra) are not kept.
  Status Add(size_t task, const std::string& config, const std::string& target,
             const Measurement& measurement);
  // "name: measured of selected, fastest" for each task.
  std::string Summary() const;

 private:
  struct Task {
    std::string name, workload;
    std::vector<std::string> configs;
    size_t next = 0;
    std::map<std::string, std::vector<Measurement>> measured;
    std::map<std::string, size_t> taken;  // times that a config was handed out again
    double best_ns = 0;
    std::ofstream out;
  };

  static Status ReadTimes(const std::string& path, Task& task);
  static void Keep(Task& task, const std::string& config, const Measurement& measurement);

  std::vector<Task> tasks_;
  size_t turn_ = 0;
};

}  // namespace mlc::bench
