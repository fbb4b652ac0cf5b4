// The arithmetic of views: which transposes, slices, reshapes and expansions are only another way
// to address the operand's storage, and the offset and strides that say so. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// Storage seen through dims and strides, starting `offset` elements after the root's first.
struct StridedView {
  int64_t offset = 0;
  TensorType type;  // strides always present
};

// True for nodes that bring data in: inputs, weights, constants, and packed constants, which the
// tasks that read them decode.
bool IsSource(const Value& node);

// True for nodes that may be views: transpose, reshape, expand, and slice with positive steps.
bool IsViewOp(const Value& node);

// The whole of a value with its own strides.
StridedView WholeOf(const TensorType& type);

// `operand` seen through the view node. Nullopt if a reshape cannot be expressed in strides.
// REQUIRES: IsViewOp(node).
std::optional<StridedView> ThroughView(const Value& node, const StridedView& operand);

// The same addressing in one canonical spelling, so that equal placements give equal texts: empty
// strides when the elements are in row-major order; else channels-last strides when they say the
// same; else dimensions of size one get the span of those to their right.
TensorType Canonical(const TensorType& type);

// Strides of a packed tensor whose dimensions lie in memory in the given order, outermost first.
std::vector<int64_t> StridesOfOrder(const std::vector<int64_t>& dims,
                                    const std::vector<int>& order);
// 0, 1, .. rank-1.
std::vector<int> DenseOrder(int rank);
// 0, 2, .. rank-1, 1.
std::vector<int> ChannelsLastOrder(int rank);

}  // namespace mlc::graph
