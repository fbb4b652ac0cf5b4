#include "compiler/ir/limit_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/ir/row_finder.h"

namespace mlc::ir {

namespace {

// The first iteration of a loop that has no more than `above` rows below the limit.
ExprRef EndOf(const RowLoop& loop, const ExprRef& limit, int64_t above) {
  ExprRef rows = limit * loop.parts;
  if (loop.total > 0) rows = Min(rows, Int(loop.total));
  return FloorDiv(rows + (loop.rows - 1 - loop.origin - above), loop.rows);
}

// Iterations that have rows below the limit, of loops that follow each other: the last one of them
// has most where it has any.
ExprRef NeededUnits(std::span<const RowLoop> loops, const ExprRef& limit) {
  ExprRef needed = Int(0);
  for (const RowLoop& loop : loops) {
    if (!loop.share || loop.above > 0) continue;
    needed = Max(needed, EndOf(loop, limit, 0));
  }
  return needed;
}

// Rewrites the loops of a phase, with the ranges of all variables around them.
class LoopLimiter {
 public:
  // `divides`: chunks divide what is needed.
  LoopLimiter(const Kernel& kernel, std::span<const RowLoop> loops,
              std::span<const int64_t> row_elements, ExprRef limit, bool divides)
      : loops_(loops),
        finder_(kernel, row_elements),
        limit_(std::move(limit)),
        needed_(NeededUnits(loops, limit_)),
        divides_(divides) {}

  // How many loops end at the limit.
  size_t limited() const { return limited_; }

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
      Limit(*rows, rewritten);
      ++limited_;
    }
    if (range.most >= range.least) {
      finder_.Set(loop.var, range);
      rewritten.body = Rewrite(loop.body);
    }
    return std::make_shared<const Stmt>(Stmt{std::move(rewritten)});
  }

  void Limit(const RowLoop& rows, For& loop) const {
    if (divides_ && rows.share) {
      const ExprRef units = Min(Int(rows.share->units), needed_);
      const auto cut = [&](const ExprRef& chunk) {
        return FloorDiv(chunk * units, rows.share->chunks);
      };
      loop.begin = Max(cut(rows.share->chunk), Int(rows.begin));
      loop.end = Min(cut(rows.share->chunk + 1), Int(rows.end));
      if (rows.above > 0) loop.end = Min(loop.end, EndOf(rows, limit_, rows.above));
    } else {
      loop.end = Min(loop.end, EndOf(rows, limit_, rows.above));
    }
    if (rows.most > 0) loop.begin = Max(loop.begin, EndOf(rows, limit_, rows.most));
  }

  bool IsOverRows(const For& loop, const RowLoop& rows, IndexRange range) {
    constexpr int64_t kMostIterations = 1 << 16;
    constexpr int64_t kMostParts = 1 << 20;  // times kNoLimit
    if (range.most - range.least > kMostIterations || rows.parts > kMostParts) return false;
    for (int64_t i = range.least; i <= range.most; ++i) {
      finder_.Set(loop.var, {i, i});
      const std::optional<int64_t> first = finder_.FirstRow(loop.body);
      if (!first || *first < (rows.origin + i * rows.rows) / rows.parts) return false;
    }
    return true;
  }

  const std::span<const RowLoop> loops_;
  RowFinder finder_;
  const ExprRef limit_;
  const ExprRef needed_;
  const bool divides_;
  size_t limited_ = 0;
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
  // An iteration of a loop that stays as it is would run in another chunk than those it goes with.
  for (const bool divides : {true, false}) {
    LoopLimiter limiter(kernel, loops, row_elements, limit, divides);
    std::vector<StmtRef> phases;
    for (const StmtRef& phase : kernel.phases) phases.push_back(limiter.Rewrite(phase));
    if (limiter.limited() == 0) return kernel;
    const bool all = limiter.limited() == loops.size();
    if (divides && !all) continue;
    if (!all && std::ranges::any_of(loops, &RowLoop::needs_limit)) return kernel;
    limited.phases = std::move(phases);
    break;
  }
  return limited;
}

}  // namespace mlc::ir
