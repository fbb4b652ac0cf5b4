// spread_norms: group and instance norms normalise the image's own dimensions (channels cut into
// groups) instead of a reshaped image, so that they do not force a change of the memory order.
// Before: layer norms are single nodes; group and instance norms are layer norms of reshaped
// images.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"

namespace mlc::graph {

inline constexpr std::string_view kSpreadNorms = "spread_norms";

Result<bool> SpreadNorms(Graph& graph);

}  // namespace mlc::graph
