// Rules of data movement.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/graph/ranged/prefix_rules.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::prefix {

namespace {

// Consecutive axes of operand and result that hold the same elements, in both graphs.
struct Group {
  int in_begin = 0, in_end = 0;
  int out_begin = 0, out_end = 0;
};

// Whether the row-major number of a true element within its group is the same in both graphs.
bool SameNumbers(const std::vector<int64_t>& exact, const std::vector<int64_t>& padded, int begin,
                 int end) {
  int64_t exact_inner = 1, padded_inner = 1;
  for (int a = end; a-- > begin;) {
    const auto at = static_cast<size_t>(a);
    if (exact[at] > 1 && exact_inner != padded_inner) return false;
    exact_inner *= exact[at];
    padded_inner *= padded[at];
  }
  return true;
}

std::vector<Group> GroupsOf(const NodePair& pair) {
  std::vector<Group> groups;
  Group group;
  const int in_rank = pair.rank(0), out_rank = pair.exact().type.rank();
  int64_t in_exact = 1, in_padded = 1, out_exact = 1, out_padded = 1;
  while (group.in_end < in_rank || group.out_end < out_rank) {
    const bool take_in =
        group.out_end == out_rank ||
        (group.in_end < in_rank && (in_exact < out_exact || in_padded < out_padded ||
                                    (in_exact == out_exact && in_padded == out_padded)));
    if (take_in) {
      in_exact *= pair.of(0, group.in_end);
      in_padded *= pair.in(0, group.in_end++);
    } else {
      out_exact *= pair.result_of(group.out_end);
      out_padded *= pair.result_in(group.out_end++);
    }
    if (in_exact != out_exact || in_padded != out_padded) continue;
    groups.push_back(group);
    group = {group.in_end, group.in_end, group.out_end, group.out_end};
    in_exact = in_padded = out_exact = out_padded = 1;
  }
  if (in_exact != 1 || in_padded != 1 || out_exact != 1 || out_padded != 1) groups.push_back(group);
  return groups;
}

// The axis of the group's result that is the operand's axis.
std::optional<int> SameAxis(const NodePair& pair, const Group& group, int axis) {
  for (int a = group.in_begin; a < group.in_end; ++a) {
    if (a != axis && pair.in(0, a) != 1) return std::nullopt;
  }
  for (int a = group.out_begin; a < group.out_end; ++a) {
    if (pair.result_of(a) == pair.of(0, axis) && pair.result_in(a) == pair.in(0, axis)) return a;
  }
  return std::nullopt;
}

constexpr int kMostSteps = 32;  // from an index to the constants that it is made of

// Indices that count from 0, such as positions: sums and parts of numbers that are not negative.
bool IsNeverNegative(const NodePair& pair, ValueId id, int steps = 0) {
  if (id == kNoValue || steps > kMostSteps) return false;
  const Value& value = pair.exact_value(id);
  size_t counted = 1;  // operands that the elements are from
  switch (value.op) {
    case Op::kConstant:
      if (value.data == nullptr) return value.Float("value") >= 0;
      return std::ranges::all_of(ReadInts(*value.data), [](int64_t i) { return i >= 0; });
    case Op::kPointwise:
      if (value.scalar != ScalarOp::kAdd || IsFloat(value.type.dtype)) return false;
      counted = 2;
      break;
    case Op::kConcat:
      counted = value.operands.size();
      break;
    case Op::kReshape:
    case Op::kExpand:
    case Op::kTranspose:
    case Op::kSlice:
      break;
    default:
      return false;
  }
  return std::all_of(value.operands.begin(),
                     value.operands.begin() + static_cast<std::ptrdiff_t>(counted),
                     [&](ValueId operand) { return IsNeverNegative(pair, operand, steps + 1); });
}

}  // namespace

Status ProveTranspose(const NodePair& pair) {
  const std::vector<int64_t>& perm = pair.exact().Ints("perm");
  uint32_t zero = 0;
  for (size_t a = 0; a < perm.size(); ++a) {
    if (pair.IsZeroBeyond(0, static_cast<int>(perm[a]))) zero |= uint32_t{1} << a;
  }
  pair.SetZeroBeyond(zero);
  return {};
}

Status ProveReshape(const NodePair& pair) {
  uint32_t zero = 0;
  for (const Group& group : GroupsOf(pair)) {
    const Value& from = pair.exact_operand(0);
    const bool same = SameNumbers(from.type.dims, pair.padded_operand(0).type.dims, group.in_begin,
                                  group.in_end) &&
                      SameNumbers(pair.exact().type.dims, pair.padded().type.dims, group.out_begin,
                                  group.out_end);
    if (!same) {
      return pair.Refuse(
          "it joins an axis whose length varies with one before it: padding would lie between "
          "the elements");
    }
    for (int a = group.in_begin; a < group.in_end; ++a) {
      if (!pair.IsZeroBeyond(0, a)) continue;
      if (const std::optional<int> to = SameAxis(pair, group, a)) zero |= uint32_t{1} << *to;
    }
  }
  pair.SetZeroBeyond(zero);
  return {};
}

