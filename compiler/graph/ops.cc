#include "compiler/graph/ops.h"

#include <algorithm>
#include <array>

namespace mlc::graph {

namespace {

using enum AttrKind;
using enum AttrDefault;

constexpr int kMany = 4096;

constexpr AttrInfo kConstantAttrs[] = {{"data", kWord, kOptional}, {"value", kFloat, kOptional}};
constexpr AttrInfo kConvAttrs[] = {{"dilations", kInts, kSpatialOnes},
                                   {"group", kInt, kNumber, 1},
                                   {"pads", kInts, kSpatialZeros},
                                   {"precision", kWord, kOptional, 0, "tf32"},
                                   {"strides", kInts, kSpatialOnes}};
constexpr AttrInfo kMatMulAttrs[] = {{"across", kInt, kOptional},
                                     {"block", kInt, kOptional},
                                     {"precision", kWord, kOptional, 0, "tf32 i8"}};
constexpr AttrInfo kAttentionAttrs[] = {{"precision", kWord, kOptional, 0, "tf32"},
                                        {"scale", kFloat}};
constexpr AttrInfo kPoolAttrs[] = {{"count_include_pad", kInt, kNumber, 0},
                                   {"dilations", kInts, kSpatialOnes},
                                   {"kernel", kInts},
                                   {"kind", kWord, kRequired, 0, "max avg"},
                                   {"pads", kInts, kSpatialZeros},
                                   {"strides", kInts, kSpatialOnes}};
constexpr AttrInfo kReduceAttrs[] = {
    {"axes", kInts},
    {"keepdims", kInt, kNumber, 1},
    {"kind", kWord, kRequired, 0, "sum mean max min prod l1 l2 sum_square log_sum_exp"}};
constexpr AttrInfo kArgAttrs[] = {{"axis", kInt},
                                  {"keepdims", kInt, kNumber, 1},
                                  {"kind", kWord, kRequired, 0, "max min"},
                                  {"select_last", kInt, kNumber, 0}};
constexpr AttrInfo kAxisAttrs[] = {{"axis", kInt}};
constexpr AttrInfo kLayerNormAttrs[] = {
    {"axis", kInt}, {"epsilon", kFloat, kNumber, 1e-5}, {"kind", kWord, kOptional, 0, "rms l2"}};
constexpr AttrInfo kTransposeAttrs[] = {{"perm", kInts}};
constexpr AttrInfo kSliceAttrs[] = {{"starts", kInts}, {"steps", kInts, kOnes}};
constexpr AttrInfo kPadAttrs[] = {{"mode", kWord, kFirstWord, 0, "constant reflect edge wrap"},
                                  {"pads", kInts},
                                  {"value", kFloat, kNumber, 0}};
constexpr AttrInfo kAxisZeroAttrs[] = {{"axis", kInt, kNumber, 0}};
constexpr AttrInfo kGatherNDAttrs[] = {{"batch_dims", kInt, kNumber, 0}};
constexpr std::string_view kReductions = "none add mul max min";
constexpr AttrInfo kScatterElementsAttrs[] = {{"axis", kInt, kNumber, 0},
                                              {"reduction", kWord, kFirstWord, 0, kReductions}};
constexpr AttrInfo kScatterNDAttrs[] = {{"reduction", kWord, kFirstWord, 0, kReductions}};
constexpr AttrInfo kResizeAttrs[] = {
    {"coordinate_mode", kWord, kFirstWord, 0,
     "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric"},
    {"cubic_coeff_a", kFloat, kNumber, -0.75},
    {"exclude_outside", kInt, kNumber, 0},
    {"extrapolation", kFloat, kNumber, 0},
    {"mode", kWord, kRequired, 0, "nearest linear cubic"},
    {"nearest_mode", kWord, kFirstWord, 0, "round_prefer_floor round_prefer_ceil floor ceil"},
    {"scales", kFloats}};
constexpr AttrInfo kTileAttrs[] = {{"repeats", kInts}};
constexpr AttrInfo kTriluAttrs[] = {{"k", kInt, kNumber, 0}, {"upper", kInt, kNumber, 1}};
constexpr AttrInfo kCumSumAttrs[] = {
    {"axis", kInt}, {"exclusive", kInt, kNumber, 0}, {"reverse", kInt, kNumber, 0}};
constexpr AttrInfo kSuppressAttrs[] = {{"center", kInt, kNumber, 0}};
constexpr AttrInfo kViewAttrs[] = {{"offset", kInt, kNumber, 0}};

constexpr AttrInfo kDequantizeAttrs[] = {
    {"bits", kInt}, {"block", kInt}, {"depth", kInt}, {"zero", kInt, kNumber, 0}};

constexpr std::array<OpInfo, 34> kOps = {{
    {Op::kInput, "input", 0, 0, {}},
    {Op::kWeight, "weight", 0, 0, {}},
    {Op::kConstant, "constant", 0, 0, kConstantAttrs},
    {Op::kPointwise, "pointwise", 1, 3, {}},
    {Op::kCast, "cast", 1, 1, {}},
    {Op::kMatMul, "matmul", 2, 4, kMatMulAttrs},
    {Op::kConv, "conv", 2, 2, kConvAttrs},
    {Op::kAttention, "attention", 3, 5, kAttentionAttrs},
    {Op::kPool, "pool", 1, 1, kPoolAttrs},
    {Op::kReduce, "reduce", 1, 1, kReduceAttrs},
    {Op::kArg, "arg", 1, 1, kArgAttrs},
    {Op::kSoftmax, "softmax", 1, 1, kAxisAttrs},
    {Op::kLogSoftmax, "log_softmax", 1, 1, kAxisAttrs},
    {Op::kLayerNorm, "layer_norm", 1, 3, kLayerNormAttrs},
    {Op::kTranspose, "transpose", 1, 1, kTransposeAttrs},
    {Op::kReshape, "reshape", 1, 1, {}},
    {Op::kExpand, "expand", 1, 1, {}},
    {Op::kSlice, "slice", 1, 1, kSliceAttrs},
    {Op::kConcat, "concat", 1, kMany, kAxisAttrs},
    {Op::kPad, "pad", 1, 1, kPadAttrs},
    {Op::kGather, "gather", 2, 2, kAxisZeroAttrs},
    {Op::kGatherElements, "gather_elements", 2, 2, kAxisZeroAttrs},
    {Op::kGatherND, "gather_nd", 2, 2, kGatherNDAttrs},
    {Op::kScatterElements, "scatter_elements", 3, 3, kScatterElementsAttrs},
    {Op::kScatterND, "scatter_nd", 3, 3, kScatterNDAttrs},
    {Op::kResize, "resize", 1, 1, kResizeAttrs},
    {Op::kTile, "tile", 1, 1, kTileAttrs},
    {Op::kTrilu, "trilu", 1, 1, kTriluAttrs},
    {Op::kCumSum, "cum_sum", 1, 1, kCumSumAttrs},
    {Op::kNonZero, "nonzero", 1, 1, {}},
    {Op::kSuppress, "suppress", 5, 5, kSuppressAttrs},
    {Op::kView, "view", 1, 1, kViewAttrs},
    {Op::kCopy, "copy", 1, 1, {}},
    {Op::kDequantize, "dequantize", 2, 3, kDequantizeAttrs},
}};

constexpr int kOpCount = static_cast<int>(Op::kDequantize) + 1;

constexpr bool RowsAreInOrder() {
  for (int i = 0; i < kOpCount; ++i) {
    if (kOps[static_cast<size_t>(i)].op != static_cast<Op>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

AttrValue DefaultOf(const AttrInfo& info, int rank) {
  const auto spatial = static_cast<size_t>(std::max(rank - 2, 0));
  switch (info.absent) {
    case kSpatialOnes:
      return std::vector<int64_t>(spatial, 1);
    case kSpatialZeros:
      return std::vector<int64_t>(2 * spatial, 0);
    case kOnes:
      return std::vector<int64_t>(static_cast<size_t>(rank), 1);
    case kFirstWord:
      return std::string(info.words.substr(0, info.words.find(' ')));
    default:
      break;
  }
  if (info.kind == kInt) return static_cast<int64_t>(info.number);
  return info.number;
}

}  // namespace

std::string_view ToText(Op op) { return InfoOf(op).name; }

const OpInfo& InfoOf(Op op) { return kOps[static_cast<size_t>(op)]; }

int OpCount() { return kOpCount; }

const AttrInfo* FindAttr(Op op, std::string_view name) {
  for (const AttrInfo& info : InfoOf(op).attrs) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::optional<Op> FindOp(std::string_view name) {
  for (int i = 0; i < kOpCount; ++i) {
    const OpInfo& info = kOps[static_cast<size_t>(i)];
    if (info.name == name && info.op != Op::kPointwise) return info.op;
  }
  return std::nullopt;
}

void FillDefaults(Value& node, int rank) {
  for (const AttrInfo& info : InfoOf(node.op).attrs) {
    if (info.absent == kRequired || info.absent == kOptional || node.Has(info.name)) continue;
    node.attrs.emplace(info.name, DefaultOf(info, rank));
  }
}

bool HasWord(const AttrInfo& info, std::string_view name) {
  if (info.words.empty()) return true;
  if (name.empty() || name.find(' ') != std::string_view::npos) return false;
  std::string_view rest = info.words;
  while (true) {
    const size_t end = rest.find(' ');
    if (rest.substr(0, end) == name) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace mlc::graph
