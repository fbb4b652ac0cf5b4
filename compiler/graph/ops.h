// The table of graph operators: spelling, number of operands, attributes. The printer, the parser,
// the verifier and Graph::Add work from it. Immutable; thread-safe.
//
// op                attributes (type; default)
// constant          value (float, a splat) or the node's data
// matmul            precision (tf32|i8; absent: the type's own): what operands may be rounded to;
//                   i8: operand 0 to 8 bits, with a factor of its own for each part of a row.
//                   u8 by i8 gives i32, float8 by float8 f32
// conv              strides dilations (ints; ones) pads (ints; zeros; begins, then ends) group
//                   (int; 1) precision (as matmul)
// attention         scale (float) precision (as matmul)
// pool              kind (max|avg) kernel (ints) strides dilations (ints; ones) pads (ints; zeros)
//                   count_include_pad (int; 0)
// reduce            kind (sum|mean|max|min|prod|l1|l2|sum_square|log_sum_exp) axes (ints,
// ascending,
//                   not negative) keepdims (int; 1)
// arg               kind (max|min) axis (int) keepdims (int; 1) select_last (int; 0)
// softmax log_softmax  axis (int, not negative, as every axis)
// layer_norm        axis (int) epsilon (float; 1e-5) kind (optional; rms: the mean counts as zero;
//                   l2: rows over the larger of epsilon and their length)
// transpose         perm (ints)
// slice             starts (ints, in range) steps (ints; ones; negative walks down)
// concat            axis (int)
// pad               pads (ints, begins then ends, negative crops) mode (constant|reflect|edge|wrap;
//                   constant) value (float; 0)
// gather            axis (int; 0); negative indices count from the end, as in all gathers
// gather_elements   axis (int; 0)
// gather_nd         batch_dims (int; 0)
// scatter_elements  axis (int; 0) reduction (none|add|mul|max|min; none)
// scatter_nd        reduction (none|add|mul|max|min; none)
// resize            mode (nearest|linear|cubic) coordinate_mode (half_pixel|half_pixel_symmetric|
//                   pytorch_half_pixel|align_corners|asymmetric; half_pixel) nearest_mode
//                   (round_prefer_floor|round_prefer_ceil|floor|ceil; round_prefer_floor)
//                   cubic_coeff_a (float; -0.75) exclude_outside (int; 0) extrapolation (float; 0)
//                   scales (floats, one per dimension)
// tile              repeats (ints)
// trilu             upper (int; 1) k (int; 0)
// cum_sum           axis (int) exclusive reverse (int; 0)
// suppress          center (int; 0: boxes are two corners; 1: a centre and two lengths): at most
//                   `most` boxes a class, by falling score, above the score `least`, none of which
//                   overlaps an earlier one by more than `overlap` of their union; then -1
// view              offset (int; 0)
// dequantize        bits (2, 4 or 8) block (int) depth (int) zero (int; 0): see packed_matrix.h
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compiler/graph/graph.h"

namespace mlc::graph {

inline constexpr int kMaxRank = 12;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;
inline constexpr int64_t kMaxInlineValues = 16;

enum class AttrKind : uint8_t { kInt, kFloat, kWord, kInts, kFloats };

// What an absent attribute means.
enum class AttrDefault : uint8_t {
  kRequired,
  kOptional,      // may stay absent
  kNumber,        // the row's number
  kFirstWord,     // the first of the row's words
  kSpatialOnes,   // a one per spatial dimension of operand 0
  kSpatialZeros,  // two zeros per spatial dimension of operand 0
  kOnes,          // a one per dimension of operand 0
};

struct AttrInfo {
  std::string_view name;
  AttrKind kind = AttrKind::kInt;
  AttrDefault absent = AttrDefault::kRequired;
  double number = 0;
  std::string_view words = {};  // admissible words, separated by spaces
};

struct OpInfo {
  Op op;
  std::string_view name;
  int min_operands;
  int max_operands;
  std::span<const AttrInfo> attrs;
};

const OpInfo& InfoOf(Op op);
int OpCount();
// Null if the operator has no such attribute.
const AttrInfo* FindAttr(Op op, std::string_view name);
// The operator spelled `name`; pointwise nodes are spelled by their scalar operator instead.
std::optional<Op> FindOp(std::string_view name);

// Adds the defaults of absent attributes. `rank`: of operand 0, or 0.
void FillDefaults(Value& node, int rank);

// True if `name` is one of the words of the row.
bool HasWord(const AttrInfo& info, std::string_view name);

}  // namespace mlc::graph
