// Rotary embeddings as several operators need them. Not thread-safe, as Builder.
#pragma once

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// What turns pairs of elements: angles of `half` pairs, of rank 4, that broadcast with the heads.
struct Rotation {
  ValueId cosine = kNoValue;
  ValueId sine = kNoValue;
  bool interleaved = false;  // a pair is two neighbours, not one element of each half
};

// `x` of rank 4 with the first 2 * half elements of its last dimension turned and the rest as they
// are; fails if there are fewer.
ValueId Rotated(Builder& b, ValueId x, const Rotation& rotation);

}  // namespace mlc::graph::onnx
