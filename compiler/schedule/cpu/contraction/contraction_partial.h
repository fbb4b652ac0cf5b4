// The sums of a register tile across passes over k: each pass continues with the sums of the pass
// before, which are kept in thread scratch. If there is one pass, sums start from zero and are
// final. Not thread-safe; borrows its collaborators.
#pragma once

#include <functional>

#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/cpu/contraction/contraction_tiles.h"
#include "compiler/schedule/cpu/register_tile.h"

namespace mlc::schedule {

class PartialSums {
 public:
  // Declares the scratch if the plan has passes.
  PartialSums(const ContractionProblem& problem, const ContractionPlan& plan,
              RegisterTile& registers, ir::KernelBuilder& builder);

  // Computes the tile's place in its chunk from the number of its panel there. Call it first.
  void Locate(const RowTile& tile, const ir::ExprRef& panel);
  void Start(const RowTile& tile, const ir::ExprRef& pass);
  // Stores the sums for the next pass; after the last pass, emits `store`.
  void Finish(const RowTile& tile, const ir::ExprRef& pass, const std::function<void()>& store);

 private:
  // Calls body(register row, vector, element of the scratch) for each vector of the tile.
  void ForVectors(
      const RowTile& tile,
      const std::function<void(const ir::ExprRef&, const ir::ExprRef&, const ir::ExprRef&)>& body);

  const ContractionProblem& p_;
  const ContractionPlan& plan_;
  RegisterTile& registers_;
  ir::KernelBuilder& builder_;
  ir::BufferId scratch_ = 0;  // [panel of the chunk][row][panel width]
  ir::ExprRef first_;         // the tile's first element there
};

}  // namespace mlc::schedule
