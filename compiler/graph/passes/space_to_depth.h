// Convolutions of few channels (a model's image) with neighbouring pixels as channels, so that a
// GPU copies 16 bytes at a time and multiplies few zeros: in 16 bits, with three or four channels
// and an even stride along the last dimension, pairs of columns are eight channels. The weights get
// the zeros that shift the kernel to an even column. Where the image is cast, the padding comes
// before the cast, so that both are one kernel. Thread-safe.
#pragma once

#include <optional>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// The convolution's replacement, or nothing if it has another form. REQUIRES: a kConv with the
// graph's operands.
std::optional<ValueId> SpaceToDepth(Graph& graph, const Value& conv);

// `channels` of x [N,C,...], those beyond C zero; before the cast if x is one.
ValueId PaddedImage(Graph& graph, ValueId x, int64_t channels);

}  // namespace mlc::graph
