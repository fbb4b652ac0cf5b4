// Columns of few bits: codes, scales and zeros rearranged into panels, one byte of a column beside
// the same byte of the next, and how the inner loop turns them into numbers: in registers, at each
// step of k, or a panel at a time into scratch of the thread. Not thread-safe; borrows its
// collaborators.
//
//   codes   [panel][byte of a column][panel width]      u8
//   scales  [panel][block][panel width]                 zeros alike, where there are any
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/cpu/register_tile.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// Parameters of the kernel, in this order: they are bound to the preparations of the same numbers.
struct PackedBuffers {
  ir::BufferId codes = 0;
  ir::BufferId scales = 0;
  ir::BufferId zeros = -1;
};

PackedBuffers DeclarePacked(const ContractionProblem& problem, const ContractionPlan& plan,
                            ir::KernelBuilder& builder, std::vector<Binding>& bindings);
// Copies the first `length` elements of every column, which is a row of the operand, into panels.
Preparation PanelsOf(const char* name, const graph::Workload& workload,
                     const ContractionProblem& problem, const ContractionPlan& plan, int operand,
                     int64_t length);
std::vector<Preparation> PackedPreparations(const graph::Workload& workload,
                                            const ContractionProblem& problem,
                                            const ContractionPlan& plan);

class PackedPanels {
 public:
  // Declares registers and, if the plan decodes panels, scratch.
  PackedPanels(const ContractionProblem& problem, const ContractionPlan& plan,
               const PackedBuffers& buffers, RegisterTile& registers, ir::KernelBuilder& builder);

  // acc[row][v] += a[row][k] * b[k][v] for all k of a pass, decoded on the way.
  void Multiply(const RowBlock& block, const RowOperand& a, const ir::ExprRef& panel,
                const ir::ExprRef& pass);
  // The panel's part of a pass as numbers, in scratch: [k][panel width].
  void Decode(const ir::ExprRef& panel, const ir::ExprRef& pass);
  ir::BufferId decoded() const { return decoded_; }

 private:
  // Emits body(first element of the codes, first k, codes) for each byte of a pass's columns, whose
  // codes, scales and zeros are in registers; `unroll` bytes at a time.
  using Body = std::function<void(const ir::ExprRef& k, int codes)>;
  void Walk(const ir::ExprRef& panel, const ir::ExprRef& pass, int64_t unroll, const Body& body);
  void WalkBlock(const ir::ExprRef& codes, const ir::ExprRef& k, int64_t depth, int64_t unroll,
                 const Body& body);
  void LoadBlock(const ir::ExprRef& at);
  void LoadCodes(const ir::ExprRef& at);
  // The numbers of code `j` of the bytes in registers.
  ir::ExprRef Number(const ir::ExprRef& vector, int j);

  const ContractionProblem& p_;
  const ContractionPlan& plan_;
  PackedBuffers buffers_;
  RegisterTile& registers_;
  ir::KernelBuilder& builder_;
  ir::BufferId code_;
  ir::BufferId scale_;
  ir::BufferId zero_ = -1;
  ir::BufferId decoded_ = -1;
};

}  // namespace mlc::schedule
