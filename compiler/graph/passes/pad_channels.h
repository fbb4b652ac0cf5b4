// pad_channels: convolutions of few channels (a model's image) read as many as fill 16 bytes, the
// added ones zero, so that a GPU copies whole channels at a time: three channels become eight in
// f16 and four in f32. Where the image is cast first, the padding comes before the cast, so that
// both are one kernel. Even strides in 16 bits take neighbouring pixels as channels instead
// (space_to_depth.h). Convolutions that kernels read as they are (image_convolution.h) stay, if
// there are such kernels. Before: weights are constants. After: no such convolution has channels of
// odd size, unless padding would more than triple them.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

// `reads_images`: as in PlaceRules.
Result<bool> PadChannels(Graph& graph, bool reads_images = false);

}  // namespace mlc::graph
