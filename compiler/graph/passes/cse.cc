#include "compiler/graph/passes/cse.h"

#include <cstring>
#include <unordered_map>

#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

bool SameData(const TensorDataRef& a, const TensorDataRef& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr || a->bytes.size() != b->bytes.size()) return false;
  return a->bytes.empty() || std::memcmp(a->bytes.data(), b->bytes.data(), a->bytes.size()) == 0;
}

bool SameNode(const Value& a, const Value& b) {
  return a.op == b.op && (a.op != Op::kPointwise || a.scalar == b.scalar) &&
         a.operands == b.operands && a.attrs == b.attrs && a.type == b.type &&
         SameData(a.data, b.data);
}

// Cheap and blind to most of the bytes: SameNode decides.
uint64_t KeyOf(const Value& node) {
  std::string key;
  key += static_cast<char>(node.op);
  key += node.op == Op::kPointwise ? static_cast<char>(node.scalar) : '\0';
  for (const ValueId operand : node.operands) key += std::to_string(operand) + ",";
  for (const int64_t dim : node.type.dims) key += std::to_string(dim) + "x";
  key += static_cast<char>(node.type.dtype);
  if (node.data) {
    constexpr size_t kSample = 4096;
    const auto head = node.data->bytes.first(std::min(kSample, node.data->bytes.size()));
    key += DigestOf(head).ToText();
  }
  return DigestOf(key).low;
}

}  // namespace

Result<bool> EliminateCommonSubexpressions(Graph& graph) {
  std::unordered_multimap<uint64_t, ValueId> known;
  return Rewriter::Run(graph, [&known](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    if (node.op == Op::kInput || node.op == Op::kWeight) return out.Add(node);
    const uint64_t key = KeyOf(node);
    const auto [begin, end] = known.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      if (SameNode(out[it->second], node)) return it->second;
    }
    const ValueId id = out.Add(node);
    known.emplace(key, id);
    return id;
  });
}

}  // namespace mlc::graph
