// The scales of a product of blocks (ContractionProblem::blocks) in role_contraction: the unit's
// sums of a step, which is a block, are multiplied by the scales of their rows and columns where
// they are added up. Appends to a builder; not thread-safe; borrows its arguments.
#pragma once

#include <vector>

#include "compiler/schedule/cuda/tensor/role_plan.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

class RoleScales {
 public:
  // REQUIRES: plan.scaled_parts > 0.
  RoleScales(const GpuContraction& g, const RolePlan& plan, Fused& fused, ir::KernelBuilder& b);

  // `group_row`: the first row of the thread's group in a tile.
  void PlaceWarp(const ir::ExprRef& thread, const ir::ExprRef& group_row);
  // Of the thread's rows and of all columns of a tile, while the unit multiplies.
  void Load(const ir::ExprRef& m_tile, const ir::ExprRef& n_tile, const ir::ExprRef& block);
  // The sums of a fragment and then those of a block, which are scaled.
  ir::ExprRef Added(const std::vector<ir::ExprRef>& terms, int fragment) const;

 private:
  int64_t PlaceOf(int64_t row_tile, int64_t part) const {
    return 4 * (row_tile * plan_.scaled_parts + part);
  }

  const GpuContraction& g_;
  const RolePlan& plan_;
  Fused& fused_;
  ir::KernelBuilder& b_;
  ir::BufferId scales_ = 0;  // of the thread
  ir::ExprRef row_;          // its first one in a tile
};

}  // namespace mlc::schedule
