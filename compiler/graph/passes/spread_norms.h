// spread_norms: group and instance norms are written as layer norms of reshaped images. After:
// they normalise the image's own dimensions (channels cut into groups), so that no order in memory
// has to change for them. Before: layer norms are single nodes.
#pragma once

#include <string_view>

#include "compiler/graph/graph.h"

namespace mlc::graph {

inline constexpr std::string_view kSpreadNorms = "spread_norms";

Result<bool> SpreadNorms(Graph& graph);

}  // namespace mlc::graph
