#include "compiler/ir/stored_rows.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "compiler/ir/row_finder.h"

namespace mlc::ir {

namespace {

// Beyond it, a table of first rows would be larger than what it is good for.
constexpr int64_t kMostIterations = 1 << 16;

// Whether an expression or a statement reads a result.
class ResultReads {
 public:
  explicit ResultReads(const Kernel& kernel) : kernel_(kernel) {}

  bool In(const ExprRef& expr) const {
    if (expr == nullptr) return false;
    if (const auto* load = std::get_if<Load>(&expr->node)) {
      return kernel_.buffers[static_cast<size_t>(load->buffer)].scope == Scope::kOut ||
             In(load->index) || In(load->mask);
    }
    if (const auto* apply = std::get_if<Apply>(&expr->node)) {
      return std::ranges::any_of(apply->args, [&](const ExprRef& arg) { return In(arg); });
    }
    if (const auto* cast = std::get_if<Cast>(&expr->node)) return In(cast->value);
    if (const auto* broadcast = std::get_if<Broadcast>(&expr->node)) return In(broadcast->value);
    if (const auto* reduce = std::get_if<ReduceLanes>(&expr->node)) return In(reduce->value);
    if (const auto* mask = std::get_if<LaneMask>(&expr->node)) return In(mask->active);
    if (const auto* shuffle = std::get_if<ShuffleXor>(&expr->node)) return In(shuffle->value);
    return false;
  }

  bool In(const StmtRef& stmt) const {
    if (stmt == nullptr) return false;
    if (const auto* block = std::get_if<Block>(&stmt->node)) {
      return std::ranges::any_of(block->body, [&](const StmtRef& part) { return In(part); });
    }
    if (const auto* loop = std::get_if<For>(&stmt->node)) return In(loop->body);
    if (const auto* branch = std::get_if<If>(&stmt->node)) {
      return In(branch->condition) || In(branch->then_body) || In(branch->else_body);
    }
    if (const auto* let = std::get_if<Let>(&stmt->node)) return In(let->value);
    if (const auto* store = std::get_if<Store>(&stmt->node)) return In(store->value);
    return false;
  }

 private:
  const Kernel& kernel_;
};

// The length of a group after which `rows` repeat themselves, each group ascending; 0: there is
// none.
size_t GroupOf(const std::vector<int64_t>& rows) {
  const auto descent = std::ranges::adjacent_find(rows, std::greater<>());
  if (descent == rows.end()) return rows.size();
  const auto group = static_cast<size_t>(descent - rows.begin()) + 1;
  for (size_t i = group; i < rows.size(); ++i) {
    if (rows[i] != rows[i - group]) return 0;
  }
  return rows.size() % group == 0 ? group : 0;
}

LoopRows RowsOf(RowFinder& finder, const For& loop) {
  const auto* end = std::get_if<IntImm>(&loop.end->node);
  if (end == nullptr || end->value > kMostIterations) return {};
  LoopRows rows;
  for (int64_t i = 0; i < end->value; ++i) {
    finder.Set(loop.var, {i, i});
    const std::optional<int64_t> row = finder.FirstRow(loop.body);
    if (!row) return {};
    rows.first.push_back(*row);
  }
  rows.first.resize(GroupOf(rows.first));
  if (!rows.first.empty() && rows.first.back() == 0) rows.first.clear();
  return rows;
}

}  // namespace

int64_t LoopRows::RunsFor(int64_t rows) const {
  return std::ranges::lower_bound(first, rows) - first.begin();
}

std::vector<LoopRows> StoredRows(const Kernel& kernel, std::span<const int64_t> row_elements) {
  std::vector<LoopRows> rows(kernel.phases.size());
  const ResultReads reads(kernel);
  const auto reads_results = [&](const StmtRef& phase) { return reads.In(phase); };
  if (kernel.IsGpu() || (rows.size() > 1 && std::ranges::any_of(kernel.phases, reads_results))) {
    return rows;
  }
  RowFinder finder(kernel, row_elements);
  for (size_t p = 0; p < rows.size(); ++p) {
    rows[p] = RowsOf(finder, std::get<For>(kernel.phases[p]->node));
  }
  return rows;
}

}  // namespace mlc::ir
