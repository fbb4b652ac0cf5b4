#include "compiler/schedule/cuda/tile/gpu_normed_rows.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

using gpu::Do;
using graph::Op;
using graph::ValueId;
using ir::ExprRef;
using ir::Int;

namespace {

constexpr int kWarp = 32;
constexpr int kMostLanes = 8;

int LanesOf(int64_t k) {
  int lanes = kMostLanes;
  while (k % lanes != 0) lanes /= 2;
  return lanes;
}

}  // namespace

NormedRows::NormedRows(const graph::Workload& workload, const GpuContraction& g, int threads,
                       Fused& fused, ir::KernelBuilder& b)
    : workload_(workload),
      g_(g),
      norm_(workload.graph()[g.p.norm]),
      threads_(threads),
      fused_(fused),
      b_(b),
      lanes_(WidestLanes()),
      pieces_(CeilDiv(g.k / lanes_, int64_t{threads})) {
  x_ = b.Registers("normed", DType::kF32, lanes_, g.m * pieces_);
  factor_ = b.Registers("factor", DType::kF32, 1, g.m);
  parts_ = b.SharedMemory("squares", DType::kF32, g.m * (threads / kWarp));
  FindConstants();
}

int NormedRows::WidestLanes() const {
  const std::array<ValueId, 1> anchors = {g_.p.norm};
  for (int lanes = LanesOf(g_.k); lanes > 1; lanes /= 2) {
    if (Fused::Vectorises(workload_, g_.p.rows, 1, lanes, anchors) &&
        Fused::Vectorises(workload_, norm_.operands[0], 1, lanes)) {
      return lanes;
    }
  }
  return 1;
}

int NormedRows::Registers(const GpuContraction& g, int threads) {
  if (g.p.norm == graph::kNoValue) return 0;
  const int lanes = LanesOf(g.k);
  const auto pieces = static_cast<int>(CeilDiv(g.k / lanes, int64_t{threads}));
  return (static_cast<int>(g.m) + 1) * pieces * lanes;
}

int64_t NormedRows::Bytes(const GpuContraction& g, int threads) {
  return g.p.norm == graph::kNoValue ? 0 : 4 * g.m * (threads / kWarp);
}

// Weights of the rows with an element for each k.
void NormedRows::FindConstants() {
  const graph::Graph& graph = workload_.graph();
  std::vector<ValueId> stack = {g_.p.rows};
  if (norm_.operands.size() > 1 && norm_.operands[1] != graph::kNoValue) {
    stack.push_back(norm_.operands[1]);
  }
  while (!stack.empty()) {
    const ValueId id = stack.back();
    stack.pop_back();
    const auto is_known = [&](const Constant& constant) { return constant.id == id; };
    if (id == graph::kNoValue || id == g_.p.norm || std::ranges::any_of(constants_, is_known)) {
      continue;
    }
    const graph::Value& node = graph[id];
    const std::vector<int64_t>& dims = node.type.dims;
    const bool is_row = !dims.empty() && dims.back() == g_.k && node.type.NumElements() == g_.k;
    if (node.op == Op::kWeight && is_row &&
        Fused::Vectorises(workload_, id, node.type.rank() - 1, lanes_)) {
      constants_.push_back({id, b_.Registers("constant", DType::kF32, lanes_, pieces_)});
    }
    if (node.op == Op::kPointwise || node.op == Op::kCast || node.op == Op::kCopy) {
      stack.insert(stack.end(), node.operands.begin(), node.operands.end());
    }
  }
}

Point NormedRows::PointAt(ValueId id, const ExprRef& m, const ExprRef& k) const {
  const int rank = workload_.graph()[id].type.rank();
  Point point;
  if (rank == 2) point.at.push_back(m);
  point.at.push_back(k);
  if (lanes_ > 1) {
    point.dim = rank - 1;
    point.lanes = lanes_;
  }
  return point;
}

void NormedRows::Visit(const ExprRef& thread, int64_t end,
                       const std::function<void(int64_t, const ExprRef&)>& body) {
  const int64_t count = CeilDiv(end, int64_t{lanes_});
  for (int64_t i = 0; i < CeilDiv(count, int64_t{threads_}); ++i) {
    const ExprRef piece = b_.Let("piece", thread + i * threads_);
    const auto one = [&] { body(i, b_.Let("k", piece * int64_t{lanes_})); };
    if ((i + 1) * threads_ <= count) {
      one();
    } else {
      b_.If(Less(piece, count), one);
    }
  }
}

void NormedRows::Preload(const ExprRef& thread) {
  Visit(thread, g_.k, [&](int64_t piece, const ExprRef& k) {
    for (const Constant& constant : constants_) {
      b_.Set(constant.registers, Int(piece),
             fused_.Emit(constant.id, PointAt(constant.id, Int(0), k)));
    }
  });
}

