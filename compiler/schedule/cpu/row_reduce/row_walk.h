// The walk over the rows of a row reduction that all its formulas share: the loops over rows and
// vectors, the row buffer between passes, software prefetch, the software pipeline, and the
// registers that a pass accumulates into. Not thread-safe; borrows what it is given, for one
// kernel.
//
// Passes over one row. A later pass recomputes x, or reads the row buffer (RowStorage):
//
//    pass 1   x = LoadInput -> row buffer         max, sum or mean
//    pass 2   ReloadInput <- row buffer           sum of exp(x - max) or of squares
//               WriteRowBuffer: exp(x - max)
//    pass 3   ReadRowBuffer <- row buffer         StoreRow
//
// The software pipeline over the rows of a chunk (RowStorage::kPipelined, softmax): while row r is
// computed, row r - 1 is read from the pipeline buffer, scaled and stored, so that arithmetic,
// loads and stores overlap. x of a later row is prefetched meanwhile.
//
//    iteration    prologue   steady  ...                epilogue
//    prefetch     row 1      row 2   row 3   ...
//    max, exp     row 0      row 1   row 2   ... row n-1
//    scale, store            row 0   row 1   ... row n-2   row n-1
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/cpu/row_reduce/row_reduce_lower.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

// op(a) and op(a, b).
ir::ExprRef Do(ScalarOp op, ir::ExprRef a);
ir::ExprRef Do(ScalarOp op, ir::ExprRef a, ir::ExprRef b);

// One visited vector of a row: where it is, which chain it belongs to, where the row is kept.
struct Visit {
  Point point;
  ir::ExprRef chain;
  ir::ExprRef slot;
  ir::ExprRef half;  // half the column
};

class RowWalk {
 public:
  using Body = std::function<void(const Visit&)>;
  // At a row, or a block of kept columns: which of all it is, and which part of it.
  using RowBody = std::function<void(const ir::ExprRef& place, const ir::ExprRef& part)>;

  RowWalk(const graph::Workload& workload, const target::Target& target, const RowProblem& problem,
          const RowKnobs& knobs);

  const graph::Workload& workload() const { return workload_; }
  const RowProblem& problem() const { return problem_; }
  const RowKnobs& knobs() const { return knobs_; }
  const graph::Value& node() const { return node_; }
  ir::KernelBuilder& builder() { return builder_; }
  Fused& fused() { return fused_; }
  int lanes() const { return lanes_; }
  int64_t width() const { return int64_t{chains_} * lanes_; }  // of a block
  int64_t Blocks() const;                                      // of kept columns, in a row
  // Elements that a result is made of, unless they are cut into parts.
  double Count() const;

  // A phase: `body` runs for every row, or block of kept columns, and every part.
  void ForEachRow(const std::string& name, int64_t parts, const RowBody& body);
  // The same as a software pipeline, for rows that are reduced along their columns: `prologue` runs
  // for the first row of a chunk, `steady` for each later one with the row before at hand, and
  // `epilogue` after the last.
  void ForEachRowPipelined(const std::string& name, const std::function<void()>& prologue,
                           const std::function<void()>& steady,
                           const std::function<void()>& epilogue);
  // Every vector of the present row, or of its part, once.
  void Sweep(const Body& body);

  // x at a vector: computed; computed and written to the row buffer if later passes read it there;
  // from the row buffer, or computed again.
  ir::ExprRef ComputeInput(const Visit& visit);
  ir::ExprRef LoadInput(const Visit& visit);
  ir::ExprRef ReloadInput(const Visit& visit);
  // Writes the row buffer at a vector and returns the value; reads it.
  ir::ExprRef WriteRowBuffer(const Visit& visit, ir::ExprRef value);
  ir::ExprRef ReadRowBuffer(const Visit& visit);
  // The pipeline buffer at a vector: reads the value of the row before, valid until the next call;
  // writes this row's in its place and returns it.
  ir::ExprRef ReadPipelineBuffer(const Visit& visit);
  ir::ExprRef WritePipelineBuffer(const Visit& visit, ir::ExprRef value);
  // Puts the value into a register, valid until the next call: computed once, read any number of
  // times.
  ir::ExprRef Materialize(ir::ExprRef value);
  // Prefetches the same place of a later row, while this one keeps the arithmetic busy. Where two
  // passes share the work, each prefetches half of the row.
  void Prefetch(const Visit& visit, PrefetchRows pass);

  ir::ExprRef Number(double value) const;
  ir::ExprRef Neutral(ScalarOp op) const;  // the value that changes nothing

  // Registers of the row's results, one for each vector of a block where columns are kept.
  ir::BufferId first() const { return first_; }
  ir::BufferId second() const { return second_; }
  int Results() const { return problem_.inner ? 1 : used_; }
  ir::ExprRef Result(ir::BufferId registers, const ir::ExprRef& chain);
  void Update(ir::BufferId registers, const std::function<ir::ExprRef(ir::ExprRef)>& function);
  // op over `value` of every vector of the row; then into each register of `to`, broadcast.
  void Accumulate(ScalarOp op, ir::BufferId to,
                  const std::function<ir::ExprRef(const Visit&)>& value);

  // The outputs at a vector, from the anchor's value and, unless null, x; and those that live in
  // the space of the kept dimensions, from first().
  void StoreRow(const Visit& visit, ir::ExprRef value, ir::ExprRef x);
  void StorePreviousRow(const Visit& visit, ir::ExprRef value);  // at the row before
  void StoreResults();

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
  // Whether x is copied into the row buffer, since computing it again costs more than a load.
  bool CopiesInput() const { return knobs_.storage == RowStorage::kRegisters || !problem_.plain; }
  int Used() const { return problem_.inner ? chains_ : used_; }
  Point ResultPoint(int j) const;

  const graph::Workload& workload_;
  const RowProblem& problem_;
  const RowKnobs& knobs_;
  const graph::Value& node_;
  ir::KernelBuilder builder_;
  Fused fused_;
  const int lanes_;
  int chains_ = 1;
  int64_t padded_ = 1;
  bool streaming_ = false;
  bool bind_x_ = false;
  ir::BufferId acc_ = 0, first_ = 0, second_ = 0, row_buffer_ = 0, value_ = 0, pipeline_buffer_ = 0,
               previous_ = 0;
  std::vector<ir::ExprRef> at_;
  std::vector<ir::ExprRef> prefetch_at_;  // the row that is prefetched
  std::vector<ir::ExprRef> previous_at_;  // the row before
  ir::ExprRef part_;                      // of the row
  ir::ExprRef column_;                    // first column of the block, where columns are kept
  int used_ = 1;                          // vectors of the block
  int64_t tail_ = 0;                      // active lanes of its last vector; 0 for all
};

}  // namespace mlc::schedule
