#include "compiler/ir/limit_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "compiler/ir/build.h"
#include "compiler/ir/row_finder.h"

namespace mlc::ir {

namespace {

// Rewrites the loops of a phase, with the ranges of all variables around them.
class LoopLimiter {
 public:
  LoopLimiter(const Kernel& kernel, std::span<const RowLoop> loops,
              std::span<const int64_t> row_elements, ExprRef limit)
      : loops_(loops), finder_(kernel, row_elements), limit_(std::move(limit)) {}

  bool limits() const { return limits_; }

  StmtRef Rewrite(const StmtRef& stmt) {
    if (stmt == nullptr) return stmt;
    if (const auto* block = std::get_if<Block>(&stmt->node)) return RewriteBlock(*block);
    if (const auto* loop = std::get_if<For>(&stmt->node)) return RewriteLoop(*loop);
    if (const auto* branch = std::get_if<If>(&stmt->node)) {
      If rewritten = *branch;
      rewritten.then_body = Rewrite(branch->then_body);
      rewritten.else_body = Rewrite(branch->else_body);
      return std::make_shared<const Stmt>(Stmt{std::move(rewritten)});
    }
    if (const auto* let = std::get_if<Let>(&stmt->node)) {
      finder_.Set(let->var, finder_.Of(let->value));
    }
    return stmt;
  }

 private:
  StmtRef RewriteBlock(const Block& block) {
    Block rewritten;
    for (const StmtRef& part : block.body) rewritten.body.push_back(Rewrite(part));
    return std::make_shared<const Stmt>(Stmt{std::move(rewritten)});
  }

  StmtRef RewriteLoop(const For& loop) {
    const IndexRange range = {finder_.Of(loop.begin).least, finder_.Of(loop.end).most - 1};
    For rewritten = loop;
    const auto rows = std::ranges::find(loops_, loop.var, &RowLoop::var);
    if (rows != loops_.end() && loop.kind == LoopKind::kSerial && loop.step == 1 &&
        IsOverRows(loop, *rows, range)) {
      const ExprRef end = FloorDiv(limit_ + (rows->rows - 1 - rows->origin), rows->rows);
      rewritten.end = Min(loop.end, end);
      limits_ = true;
    }
    if (range.most >= range.least) {
      finder_.Set(loop.var, range);
      rewritten.body = Rewrite(loop.body);
    }
    return std::make_shared<const Stmt>(Stmt{std::move(rewritten)});
  }

  bool IsOverRows(const For& loop, const RowLoop& rows, IndexRange range) {
    constexpr int64_t kMostIterations = 1 << 16;
    if (range.most - range.least > kMostIterations) return false;
    for (int64_t i = range.least; i <= range.most; ++i) {
      finder_.Set(loop.var, {i, i});
      const std::optional<int64_t> first = finder_.FirstRow(loop.body);
      if (!first || *first < rows.origin + i * rows.rows) return false;
    }
    return true;
  }

  const std::span<const RowLoop> loops_;
  RowFinder finder_;
  const ExprRef limit_;
  bool limits_ = false;
};

// That no buffer and no variable has.
std::string FreeName(const Kernel& kernel) {
  std::set<std::string> taken(kernel.vars.begin(), kernel.vars.end());
  for (const Buffer& buffer : kernel.buffers) taken.insert(buffer.name);
  std::string name = "rows";
  while (taken.contains(name)) name += '_';
  return name;
}

}  // namespace

Kernel LimitLoops(Kernel kernel, std::span<const RowLoop> loops,
                  std::span<const int64_t> row_elements) {
  if (loops.empty() || kernel.limit >= 0 || kernel.IsGpu()) return kernel;
  Kernel limited = kernel;
  limited.limit = static_cast<VarId>(kernel.vars.size());
  limited.vars.push_back(FreeName(kernel));
  const ExprRef limit =
      std::make_shared<const Expr>(Expr{Type{DType::kI64, 1}, VarRef{limited.limit}});
  LoopLimiter limiter(kernel, loops, row_elements, limit);
  for (StmtRef& phase : limited.phases) {
    phase = limiter.Rewrite(phase);
  }
  return limiter.limits() ? limited : kernel;
}

}  // namespace mlc::ir
