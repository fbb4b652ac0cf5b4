// One operand of a tensor-core product on its way from global memory through the stages in shared
// memory to the fragments that mma takes. What does not change along k is computed once, in the
// Place functions. Appends to a builder; not thread-safe; borrows everything it is given.
#pragma once

#include <vector>

#include "compiler/schedule/cuda/tensor/tensor_plan.h"

namespace mlc::schedule {

// value = high + low, exactly: what the unit sees of f32, to nearest, and the rest of at most 12
// bits. That the unit drops the last of them is as good as rounding.
struct Tf32Parts {
  ir::ExprRef high, low;
};
Tf32Parts SplitTf32(const ir::ExprRef& value);

class TensorOperand {
 public:
  struct Fragment {
    ir::BufferId registers = 0;
    ir::ExprRef index;
    int part = 0;
  };

  // `tiles`: the stages in shared memory; this operand's tile starts at `base` of a stage. Declares
  // registers.
  TensorOperand(const GpuContraction& g, const TensorPlan& plan, const TensorTile& tile,
                int64_t base, ir::BufferId global, ir::BufferId tiles, ir::KernelBuilder& b);

  // `first`: the tile's first row or column; `offset`: of the batch in the operand. A packed
  // operand ignores both and takes the index of its panel.
  void PlaceCopies(const ir::ExprRef& thread, const ir::ExprRef& first, const ir::ExprRef& offset,
                   const ir::ExprRef& panel);
  // Starts the copies of a k step into the stage at `stage` (elements). Does nothing when Fetches.
  void Copy(const ir::ExprRef& step, const ir::ExprRef& stage);
  // Elements too small for asynchronous copies: loaded to registers early, stored later.
  bool Fetches() const { return tile_.mode == TileMode::kElements && tile_.narrow(); }
  void Fetch(const ir::ExprRef& step);
  void Deposit(const ir::ExprRef& stage);

  // `first`: the warp's first row or column in the tile.
  void PlaceFragments(const ir::ExprRef& lane, const ir::ExprRef& first, const ir::ExprRef& slice);
  // Loads all fragments of a unit into one of the plan's register sets.
  void Load(const ir::ExprRef& stage, int unit, int set);
  // 4-byte elements, between Load and Get: rounds the fragments of tile i (16 rows or 8 columns);
  // kTf32x3 keeps the rest. What is packed for one pass is rounded already.
  void Round(int i, int set);
  // The fragment of tile i; `half` of the unit for 4-byte elements.
  Fragment Get(int i, int half, int set) const;
  Fragment GetLow(int i, int half) const;  // kTf32x3: what Round left

 private:
  bool packed() const { return tile_.mode == TileMode::kPacked; }
  int64_t Limit() const { return tile_.side == Side::kRow ? g_.m : g_.n; }
  ir::ExprRef Clamped(const ir::ExprRef& x) const;
  void PlacePacked(const ir::ExprRef& panel);
  void PlaceAlongK(const ir::ExprRef& first);
  void PlaceAcross(const ir::ExprRef& first);
  void PlaceElements(const ir::ExprRef& first);
  void CopyAlongK(const ir::ExprRef& step, const ir::ExprRef& stage);
  void CopyAcross(const ir::ExprRef& step, const ir::ExprRef& stage);
  void ForElements(const ir::ExprRef& step,
                   const std::function<void(size_t, const ir::ExprRef&, const ir::ExprRef&)>& body);
  void PlaceWide(const ir::ExprRef& lane, const ir::ExprRef& first, const ir::ExprRef& unit);
  void LoadNarrow(const ir::ExprRef& stage, int unit, int set);
  void LoadWide(const ir::ExprRef& stage, int unit, int set);
  int PerTile() const { return fragments_ / tiles_of_warp_; }  // 4-byte fragments

  const GpuContraction& g_;
  const TensorPlan& plan_;
  const TensorTile& tile_;
  int64_t base_;
  ir::BufferId global_;
  ir::BufferId tiles_;
  ir::KernelBuilder& b_;
  // Registers.
  int fragments_ = 1;      // of a unit
  int tiles_of_warp_ = 1;  // 16 rows or 8 columns each
  ir::BufferId high_ = 0, low_ = 0, fetched_ = 0;
  // Copies of this thread.
  struct Part {
    CrossPlace from;
    ir::ExprRef to;      // in the tile
    ir::ExprRef active;  // whether the part exists; null when all do
    ir::ExprRef mask;    // kAcross: elements inside the operand
    ir::ExprRef k;       // inside the step
  };
  std::vector<Part> parts_;
  ir::ExprRef thread_;
  ir::ExprRef offset_;
  ir::ExprRef depth_at_;  // kAlongK: this thread's k inside a step
  // Fragments.
  ir::ExprRef fragment_base_;
  std::vector<ir::ExprRef> fragment_at_;  // per unit (and half), or per tile for kAcross
};

}  // namespace mlc::schedule
