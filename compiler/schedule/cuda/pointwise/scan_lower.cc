#include "compiler/schedule/cuda/pointwise/scan_lower.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/pointwise/pointwise_scan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule::gpu {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

// An argument search over at least this many elements is shared by a warp.
constexpr int64_t kWorthWarp = 32;

ExprRef IntOf(DType dtype, int64_t value) {
  return std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, ir::IntImm{value}});
}
ExprRef ZeroOf(DType dtype) { return IsFloat(dtype) ? ir::Float(dtype, 0) : IntOf(dtype, 0); }

bool IsScatter(Op op) { return op == Op::kScatterElements || op == Op::kScatterND; }

ScalarOp ReductionOf(const std::string& word) {
  if (word == "add") return ScalarOp::kAdd;
  if (word == "mul") return ScalarOp::kMul;
  return word == "max" ? ScalarOp::kMax : ScalarOp::kMin;
}

class ScanEmitter {
 public:
  ScanEmitter(const Workload& workload, ValueId scan, const PieceKnobs& knobs)
      : workload_(workload),
        scan_(scan),
        node_(workload.graph()[scan]),
        knobs_(knobs),
        builder_("scan"),
        fused_(workload, builder_) {
    if (AllNarrow(workload)) builder_.Approximate();
  }

  LoweredKernel Run() {
    if (node_.op == Op::kCumSum) {
      CumSum();
    } else if (node_.op == Op::kArg) {
      Arg();
    } else {
      Scatter();
    }
    return {builder_.Finish(), fused_.bindings(), {}};
  }

 private:
  const std::vector<int64_t>& Dims(ValueId id) const { return workload_.graph()[id].type.dims; }
  const std::vector<int64_t>& DimsOfX() const { return Dims(node_.operands[0]); }

  // One launch over `count` items, `share` threads to each; body runs with the item's number and
  // `inside`, null where no thread is past the end.
  using Item = std::function<void(ExprRef item, ExprRef lane, ExprRef inside)>;
  void ForEach(int64_t count, int share, const Item& body) {
    builder_.Launch(BlocksOf(count, share), knobs_.threads, 0,
                    [&](const ExprRef& block, const ExprRef& thread) {
                      BeginLaunch(builder_);
                      ForItems(count, share, block, thread, body);
                    });
  }
  int64_t BlocksOf(int64_t count, int share) const {
    return std::max<int64_t>(1, CeilDiv(count, int64_t{knobs_.threads / share}));
  }
  // The items of a block.
  void ForItems(int64_t count, int share, const ExprRef& block, const ExprRef& thread,
                const Item& body) {
    if (count == 0) return;
    const int64_t items = knobs_.threads / share;
    const ExprRef lane = share == 1 ? ir::Int(0) : builder_.Let("lane", ir::Mod(thread, share));
    const ExprRef item = builder_.Let("item", block * items + ir::FloorDiv(thread, int64_t{share}));
    if (count % items == 0) return body(item, lane, nullptr);
    body(builder_.Let("i", ir::Min(item, ir::Int(count - 1))), lane, Less(item, ir::Int(count)));
  }
  void Guarded(const ExprRef& inside, const std::function<void()>& body) {
    if (!inside) return body();
    builder_.If(inside, body);
  }

  // All dimensions of x but the scanned one.
  std::vector<int> Kept() const {
    std::vector<int> kept;
    for (int d = 0; d < static_cast<int>(DimsOfX().size()); ++d) {
      if (d != static_cast<int>(node_.Int("axis"))) kept.push_back(d);
    }
    return kept;
  }
  Point LineOf(const ExprRef& line) {
    Point point;
    point.at.assign(DimsOfX().size(), ir::Int(0));
    SetRow(builder_, line, Kept(), DimsOfX(), point.at);
    return point;
  }

