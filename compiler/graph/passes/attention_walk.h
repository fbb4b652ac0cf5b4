// Finds attention: walks from a product with the values down to the product of queries and keys,
// and records everything in between. Before: softmax is one node. It rewrites nothing;
// attention_operands.h builds the operands from the match. Not thread-safe, as Rewriter.
//
//   values <- weights: cast, reshape, transpose, 0 for NaN
//          <- softmax
//          <- scores: cast, reshape, transpose, scale, sum with a mask, selection, lower bound
//          <- product of queries and keys, either way round
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

// A change of the shape of scores [..., queries, keys]; the keys stay last.
struct ScoreStep {
  std::vector<int64_t> from;  // the shape below
  std::vector<int64_t> to;    // the shape above
  std::vector<int64_t> perm;  // of a transpose; else empty
};

// An operation on the scores between the product and softmax, other than the scale.
struct ScoreTerm {
  enum class Kind : uint8_t { kAdd, kSelect, kAtLeast };
  Kind kind = Kind::kAdd;
  ValueId value = kNoValue;   // kAdd: the other term; kSelect: the condition
  bool negated = false;       // kAdd: it is subtracted; kSelect: the condition hides
  double number = 0;          // kSelect: instead of hidden scores; kAtLeast: the bound
  double scale = 1;           // scale of everything above
  size_t above = 0;           // steps above
  std::vector<int64_t> dims;  // of the scores at this place
};

struct RowFactor {
  ValueId value = kNoValue;  // its last dimension has size 1
  bool divides = false;
  size_t above = 0;
  std::vector<int64_t> dims;
};

struct AttentionMatch {
  ValueId left = kNoValue;   // of the product of queries and keys: [..., queries, depth]
  ValueId right = kNoValue;  // [..., depth, keys]
  bool turned = false;       // left is [..., keys, depth], right [..., depth, queries]
  ValueId v = kNoValue;      // [..., keys, width], or transposed
  double scale = 1;
  std::vector<int64_t> product_dims;  // of q k^T
  std::vector<int64_t> weight_dims;   // of the left operand of the product with the values
  std::vector<ScoreStep> steps;       // from the values down
  std::vector<ScoreTerm> terms;       // from the values down
  std::vector<RowFactor> factors;
  bool zero_hidden_rows = false;  // weights that are NaN become zero
  bool transposed = false;        // v is [..., width, keys], the result [..., width, queries]
};

struct AttentionSearch {
  bool found = false;
  AttentionMatch match;  // if found
  // Why not, as a clause after "because"; empty if the graph does not resemble attention.
  std::string reason;
};

// Examines a product with the values; its operands are in `graph`, the graph that `rewriter`
// writes.
AttentionSearch FindAttention(const Rewriter& rewriter, const Graph& graph, const Value& product);

}  // namespace mlc::graph
