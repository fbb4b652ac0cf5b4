// Estimates what the kernel of a class takes when it computes a part of its rows. Not thread-safe;
// borrows the target.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "compiler/graph/program.h"
#include "compiler/ir/stored_rows.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

class RowTimes {
 public:
  explicit RowTimes(const target::Target& target) : target_(target) {}

  const target::Target& target() const { return target_; }
  // Of all rows, as measured, or by the analytic model; 0: unknown. In nanoseconds.
  double Of(const graph::Task& task, const package::Choice& choice) const;
  // What the task of a smaller class takes with the kernel of a larger one that computes its first
  // `rows` rows, -1: all of them. Both kernels are compared by measured times, or else by the
  // analytic model. It is no less than the class's own; empty: unknown.
  std::optional<double> WithLarger(const graph::Task& task, const package::Choice& choice,
                                   const graph::Task& larger, const package::Choice& of_larger,
                                   int64_t rows);

 private:
  // Where the time of a kernel goes when it computes a part of its rows.
  struct Loops {
    std::vector<ir::LoopRows> phases;
    std::vector<int64_t> extents;
    int64_t rows = 1;   // of all
    int64_t parts = 1;  // of a row, that tiles count
    int64_t tile = 0;   // parts that are computed at once; 0: no loop inside of a phase has a limit
    std::vector<int64_t> ends;  // of smaller last tiles
    int64_t chunks = 1;         // of the last phase, that divide the tiles
  };

  const Loops& LoopsOf(const graph::Workload& workload, const package::Choice& choice);
  double ShareOfTime(const Loops& loops, int64_t rows) const;
  // Of the tiles of the chunk that computes most.
  static int64_t RowsOfTiles(const Loops& loops, int64_t rows);
  std::optional<double> Estimated(const graph::Workload& workload,
                                  const package::Choice& choice) const;

  const target::Target& target_;
  std::map<std::pair<Digest, std::string>, Loops> loops_;  // by workload and config
};

}  // namespace mlc::client
