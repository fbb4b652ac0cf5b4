#include "compiler/schedule/cuda/attention/attention_store.h"

#include <algorithm>
#include <functional>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using graph::ValueId;
using ir::ExprRef;

void AttentionStore::Begin(const ExprRef& batch, const ExprRef& head) {
  batch_ = batch;
  head_ = head;
  const graph::Graph& graph = workload_.graph();
  const auto users = graph.Users();
  for (const ValueId id : workload_.operands()) {
    const std::vector<ValueId>& readers = users[static_cast<size_t>(id)];
    const auto is_anchor = [&](ValueId reader) { return reader == plan_.problem.anchor; };
    if (graph[id].type.NumElements() != 1 || std::ranges::all_of(readers, is_anchor)) continue;
    const Point first{std::vector<ExprRef>(graph[id].type.dims.size(), ir::Int(0)), -1, 1, nullptr};
    const ExprRef value = fused_.Emit(id, first);
    const ir::BufferId given = builder_.Registers("given", value->type.dtype, 1, 1);
    builder_.Set(given, ir::Int(0), value);
    given_[id] = builder_.Get(given, ir::Int(0));
  }
}

// With the values that the results are computed from.
FusedValues::Bound AttentionStore::With(const ExprRef& result) const {
  FusedValues::Bound bound = given_;
  bound[plan_.problem.anchor] = result;
  return bound;
}

void AttentionStore::Pair(const ExprRef& row, const ExprRef& column, ir::BufferId pair) {
  const ValueId anchors[] = {plan_.problem.anchor};
  const bool vectors =
      plan_.problem.width % 2 == 0 &&
      std::all_of(workload_.outputs().begin(), workload_.outputs().end(), [&](ValueId output) {
        return Fused::Vectorises(workload_, output, 3, 2, anchors);
      });
  const auto guarded = [&](const ExprRef& c, const std::function<void()>& store) {
    ExprRef inside;
    if (plan_.problem.queries % plan_.rows() != 0)
      inside = Less(row, ir::Int(plan_.problem.queries));
    if (plan_.problem.width % plan_.slice() != 0) {
      const ExprRef column_inside = Less(c, ir::Int(plan_.problem.width));
      inside = inside ? Do(ScalarOp::kAnd, inside, column_inside) : column_inside;
    }
    inside ? builder_.If(inside, store) : store();
  };
  const ExprRef value = builder_.Get(pair, ir::Int(0));
  if (vectors) {
    return guarded(column, [&] {
      fused_.StoreOutputs({{batch_, head_, row, column}, 3, 2, nullptr}, With(value));
    });
  }
  const ir::BufferId fold = fold_;
  builder_.Store(fold, ir::Int(0), value);
  for (int lane = 0; lane < 2; ++lane) {
    const ExprRef c = builder_.Let("e", column + lane);
    guarded(c, [&] {
      fused_.StoreOutputs({{batch_, head_, row, c}, -1, 1, nullptr},
                          With(builder_.Load(fold, ir::Int(lane))));
    });
  }
}

}  // namespace mlc::schedule::gpu
