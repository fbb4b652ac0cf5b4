// One operand of a contraction without matrix units. It moves from global memory through registers
// to a step in shared memory, as f32 in rows of k; constant columns are copied asynchronously.
// Appends to a builder; not thread-safe; borrows its arguments.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/cuda/simt/simt_plan.h"

namespace mlc::schedule {

class SimtOperand {
 public:
  // `tiles`: two steps in shared memory; this operand's tile starts at `base` of a step.
  SimtOperand(const GpuContraction& g, const SimtPlan& plan, Side side, bool packed, int64_t base,
              ir::BufferId global, ir::BufferId tiles, ir::KernelBuilder& b);

  // `first`: the tile's first row or column; `offset`: of the batch. A packed operand takes the
  // index of its panel instead.
  void Place(const ir::ExprRef& thread, const ir::ExprRef& first, const ir::ExprRef& offset,
             const ir::ExprRef& panel);
  // Fetch starts to load a step; Deposit stores it once its place in shared memory is free. A
  // packed operand writes to that place already in Fetch.
  void Fetch(const ir::ExprRef& step, const ir::ExprRef& stage);
  void Deposit(const ir::ExprRef& stage);
  // Rows of scaled blocks: what is fetched is multiplied by its scale.
  void ScaleBy(ir::BufferId scales) { scales_ = scales; }

 private:
  int extent() const { return side_ == Side::kRow ? plan_.bm : plan_.bn; }
  int64_t limit() const { return side_ == Side::kRow ? g_.m : g_.n; }
  struct Part {
    CrossPlace from;
    ir::ExprRef x;       // its row or column
    ir::ExprRef k;       // inside the step
    ir::ExprRef to;      // in the tile
    ir::ExprRef active;  // null: always
    ir::ExprRef mask;    // lanes inside the operand, across; null: all
  };

  const GpuContraction& g_;
  const SimtPlan& plan_;
  Side side_;
  bool packed_;
  int64_t base_;
  ir::BufferId global_, tiles_;
  ir::KernelBuilder& b_;
  bool along_k_ = false;  // runs of elements go along k
  int lanes_ = 1;         // of a run
  ir::BufferId fetched_ = 0;
  std::optional<ir::BufferId> scales_;
  std::vector<Part> parts_;
  ir::ExprRef thread_, offset_;
};

}  // namespace mlc::schedule
