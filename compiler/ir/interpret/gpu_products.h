// warpgroup_mma of an interpreted GPU kernel. A product is carried out when the kernel waits for
// it, so that earlier accesses to its operands or sums are detected. Not thread-safe; borrows the
// state and the expressions.
#pragma once

#include <vector>

#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_state.h"

namespace mlc::ir {

class GpuProducts {
 public:
  GpuProducts(GpuState& state, GpuExpressions& expressions)
      : state_(state), expressions_(expressions) {}

  void Do(const WarpgroupMma& mma);
  // Ends all products of the active groups but the last `pending` of each.
  void Wait(int pending);
  void EndBlock();

 private:
  void Begin(const WarpgroupMma& mma, int thread, int64_t c, int64_t a, int64_t b);
  void Land(const GpuProduct& product, int thread);
  bool ReadRows(const WarpgroupMma& mma, int64_t at, int thread, std::vector<double>* values);
  bool ReadColumns(const WarpgroupMma& mma, int64_t at, int thread, std::vector<double>* values);
  bool ReadTile(BufferId id, int64_t at, int rows, int thread, std::vector<double>* values);
  template <typename Visit>
  bool VisitTiles(const GpuProduct& product, const Visit& visit);
  // Tiles that copies at mbarriers fill: whether the copies have come, and that the reads end.
  bool BeginTiles(const GpuProduct& product, int thread);
  void EndTiles(const GpuProduct& product, int thread);

  GpuState& state_;
  GpuExpressions& expressions_;
};

}  // namespace mlc::ir
