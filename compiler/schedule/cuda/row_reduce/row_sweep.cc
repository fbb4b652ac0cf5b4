#include "compiler/schedule/cuda/row_reduce/row_sweep.h"

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

RowSweep::RowSweep(ir::KernelBuilder& builder, const RowPlan& plan, RowGroup& group)
    : builder_(builder), plan_(plan), problem_(plan.problem), group_(group) {}

void RowSweep::Locate(const ExprRef& block, const ExprRef& thread) {
  split_ = builder_.Let("split", ir::Mod(block, plan_.splits));
  item_block_ = builder_.Let("ib", ir::FloorDiv(block, plan_.splits));
  const int items = plan_.items_per_block();
  group_.SetThread(thread);
  const ExprRef item = builder_.Let("item", item_block_ * items + group_.item());
  inside_ = plan_.items % items == 0 ? nullptr : Less(item, ir::Int(plan_.items));
  item_ = inside_ ? builder_.Let("it", ir::Min(item, ir::Int(plan_.items - 1))) : item;
  at_.assign(problem_.dims.size(), ir::Int(0));
  if (problem_.inner) return SetRow(builder_, item_, problem_.kept, problem_.dims, at_);
  const int64_t columns = plan_.column_vectors();
  SetRow(builder_, builder_.Let("row", ir::FloorDiv(item_, columns)), problem_.kept, problem_.dims,
         at_);
  at_[static_cast<size_t>(problem_.column)] =
      builder_.Let("cv", ir::Mod(item_, columns)) * int64_t{plan_.lanes};
}

void RowSweep::VisitVector(const ExprRef& index, const ExprRef& slot, const ExprRef& chain,
                           const Body& body) {
  std::vector<ExprRef> at = at_;
  const int64_t columns = plan_.column_vectors();
  ExprRef r = index;
  if (problem_.inner && problem_.column >= 0) {
    ExprRef& column = at[static_cast<size_t>(problem_.column)];
    const bool one = problem_.Reduced() == 1;
    column = (one ? index : builder_.Let("c", ir::Mod(index, columns))) * int64_t{plan_.lanes};
    r = one ? ir::Int(0) : builder_.Let("r", ir::FloorDiv(index, columns));
  }
  SetRow(builder_, r, problem_.reduced, problem_.dims, at);
  const int dim = plan_.lanes > 1 ? problem_.column : -1;
  body({Point{at, dim, plan_.lanes, nullptr}, slot, chain});
}

void RowSweep::ForVectors(const Body& body) {
  if (plan_.splits > 1) return ForVectorsOfSplit(body);
  const int64_t group = plan_.group;
  const int64_t whole = plan_.vectors / group;
  const auto visit = [&](const ExprRef& slot, const ExprRef& chain) {
    VisitVector(builder_.Let("n", slot * group + group_.lane()), slot, chain, body);
  };
  int64_t done = 0;
  const int64_t rounds = plan_.keep ? 0 : whole / kRowUnroll;
  if (rounds > 0) {
    builder_.For("i", rounds, [&](const ExprRef& i) {
      builder_.Unrolled("j", kRowUnroll, [&](const ExprRef& j) { visit(i * kRowUnroll + j, j); });
    });
    done = rounds * kRowUnroll;
  }
  builder_.Unrolled("i", whole - done,
                    [&](const ExprRef& i) { visit(i + done, plan_.keep ? ir::Int(0) : i); });
  if (plan_.vectors % group == 0) return;
  builder_.If(Less(group_.lane(), ir::Int(plan_.vectors % group)),
              [&] { visit(ir::Int(whole), ir::Int(0)); });
}

void RowSweep::ForVectorsOfSplit(const Body& body) {
  const int64_t round = int64_t{plan_.group} * kRowUnroll;
  const auto sweep = [&](int64_t count) {
    const auto visit = [&](const ExprRef& i, const ExprRef& j) {
      const ExprRef n = builder_.Let(
          "n", split_ * plan_.per_split + i * round + (j * int64_t{plan_.group} + group_.lane()));
      const auto one = [&] { VisitVector(n, j, j, body); };
      if (count == plan_.per_split) return one();
      builder_.If(Less(n, ir::Int(plan_.vectors)), one);
    };
    builder_.For("i", CeilDiv(count, round), [&](const ExprRef& i) {
      builder_.Unrolled("j", kRowUnroll, [&](const ExprRef& j) { visit(i, j); });
    });
  };
  const int64_t last = plan_.vectors - (plan_.splits - 1) * plan_.per_split;
  if (last == plan_.per_split) return sweep(last);
  builder_.If(
      Less(split_, ir::Int(plan_.splits - 1)), [&] { sweep(plan_.per_split); },
      [&] { sweep(last); });
}

void RowSweep::ForVectorsInside(const Body& body) {
  if (!inside_) return ForVectors(body);
  builder_.If(inside_, [&] { ForVectors(body); });
}

ExprRef RowSweep::IsFirst() const {
  const ExprRef first = Less(group_.lane(), ir::Int(1));
  return inside_ ? Do(ScalarOp::kAnd, inside_, first) : first;
}

}  // namespace mlc::schedule::gpu