  void CumSum() {
    const DType dtype = ComputeType(node_.type.dtype);
    const size_t axis = static_cast<size_t>(node_.Int("axis"));
    const int64_t size = DimsOfX()[axis];
    const bool reverse = node_.Int("reverse") != 0;
    const bool exclusive = node_.Int("exclusive") != 0;
    const ExprRef zero = ir::Int(0);
    const ir::BufferId sum = builder_.Registers("sum", dtype, 1, 1);
    const int64_t lines = size == 0 ? 0 : RowCount(Kept(), DimsOfX());
    ForEach(lines, 1, [&](const ExprRef& line, const ExprRef&, const ExprRef& inside) {
      Guarded(inside, [&] {
        Point point = LineOf(line);
        builder_.Set(sum, zero, ZeroOf(dtype));
        builder_.For("i", size, [&](const ExprRef& i) {
          point.at[axis] = reverse ? builder_.Let("j", ir::Int(size - 1) - i) : i;
          const auto store = [&] {
            fused_.StoreOutputs(point, {{scan_, builder_.Get(sum, zero)}});
          };
          if (exclusive) store();
          const ExprRef x = fused_.Emit(node_.operands[0], point);
          builder_.Set(sum, zero, Do(ScalarOp::kAdd, builder_.Get(sum, zero), x));
          if (!exclusive) store();
        });
      });
    });
  }

  void Arg() {
    const DType dtype = ComputeType(workload_.graph()[node_.operands[0]].type.dtype);
    const size_t axis = static_cast<size_t>(node_.Int("axis"));
    const int64_t size = DimsOfX()[axis];
    const bool narrow = (dtype == DType::kF32 || dtype == DType::kI32) && size < (int64_t{1} << 31);
    const int share = narrow && size >= kWorthWarp ? 32 : 1;
    const ir::BufferId best = builder_.Registers("best", dtype, 1, 1);
    const DType index = share > 1 ? DType::kI32 : DType::kI64;
    const ir::BufferId where = builder_.Registers("where", index, 1, 1);
    const ExprRef zero = ir::Int(0);
    const int64_t lines = RowCount(Kept(), DimsOfX());
    ForEach(lines, share, [&](const ExprRef& line, const ExprRef& lane, const ExprRef& inside) {
      Point point = LineOf(line);
      point.at[axis] = lane;
      builder_.Set(best, zero, fused_.Emit(node_.operands[0], point));
      const auto as_index = [&](const ExprRef& i) {
        return index == DType::kI64 ? i : ir::MakeCast(index, i);
      };
      builder_.Set(where, zero, as_index(lane));
      builder_.For("i", lane + share, ir::Int(size), share, [&](const ExprRef& i) {
        point.at[axis] = i;
        const ir::BufferId now = now_.at(dtype, builder_);
        builder_.Set(now, zero, fused_.Emit(node_.operands[0], point));
        Take(best, where, builder_.Get(now, zero), as_index(i), false);
      });
      for (int mask = share / 2; mask > 0; mask /= 2) {
        const ir::BufferId other = other_.at(dtype, builder_);
        const ir::BufferId place = place_.at(index, builder_);
        builder_.Set(other, zero, ir::MakeShuffleXor(builder_.Get(best, zero), mask));
        builder_.Set(place, zero, ir::MakeShuffleXor(builder_.Get(where, zero), mask));
        Take(best, where, builder_.Get(other, zero), builder_.Get(place, zero), true);
      }
      StoreArg(point, axis, lane, share, inside, where);
    });
  }

  // Takes the other value where it is better, or as good and at the place that is asked for. NaN
  // counts as the extremum, as it does in the reference's comparison by the running extremum.
  void Take(ir::BufferId best, ir::BufferId where, const ExprRef& x, const ExprRef& at,
            bool any_order) {
    const bool max = node_.Word("kind") == "max";
    const bool last = node_.Int("select_last") != 0;
    const ExprRef zero = ir::Int(0);
    const ExprRef old = builder_.Get(best, zero);
    const ExprRef place = builder_.Get(where, zero);
    ExprRef better = max ? Less(old, x) : Less(x, old);
    ExprRef tie = Do(ScalarOp::kEqual, old, x);
    if (any_order) {
      tie = Do(ScalarOp::kAnd, tie, last ? Less(place, at) : Less(at, place));
      better = Do(ScalarOp::kOr, better, tie);
    } else if (last) {
      better = Do(ScalarOp::kOr, better, tie);
    }
    builder_.Set(where, zero, ir::MakeApply(ScalarOp::kSelect, {better, at, place}));
    builder_.Set(best, zero, Do(max ? ScalarOp::kMax : ScalarOp::kMin, old, x));
  }