// All pieces are under way before the first is squared.
void NormedRows::ReadRows(const ExprRef& thread) {
  const ValueId source = norm_.operands[0];
  for (int64_t m = 0; m < g_.m; ++m) {
    b_.Set(factor_, Int(m), ir::Float(DType::kF32, 0));
    for (int64_t i = 0; i < pieces_; ++i) {
      if ((i + 1) * threads_ * lanes_ > g_.k) {
        b_.Set(x_, Int(Slot(m, i)), ir::Float(DType::kF32, 0, lanes_));
      }
    }
  }
  Visit(thread, g_.k, [&](int64_t piece, const ExprRef& k) {
    for (int64_t m = 0; m < g_.m; ++m) {
      b_.Set(x_, Int(Slot(m, piece)), fused_.Emit(source, PointAt(source, Int(m), k)));
    }
  });
  for (int64_t m = 0; m < g_.m; ++m) {
    for (int64_t i = 0; i < pieces_; ++i) {
      const ExprRef x = b_.Get(x_, Int(Slot(m, i)));
      const ExprRef squares = Do(ScalarOp::kMul, x, x);
      b_.Set(factor_, Int(m),
             Do(ScalarOp::kAdd, b_.Get(factor_, Int(m)),
                lanes_ == 1 ? squares : ir::MakeReduce(ScalarOp::kAdd, squares)));
    }
  }
}

// The sums of all threads, as the factor of the row.
void NormedRows::Combine(const ExprRef& thread) {
  const int warps = threads_ / kWarp;
  for (int distance = kWarp / 2; distance >= 1; distance /= 2) {
    for (int64_t m = 0; m < g_.m; ++m) {
      const ExprRef sum = b_.Get(factor_, Int(m));
      b_.Set(factor_, Int(m), Do(ScalarOp::kAdd, sum, ir::MakeShuffleXor(sum, distance)));
    }
  }
  b_.If(Do(ScalarOp::kEqual, ir::Mod(thread, kWarp), Int(0)), [&] {
    for (int64_t m = 0; m < g_.m; ++m) {
      b_.Store(parts_, ir::FloorDiv(thread, kWarp) + m * warps, b_.Get(factor_, Int(m)));
    }
  });
  b_.Barrier();
  const int lanes = std::min(warps, 4);
  for (int64_t m = 0; m < g_.m; ++m) {
    ExprRef sum;
    for (int w = 0; w < warps; w += lanes) {
      const ExprRef part = b_.Load(parts_, Int(m * warps + w), lanes);
      sum = sum ? Do(ScalarOp::kAdd, sum, part) : part;
    }
    if (lanes > 1) sum = ir::MakeReduce(ScalarOp::kAdd, sum);
    const ExprRef mean =
        Do(ScalarOp::kMul, sum, ir::Float(DType::kF32, 1.0 / static_cast<double>(g_.k)));
    const ExprRef shifted =
        Do(ScalarOp::kAdd, mean, ir::Float(DType::kF32, norm_.Float("epsilon")));
    b_.Set(factor_, Int(m),
           Do(ScalarOp::kDiv, ir::Float(DType::kF32, 1), Do(ScalarOp::kSqrt, shifted)));
  }
}

void NormedRows::ForPieces(const ExprRef& thread, int64_t padded, const Piece& store) {
  ReadRows(thread);
  Combine(thread);
  const bool is_scaled = norm_.operands.size() > 1 && norm_.operands[1] != graph::kNoValue;
  const auto value = [&](int64_t m, int64_t piece, const ExprRef& k) {
    std::map<ValueId, ExprRef> bound;
    for (const Constant& constant : constants_) {
      bound[constant.id] = b_.Get(constant.registers, Int(piece));
    }
    const ExprRef factor = ir::MakeBroadcast(b_.Get(factor_, Int(m)), lanes_);
    ExprRef normed = Do(ScalarOp::kMul, b_.Get(x_, Int(Slot(m, piece))), factor);
    if (is_scaled) {
      const ValueId scale = norm_.operands[1];
      const auto known = bound.find(scale);
      const ExprRef by =
          known != bound.end() ? known->second : fused_.Emit(scale, PointAt(scale, Int(m), k));
      normed = Do(ScalarOp::kMul, normed, gpu::Widened(by, lanes_));
    }
    bound[g_.p.norm] = normed;
    return fused_.Emit(g_.p.rows, PointAt(g_.p.rows, Int(m), k), bound);
  };
  Visit(thread, padded, [&](int64_t piece, const ExprRef& k) {
    const auto all = [&] {
      for (int64_t m = 0; m < g_.m; ++m) store(m, k, value(m, piece, k));
    };
    const auto zeros = [&] {
      for (int64_t m = 0; m < g_.m; ++m) store(m, k, ir::Float(DType::kF32, 0, lanes_));
    };
    if (piece * threads_ * lanes_ >= g_.k) return zeros();
    if ((piece + 1) * threads_ * lanes_ <= g_.k) return all();
    b_.If(Less(k, g_.k), all, zeros);
  });
}

}  // namespace mlc::schedule
