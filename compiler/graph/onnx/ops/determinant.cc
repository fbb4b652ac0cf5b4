// Determinants of small matrices, expanded along their rows.
#include <bit>
#include <utility>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// The expansion has n 2^n terms.
constexpr int64_t kMaxRows = 6;

// The minors of the last rows, by their set of columns: each is the sum of the products of one more
// row and the minors without its columns, with signs that alternate.
ValueId Determinant(Builder& b, const std::vector<std::vector<ValueId>>& elements) {
  const auto n = static_cast<int>(elements.size());
  std::vector<ValueId> minors(size_t{1} << n, kNoValue);
  for (unsigned columns = 1; columns < minors.size(); ++columns) {
    const int rows = std::popcount(columns);
    const std::vector<ValueId>& row = elements[static_cast<size_t>(n - rows)];
    ValueId sum = kNoValue;
    bool is_negative = false;
    for (int column = 0; column < n; ++column) {
      if ((columns >> column & 1) == 0) continue;
      const ValueId minor = minors[columns & ~(1U << column)];
      ValueId term = row[static_cast<size_t>(column)];
      if (minor != kNoValue) term = b.Times(term, minor);
      if (sum == kNoValue) {
        sum = term;
      } else {
        sum = is_negative ? b.Minus(sum, term) : b.Plus(sum, term);
      }
      is_negative = !is_negative;
    }
    minors[columns] = sum;
  }
  return minors.back();
}

void Det(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int rank = b.RankOf(x);
  if (!c.ok()) return;
  if (rank < 2 || b.Dim(x, rank - 1) != b.Dim(x, rank - 2)) {
    return c.Fail("the operand must be square matrices");
  }
  const int64_t n = b.Dim(x, rank - 1);
  if (n > kMaxRows) return c.Unsupported("a matrix of more than 6 rows");
  const Dims outer(b.DimsOf(x).begin(), b.DimsOf(x).end() - 2);
  if (n == 0) return c.Out(b.Expand(b.ScalarLike(x, 1), outer));
  std::vector<std::vector<ValueId>> elements;
  for (int64_t i = 0; i < n; ++i) {
    const ValueId row = b.SliceAxis(x, rank - 2, i, 1);
    std::vector<ValueId>& in_row = elements.emplace_back();
    for (int64_t j = 0; j < n; ++j) {
      in_row.push_back(b.Reshape(b.SliceAxis(row, rank - 1, j, 1), outer));
    }
  }
  c.Out(Determinant(b, elements));
}

constexpr OpRow kDeterminantRows[] = {{"Det", Det, 1, 1, "matrices of at most 6 rows"}};

}  // namespace

std::span<const OpRow> DeterminantOps() { return kDeterminantRows; }

}  // namespace mlc::graph::onnx
