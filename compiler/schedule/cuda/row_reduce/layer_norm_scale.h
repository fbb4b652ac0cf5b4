// Scale and bias of a layer norm, each of them optional. If they fit into registers besides the
// row, they are loaded while earlier launches end. Not thread-safe; borrows its collaborators.
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/row_reduce/row_plan.h"
#include "compiler/schedule/cuda/row_reduce/row_sweep.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

class LayerNormScale {
 public:
  // Declares the registers if the plan's anchor is a layer norm and has such weights.
  LayerNormScale(const graph::Workload& workload, const RowPlan& plan, Fused& fused,
                 ir::KernelBuilder& builder);

  // Loads the weights that are kept in registers. Call it before the launch waits for earlier ones.
  void Preload(RowSweep& sweep);
  // value * scale + bias at the point of a vector.
  ir::ExprRef Apply(const RowVisit& visit, ir::ExprRef value);

 private:
  bool Has(size_t operand) const;
  bool IsWeight(size_t operand) const;
  ir::ExprRef At(size_t operand, const Point& point);

  const graph::Workload& workload_;
  const RowPlan& plan_;
  const graph::Value& node_;
  Fused& fused_;
  ir::KernelBuilder& builder_;
  bool preloads_;
  ir::BufferId scale_ = 0, bias_ = 0;
};

}  // namespace mlc::schedule::gpu