  void StoreArg(Point stored, size_t axis, const ExprRef& lane, int share, const ExprRef& inside,
                ir::BufferId where) {
    stored.at[axis] = ir::Int(0);
    if (node_.Int("keepdims") == 0) {
      stored.at.erase(stored.at.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    ExprRef condition = inside;
    if (share > 1) {
      const ExprRef first = Less(lane, ir::Int(1));
      condition = inside ? Do(ScalarOp::kAnd, inside, first) : first;
    }
    ExprRef value = builder_.Get(where, ir::Int(0));
    if (value->type.dtype != DType::kI64) value = ir::MakeCast(DType::kI64, value);
    Guarded(condition, [&] { fused_.StoreOutputs(stored, {{scan_, value}}); });
  }

  // An index value made safe: negative ones count from the end, the rest is clamped.
  ExprRef SafeIndex(ExprRef value, int64_t size) {
    if (value->type.dtype != DType::kI64) value = ir::MakeCast(DType::kI64, value);
    const ExprRef raw = builder_.Let("i", value);
    const ExprRef wrapped =
        ir::MakeApply(ScalarOp::kSelect, {Less(raw, ir::Int(0)), raw + size, raw});
    return builder_.Let("i", ir::Min(ir::Max(wrapped, ir::Int(0)), ir::Int(size - 1)));
  }

  // The element of the output that an update at `at` goes to.
  std::vector<ExprRef> TargetOf(const Value& scatter, const std::vector<ExprRef>& at) {
    if (scatter.op == Op::kScatterElements) {
      const size_t axis = static_cast<size_t>(scatter.Int("axis"));
      std::vector<ExprRef> to = at;
      const ExprRef index = fused_.Emit(scatter.operands[1], Point{at, -1, 1, nullptr});
      to[axis] = SafeIndex(index, scatter.type.dims[axis]);
      return to;
    }
    const std::vector<int64_t>& index_dims = Dims(scatter.operands[1]);
    const auto outer = static_cast<std::ptrdiff_t>(index_dims.size()) - 1;
    std::vector<ExprRef> to;
    for (int64_t j = 0; j < index_dims.back(); ++j) {
      Point point;
      point.at.assign(at.begin(), at.begin() + outer);
      point.at.push_back(ir::Int(j));
      const ExprRef index = fused_.Emit(scatter.operands[1], point);
      to.push_back(SafeIndex(index, scatter.type.dims[static_cast<size_t>(j)]));
    }
    to.insert(to.end(), at.begin() + outer, at.end());
    return to;
  }

  // `output`: the workload's output that the scatter is.
  void Update(int output, const std::vector<ExprRef>& at) {
    const Value& scatter = workload_.graph()[workload_.outputs()[static_cast<size_t>(output)]];
    const std::string& reduction = scatter.Word("reduction");
    const Point to{TargetOf(scatter, at), -1, 1, nullptr};
    ExprRef value = fused_.Emit(scatter.operands[2], Point{at, -1, 1, nullptr});
    if (reduction != "none") {
      const ExprRef old = builder_.Load(fused_.OutputBuffer(output),
                                        fused_.Offset(scatter.type, to.at), 1, 1, nullptr);
      const DType compute = ComputeType(scatter.type.dtype);
      const ExprRef wide = compute == scatter.type.dtype ? old : ir::MakeCast(compute, old);
      value = Do(ReductionOf(reduction), wide, value);
    }
    fused_.Store(output, to, value);
  }

  // The updates of one scatter. Those that differ in a dimension that indices do not touch never
  // meet: each thread takes one point of those dimensions and walks the others in order.
  struct Updates {
    int output = 0;
    std::vector<int64_t> dims;
    std::vector<int> apart, in_order;
    int64_t count = 0;
  };
  Updates UpdatesOf(int output) const {
    const Value& scatter = workload_.graph()[workload_.outputs()[static_cast<size_t>(output)]];
    Updates updates{output, Dims(scatter.operands[2]), {}, {}, 0};
    const int walked = static_cast<int>(Dims(scatter.operands[1]).size()) - 1;
    for (int d = 0; d < static_cast<int>(updates.dims.size()); ++d) {
      const bool meets = scatter.op == Op::kScatterElements
                             ? d == static_cast<int>(scatter.Int("axis"))
                             : d < walked;
      (meets ? updates.in_order : updates.apart).push_back(d);
    }
    const bool any = RowCount(updates.in_order, updates.dims) != 0;
    updates.count = any ? RowCount(updates.apart, updates.dims) : 0;
    return updates;
  }
  void UpdateAll(const Updates& updates, const ExprRef& block, const ExprRef& thread) {
    ForItems(updates.count, 1, block, thread,
             [&](const ExprRef& item, const ExprRef&, const ExprRef& inside) {
               Guarded(inside, [&] {
                 std::vector<ExprRef> at(updates.dims.size(), ir::Int(0));
                 SetRow(builder_, item, updates.apart, updates.dims, at);
                 const std::function<void(size_t)> loop = [&](size_t k) {
                   if (k == updates.in_order.size()) return Update(updates.output, at);
                   const size_t d = static_cast<size_t>(updates.in_order[k]);
                   builder_.For("u", updates.dims[d], [&](const ExprRef& u) {
                     at[d] = u;
                     loop(k + 1);
                   });
                 };
                 loop(0);
               });
             });
  }

  // One launch copies what all scatters update. In the other, each scatter has blocks of its own,
  // and so have the results beside them.
  void Scatter() {
    std::vector<Piece> copies, others;
    std::vector<Updates> all;
    for (int i = 0; i < static_cast<int>(workload_.outputs().size()); ++i) {
      const ValueId output = workload_.outputs()[static_cast<size_t>(i)];
      const Value& node = workload_.graph()[output];
      const bool scatters = IsScatter(node.op);
      (scatters ? copies : others)
          .push_back(PieceOf(workload_, scatters ? node.operands[0] : output, i));
      if (scatters) all.push_back(UpdatesOf(i));
    }
    EmitPieces(builder_, fused_, copies, knobs_);
    std::optional<PieceBlocks> pieces;
    if (!others.empty()) pieces.emplace(builder_, fused_, others, knobs_);
    int64_t blocks = pieces ? pieces->blocks() : 0;
    for (const Updates& updates : all) blocks += BlocksOf(updates.count, 1);
    builder_.Launch(blocks, knobs_.threads, 0, [&](const ExprRef& block, const ExprRef& thread) {
      BeginLaunch(builder_);
      ShareBlocks(all, 0, pieces ? &*pieces : nullptr, block, thread);
    });
  }
  // The blocks of the scatters from the i-th on, then those of the other results, if there are any.
  void ShareBlocks(const std::vector<Updates>& all, size_t i, PieceBlocks* pieces,
                   const ExprRef& block, const ExprRef& thread) {
    if (i == all.size()) return pieces->Emit(block, thread);
    if (i + 1 == all.size() && pieces == nullptr) return UpdateAll(all[i], block, thread);
    const int64_t own = BlocksOf(all[i].count, 1);
    builder_.If(
        Less(block, ir::Int(own)), [&] { UpdateAll(all[i], block, thread); },
        [&] { ShareBlocks(all, i + 1, pieces, builder_.Let("after", block - own), thread); });
  }

  // A register that is declared when it is first needed.
  struct Slot {
    ir::BufferId id = -1;
    ir::BufferId at(DType dtype, ir::KernelBuilder& builder) {
      if (id < 0) id = builder.Registers("other", dtype, 1, 1);
      return id;
    }
  };

  const Workload& workload_;
  const ValueId scan_;
  const Value& node_;
  const PieceKnobs& knobs_;
  ir::KernelBuilder builder_;
  Fused fused_;
  Slot now_, other_, place_;
};

}  // namespace

ValueId FindScanOnGpu(const Workload& workload) {
  const ValueId scan = FindScan(workload);
  if (scan != graph::kNoValue || workload.outputs().size() < 2) return scan;
  const graph::Graph& graph = workload.graph();
  const auto is_covered = [&](ValueId id) { return Fused::Covers(workload, id, {}); };
  ValueId first = graph::kNoValue;
  for (const ValueId output : workload.outputs()) {
    if (!IsScatter(graph[output].op)) {
      if (!is_covered(output)) return graph::kNoValue;
      continue;
    }
    if (!std::ranges::all_of(graph[output].operands, is_covered)) return graph::kNoValue;
    if (graph[output].type.rank() == 0) return graph::kNoValue;
    if (first == graph::kNoValue) first = output;
  }
  return first;
}

LoweredKernel LowerScan(const Workload& workload, ValueId scan, const PieceKnobs& knobs) {
  return ScanEmitter(workload, scan, knobs).Run();
}

}  // namespace mlc::schedule::gpu
