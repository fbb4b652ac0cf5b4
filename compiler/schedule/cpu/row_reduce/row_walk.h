// The walk over the rows of a row reduction that all its formulas share: the loops over rows and
// vectors, where a row is kept between passes, what is asked for ahead, and the registers that a
// pass accumulates into. Not thread-safe; borrows what it is given, for one kernel.
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
  // The same for rows that are reduced along their columns, where the row before is at hand as
  // well: `first` runs for the first row of a chunk, `next` for each later one, and `last` behind
  // the last.
  void ForEachRowBehind(const std::string& name, const std::function<void()>& first,
                        const std::function<void()>& next, const std::function<void()>& last);
  // Every vector of the present row, or of its part, once.
  void Sweep(const Body& body);

  // x at a vector: computed anew; computed and kept if later passes read it from there; as kept.
  ir::ExprRef Read(const Visit& visit);
  ir::ExprRef ReadAndKeep(const Visit& visit);
  ir::ExprRef KeptX(const Visit& visit);
  // Keeps any value as the row's element and gives it back; and that value again.
  ir::ExprRef Keep(const Visit& visit, ir::ExprRef value);
  ir::ExprRef Kept(const Visit& visit);
  // The value that the row before has kept at a vector, read until the next call; and keeps this
  // row's in its place, and gives it back.
  ir::ExprRef Behind(const Visit& visit);
  ir::ExprRef KeepBehind(const Visit& visit, ir::ExprRef value);
  // Computed once, read any number of times until the next call.
  ir::ExprRef Once(ir::ExprRef value);
  // Asks for the same place of a later row, while this one keeps the arithmetic busy. Where two
  // passes share the work, each asks for half of the row.
  void Fetch(const Visit& visit, FetchRows pass);

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
  void StoreBehind(const Visit& visit, ir::ExprRef value);  // at the row before
  void StoreResults();

 private:
  // The first row of a chunk, and the one behind its last.
  std::pair<ir::ExprRef, ir::ExprRef> RowsOf(const ir::ExprRef& chunk);
  void SetRows(const ir::ExprRef& row);
  void SetBehind(const ir::ExprRef& row);
  int64_t RowsAhead() const;
  ir::ExprRef Cut(const ir::ExprRef& part, int64_t units);
  void ForPart(const std::string& name, int64_t units, bool is_cut,
               const std::function<void(const ir::ExprRef&)>& body);
  void SweepKept(std::vector<ir::ExprRef> at, const ir::ExprRef& r, const Body& body);
  void SweepReduced(std::vector<ir::ExprRef> at, const ir::ExprRef& r, const Body& body);
  // x has to be copied for later passes, since reading it again costs more than a load.
  bool Copies() const { return knobs_.keep == KeepRow::kRegisters || !problem_.plain; }
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
  ir::BufferId acc_ = 0, first_ = 0, second_ = 0, row_ = 0, now_ = 0, behind_ = 0, was_ = 0;
  std::vector<ir::ExprRef> at_;
  std::vector<ir::ExprRef> next_;       // the next row
  std::vector<ir::ExprRef> behind_at_;  // the row before
  ir::ExprRef part_;                    // of the row
  ir::ExprRef column_;                  // first column of the block, where columns are kept
  int used_ = 1;                        // vectors of the block
  int64_t tail_ = 0;                    // active lanes of its last vector; 0 for all
};

}  // namespace mlc::schedule
