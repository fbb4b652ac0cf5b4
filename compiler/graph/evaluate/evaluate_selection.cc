// Selections: places of what is true, and boxes that overlap no better one.
#include <algorithm>
#include <cmath>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

TensorDataRef NonZero(const Value& node, const TensorData& x) {
  std::vector<int64_t> places(static_cast<size_t>(node.type.dims[0]), 0);
  const std::vector<int64_t> values = ReadInts(x);
  size_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places[count++] = static_cast<int64_t>(i);
  }
  return WriteInts(DType::kI64, node.type.dims, places);
}

// In single precision, as detectors compute it.
struct Box {
  float low[2];
  float high[2];
  float area;
};

Box BoxOf(const double* given, bool is_center) {
  Box box{};
  for (int d = 0; d < 2; ++d) {
    const auto a = static_cast<float>(given[d]), b = static_cast<float>(given[d + 2]);
    box.low[d] = is_center ? a - b * 0.5F : std::min(a, b);
    box.high[d] = is_center ? a + b * 0.5F : std::max(a, b);
  }
  box.area = (box.high[0] - box.low[0]) * (box.high[1] - box.low[1]);
  return box;
}

bool Overlap(const Box& a, const Box& b, float most) {
  float sides[2];
  for (int d = 0; d < 2; ++d) {
    sides[d] = std::max(0.0F, std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]));
  }
  const float shared = sides[0] * sides[1];
  const float joined = a.area + b.area - shared;
  return shared > 0 && a.area > 0 && b.area > 0 && joined > 0 && shared / joined > most;
}

// The selected boxes of one class.
std::vector<int64_t> Select(const std::vector<Box>& boxes, std::vector<double> scores, double least,
                            float overlap, int64_t most) {
  std::vector<int64_t> selected;
  for (double& score : scores) {
    if (!(score > least)) score = -INFINITY;
  }
  while (static_cast<int64_t>(selected.size()) < most) {
    const auto best = std::ranges::max_element(scores);
    if (best == scores.end() || !(*best > -INFINITY)) break;
    const auto at = static_cast<size_t>(best - scores.begin());
    selected.push_back(static_cast<int64_t>(at));
    scores[at] = -INFINITY;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (Overlap(boxes[at], boxes[i], overlap)) scores[i] = -INFINITY;
    }
  }
  return selected;
}

TensorDataRef Suppress(const Value& node, Operands operands) {
  const std::vector<double> boxes = ReadDoubles(*operands[0]);
  const std::vector<double> scores = ReadDoubles(*operands[1]);
  const auto classes = static_cast<size_t>(node.type.dims[1]);
  const auto count = static_cast<size_t>(operands[1]->dims[2]);
  const int64_t room = node.type.dims[2];
  const int64_t most = std::min(ReadInt(*operands[2], 0), room);
  const auto overlap = static_cast<float>(ReadDouble(*operands[3], 0));
  const double least = ReadDouble(*operands[4], 0);
  std::vector<int64_t> result;
  for (size_t batch = 0; batch < static_cast<size_t>(node.type.dims[0]); ++batch) {
    std::vector<Box> of_batch;
    for (size_t i = 0; i < count; ++i) {
      of_batch.push_back(BoxOf(&boxes[(batch * count + i) * 4], node.Int("center") != 0));
    }
    for (size_t c = 0; c < classes; ++c) {
      const auto first =
          scores.begin() + static_cast<std::ptrdiff_t>((batch * classes + c) * count);
      std::vector<int64_t> selected = Select(
          of_batch, {first, first + static_cast<std::ptrdiff_t>(count)}, least, overlap, most);
      selected.resize(static_cast<size_t>(room), -1);
      result.insert(result.end(), selected.begin(), selected.end());
    }
  }
  return WriteInts(DType::kI64, node.type.dims, result);
}

}  // namespace

Result<TensorDataRef> EvaluateSelection(const Value& node, Operands operands) {
  return node.op == Op::kNonZero ? NonZero(node, *operands[0]) : Suppress(node, operands);
}

}  // namespace mlc::graph::evaluate_internal
