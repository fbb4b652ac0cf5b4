#include "compiler/ir/row_finder.h"

#include <algorithm>
#include <variant>

namespace mlc::ir {

std::optional<int64_t> RowFinder::FirstRow(const StmtRef& part) {
  row_ = kNoRow;
  understood_ = true;
  Walk(part);
  if (!understood_) return std::nullopt;
  return std::max<int64_t>(row_, 0);
}

void RowFinder::Walk(const StmtRef& stmt) {
  if (stmt == nullptr) return;
  if (const auto* block = std::get_if<Block>(&stmt->node)) {
    for (const StmtRef& part : block->body) Walk(part);
  } else if (const auto* loop = std::get_if<For>(&stmt->node)) {
    WalkLoop(*loop);
  } else if (const auto* branch = std::get_if<If>(&stmt->node)) {
    const IndexRange condition = ranges_.Of(branch->condition);
    if (condition.most != 0) Walk(branch->then_body);
    if (condition.least != 1) Walk(branch->else_body);
  } else if (const auto* let = std::get_if<Let>(&stmt->node)) {
    ranges_.Set(let->var, ranges_.Of(let->value));
  } else if (const auto* store = std::get_if<Store>(&stmt->node)) {
    Note(*store);
  } else if (!std::holds_alternative<Prefetch>(stmt->node) &&
             !std::holds_alternative<RegisterTranspose>(stmt->node)) {
    understood_ = false;
  }
}

void RowFinder::WalkLoop(const For& loop) {
  const int64_t first = ranges_.Of(loop.begin).least;
  const int64_t last = ranges_.Of(loop.end).most - 1;
  if (last < first) return;
  ranges_.Set(loop.var, {first, last});
  Walk(loop.body);
}

void RowFinder::Note(const Store& store) {
  const Scope scope = kernel_.buffers[static_cast<size_t>(store.buffer)].scope;
  if (scope == Scope::kThread || scope == Scope::kRegister) return;
  const auto param = static_cast<size_t>(store.buffer);
  const int64_t elements = param < row_elements_.size() ? row_elements_[param] : 0;
  if (scope != Scope::kOut || elements < 1 || store.stride < 1) {
    understood_ = false;
    return;
  }
  // A row before the first one is no row, but the bound of an index may be too low.
  row_ = std::min(row_, ranges_.Of(store.index).least / elements);
}

}  // namespace mlc::ir
