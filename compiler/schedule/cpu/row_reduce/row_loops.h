// The loops over rows and over the vectors of a row. Not thread-safe; borrows the frame, whose row
// it sets.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/cpu/row_reduce/row_frame.h"

namespace mlc::schedule {

class RowLoops {
 public:
  using Body = std::function<void(const Visit&)>;
  // The body of a row or a block of kept columns. Arguments: its index, and the index of its part.
  using RowBody = std::function<void(const ir::ExprRef& place, const ir::ExprRef& part)>;

  explicit RowLoops(RowFrame& frame) : frame_(frame) {}

  // Emits a phase that runs `body` for every row, or block of kept columns, and every part.
  void ForEachRow(const std::string& name, int64_t parts, const RowBody& body);
  // The same as a software pipeline, for rows that are reduced along their columns: `prologue` runs
  // for the first row of a chunk, `steady` for each later row, with access to the previous one, and
  // `epilogue` after the last.
  void ForEachRowPipelined(const std::string& name, const std::function<void()>& prologue,
                           const std::function<void()>& steady,
                           const std::function<void()>& epilogue);
  // Visits every vector of the current row, or of its part, once.
  void Sweep(const Body& body);

 private:
  // The first row of a chunk, and the one after its last.
  std::pair<ir::ExprRef, ir::ExprRef> RowsOf(const ir::ExprRef& chunk);
  void SetRows(const ir::ExprRef& row);
  void SetPreviousRow(const ir::ExprRef& row);
  int64_t PrefetchDistance() const;
  ir::ExprRef Cut(const ir::ExprRef& part, int64_t units);
  void ForPart(const std::string& name, int64_t units, bool is_cut,
               const std::function<void(const ir::ExprRef&)>& body);
  void SweepKept(std::vector<ir::ExprRef> at, const ir::ExprRef& r, const Body& body);
  void SweepReduced(std::vector<ir::ExprRef> at, const ir::ExprRef& r, const Body& body);

  RowFrame& frame_;
};

}  // namespace mlc::schedule
