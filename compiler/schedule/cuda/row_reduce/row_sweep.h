// A thread's share of a row reduction: the item of its group, and the loop over the thread's
// vectors of the item. Not thread-safe; borrows its collaborators.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/row_reduce/row_group.h"
#include "compiler/schedule/cuda/row_reduce/row_plan.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

// One vector of an item: its coordinates, its register, and its accumulator.
struct RowVisit {
  Point point;
  ir::ExprRef slot;
  ir::ExprRef chain;
};

class RowSweep {
 public:
  using Body = std::function<void(const RowVisit&)>;

  RowSweep(ir::KernelBuilder& builder, const RowPlan& plan, RowGroup& group);

  // Finds the thread's item and its place in the group. Call it first in the launch.
  void Locate(const ir::ExprRef& block, const ir::ExprRef& thread);
  // Calls body for every vector of the thread; rows kept in registers are unrolled as a whole.
  void ForVectors(const Body& body);
  // The same, only in threads that have an item.
  void ForVectorsInside(const Body& body);
  // True in one thread of each group whose item exists.
  ir::ExprRef IsFirst() const;

  const ir::ExprRef& item() const { return item_; }  // clamped to the last one
  const ir::ExprRef& item_block() const { return item_block_; }
  const ir::ExprRef& split() const { return split_; }
  // The item's coordinates; zero along reduced dimensions.
  const std::vector<ir::ExprRef>& at() const { return at_; }

 private:
  void ForVectorsOfSplit(const Body& body);
  void VisitVector(const ir::ExprRef& index, const ir::ExprRef& slot, const ir::ExprRef& chain,
                   const Body& body);

  ir::KernelBuilder& builder_;
  const RowPlan& plan_;
  const RowProblem& problem_;
  RowGroup& group_;
  ir::ExprRef split_, item_block_, item_;
  ir::ExprRef inside_;  // whether the item exists; null where all do
  std::vector<ir::ExprRef> at_;
};

}  // namespace mlc::schedule::gpu
