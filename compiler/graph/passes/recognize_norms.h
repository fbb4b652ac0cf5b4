// recognize_norms: layer normalisation and softmax written in primitives become one node each.
// Before: simplified and free of common subexpressions (x - mean(x) must be one value). After:
// (x - mean) / sqrt(mean((x - mean)^2) + eps) over trailing dimensions is layer_norm, with a
// constant scale and bias that follow; x / sqrt(mean(x^2) + eps) is the same of kind rms;
// exp(x - max) / sum is softmax; log of softmax is log_softmax.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> RecognizeNorms(Graph& graph);

}  // namespace mlc::graph
