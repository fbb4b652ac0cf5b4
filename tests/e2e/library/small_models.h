// The small models that the tests of the library compile: seeded weights, so every run has the
// same.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::testing {

// softmax(relu(x[4,32] * w + b) * v) and the mean of the hidden values: two outputs.
graph::Graph Perceptron();
// Four layers whose products have few rows and columns and long reductions.
graph::Graph LongProducts();
// softmax(relu(x[64,128] * w) * v): products large enough for the matrix instructions of
// warpgroups.
graph::Graph WideProducts();
// Two inputs of [1,3,16,16], added; convolution, pooling, classifier [1,10].
graph::Graph Convolutional();

// Tokens relu(x[batch,length,16] * w), and the softmax of their mean times v plus y[batch,16]: two
// inputs that share a dimension, two outputs.
graph::Graph Sized(int64_t batch, int64_t length);

// A cache[positions,4] with a row written to a place, and twice the result: of the three inputs the
// first one may be updated in place.
graph::Graph Cache(int64_t positions);

// x[rows,256] * w[256,512].
graph::Graph Product(int64_t rows);

// Element i of input `port`: the same formula stands in library_test.c.
float InputValue(int port, int64_t i);
graph::TensorDataRef InputTensor(const graph::Graph& graph, int port);

}  // namespace mlc::testing
