// Rotary position embeddings, shared by several operators. Not thread-safe, as Builder. Source: Su
// et al., "RoFormer", 2021.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// Cosine and sine of the angles of `half` pairs, of rank 4, broadcast over the heads.
struct Rotation {
  ValueId cosine = kNoValue;
  ValueId sine = kNoValue;
  bool interleaved = false;  // a pair is two neighbours, not one element of each half
};

// Rotates the first 2 * half elements of the last dimension of `x` (rank 4) and keeps the others.
// Fails if there are fewer.
ValueId Rotated(Builder& b, ValueId x, const Rotation& rotation);

}  // namespace mlc::graph::onnx
