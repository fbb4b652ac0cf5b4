#include "compiler/schedule/cuda/attention/attention_place.h"

#include <algorithm>

namespace mlc::schedule::gpu {

std::optional<AttentionPlace> PlaceOf(const graph::Workload& workload, graph::ValueId id) {
  const graph::Value& node = workload.graph()[id];
  if (node.op == graph::Op::kTranspose) {
    const std::optional<AttentionPlace> from = PlaceOf(workload, node.operands[0]);
    if (!from) return from;
    AttentionPlace place{from->operand, from->offset, {}};
    for (int64_t d : node.Ints("perm"))
      place.strides.push_back(from->strides[static_cast<size_t>(d)]);
    return place;
  }
  const bool view = node.op == graph::Op::kView;
  const graph::ValueId source = view ? node.operands[0] : id;
  const auto& operands = workload.operands();
  const auto found = std::find(operands.begin(), operands.end(), source);
  if (found == operands.end()) return std::nullopt;
  return AttentionPlace{static_cast<int>(found - operands.begin()), view ? node.Int("offset") : 0,
                        node.type.EffectiveStrides()};
}

}  // namespace mlc::schedule::gpu
