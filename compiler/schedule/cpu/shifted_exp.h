// exp(x - top) on vectors of floats, as softmax takes it. It is computed as 2^((x - top) *
// log2(e)), which takes a third fewer instructions than exp with AVX-512. Rounding the product
// changes a result by 6e-8 * |x - top| of itself, which for x <= top is never more than 3e-8 of the
// largest. The shift is that of Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018. Thread-safe (no state).
#pragma once

#include "compiler/ir/build.h"

namespace mlc::schedule {

// REQUIRES: x and top are of one float type.
ir::ExprRef ShiftedExp(ir::ExprRef x, ir::ExprRef top);

}  // namespace mlc::schedule
