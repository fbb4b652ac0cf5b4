// A model with results whose shape depends on data, such as those of NonZero or of non-maximum
// suppression. The graph has room for the most elements that there may be, and computes how many
// there are. Reading proves that the first elements do not depend on the others, at a few lengths
// of each dimension: the ends, what lies beside them and between, and where a length reaches a
// bound. The nodes may not differ between the lengths, also for none and for one, and lengths are
// to be sums of multiples of the counts, up to a bound. Thread-safe (no shared state).
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/front/front.h"

namespace mlc::front {

// Any model; CountedOutputs has no counts if no shape depends on data. Errors as ImportOnnx's, and
// UNIMPLEMENTED if the first elements depend on the others: the message names the node and the
// reason.
Result<Model> ReadBounded(const std::string& path, const graph::onnx::ImportOptions& import);

}  // namespace mlc::front