Status ProveSlice(const NodePair& pair) {
  const std::vector<int64_t>& exact = pair.exact().Ints("starts");
  const std::vector<int64_t>& padded = pair.padded().Ints("starts");
  for (size_t a = 0; a < exact.size(); ++a) {
    if (exact[a] == padded[a]) continue;
    const int axis = static_cast<int>(a);
    if (exact[a] > padded[a]) return pair.Refuse("it starts earlier at a larger size");
    pair.Require(Need::Kind::kStart, 0, axis, exact[a]);
  }
  return {};
}

Status ProveConcat(const NodePair& pair) {
  const int axis = static_cast<int>(pair.exact().Int("axis"));
  for (int k = 0; k + 1 < pair.operand_count(); ++k) {
    if (pair.differs(k, axis)) pair.Require(Need::Kind::kJoin, k, axis, pair.of(k, axis));
  }
  return {};
}

Status ProvePad(const NodePair& pair) {
  const std::vector<int64_t>& exact = pair.exact().Ints("pads");
  const std::vector<int64_t>& padded = pair.padded().Ints("pads");
  const int rank = pair.rank(0);
  const bool is_constant = pair.exact().Word("mode") == "constant";
  for (int a = 0; a < rank; ++a) {
    const auto begin = static_cast<size_t>(a), end = static_cast<size_t>(a + rank);
    if (exact[begin] != padded[begin]) return pair.Refuse("its padding depends on the size");
    if (!pair.differs(0, a)) {
      if (exact[end] != padded[end]) return pair.Refuse("its padding depends on the size");
      continue;
    }
    const bool pads = exact[begin] != 0 || exact[end] != 0 || padded[end] != 0;
    if (pads && !is_constant) return pair.Refuse("it repeats elements at an end that varies");
    const double value = pair.exact().Float("value");
    if (exact[end] > 0 && std::isnan(value)) return pair.Refuse("it pads with NaN");
    if (exact[end] > 0) pair.Mask(0, a, value);
  }
  return {};
}

Status ProveGather(const NodePair& pair) {
  const int axis = static_cast<int>(pair.exact().Int("axis"));
  if (!pair.differs(0, axis) || IsNeverNegative(pair, pair.operand_id(1))) return {};
  pair.Require(Need::Kind::kIndex, 0, axis, pair.of(0, axis));
  return {};
}

// Tuples of another length, or behind batches, may lie anywhere.
Status ProveGatherND(const NodePair& pair) {
  const int last = pair.rank(1) - 1;
  if (pair.exact().Int("batch_dims") != 0 || pair.differs(1, last)) return ProveWhole(pair);
  if (IsNeverNegative(pair, pair.operand_id(1))) return {};
  for (int a = 0; a < pair.rank(0) && a < pair.of(1, last); ++a) {
    if (!pair.differs(0, a)) continue;
    if (pair.of(1, last) != 1) return ProveWhole(pair);
    pair.Require(Need::Kind::kIndex, 0, a, pair.of(0, a));
  }
  return {};
}

Status ProveNonZero(const NodePair& pair) {
  pair.Mask(0, 0, 0);
  return {};
}

// Boxes without a score are never selected; a longer result goes on where the shorter one ends.
Status ProveSuppress(const NodePair& pair) {
  pair.Mask(1, 2, -std::numeric_limits<double>::infinity());
  return {};
}

Status ProveResize(const NodePair& pair) {
  if (pair.operand_count() > 1) return ProveWhole(pair);
  const auto& scales = std::get<std::vector<double>>(pair.exact().attrs.find("scales")->second);
  for (int a = 0; a < pair.rank(0); ++a) {
    if (!pair.differs(0, a) && !pair.result_differs(a)) continue;
    const bool stays = scales[static_cast<size_t>(a)] == 1 && pair.of(0, a) == pair.result_of(a) &&
                       pair.in(0, a) == pair.result_in(a);
    if (!stays) return pair.Refuse("it resizes along an axis whose length varies");
  }
  return {};
}

Status ProveTile(const NodePair& pair) {
  const std::vector<int64_t>& exact = pair.exact().Ints("repeats");
  const std::vector<int64_t>& padded = pair.padded().Ints("repeats");
  for (int a = 0; a < pair.rank(0); ++a) {
    const auto at = static_cast<size_t>(a);
    if (pair.differs(0, a) && (exact[at] != 1 || padded[at] != 1)) {
      return pair.Refuse("it repeats an axis whose length varies");
    }
  }
  return {};
}

}  // namespace mlc::graph::prefix
