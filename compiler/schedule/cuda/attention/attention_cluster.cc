#include "compiler/schedule/cuda/attention/attention_cluster.h"

#include <limits>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;
using ir::Int;

namespace {

ExprRef F32(double value, int lanes = 1) { return ir::Float(DType::kF32, value, lanes); }

}  // namespace

AttentionCluster::AttentionCluster(ir::KernelBuilder& builder, const AttentionPlan& plan,
                                   AttentionStore& store)
    : builder_(builder),
      plan_(plan),
      store_(store),
      output_(builder.SharedMemory("block_output", DType::kF32, plan.rows() * plan.slice())),
      rows_(builder.SharedMemory("block_rows", DType::kF32, plan.rows() * 2)),
      maxima_(builder.Registers("maxima", DType::kF32, 1, plan.split)),
      sums_(builder.Registers("peer_sums", DType::kF32, 1, plan.split)),
      outputs_(builder.Registers("outputs", DType::kF32, 2, plan.split)),
      top_(builder.Registers("cluster_top", DType::kF32, 1, 2)),
      pair_(builder.Registers("joined", DType::kF32, 2, 1)) {}

void AttentionCluster::SetRow(const ExprRef& row, const ExprRef& maximum, const ExprRef& sum) {
  builder_.Store(rows_, row * 2, maximum);
  builder_.Store(rows_, row * 2 + 1, sum);
}

void AttentionCluster::SetPair(const ExprRef& row, const ExprRef& column, const ExprRef& pair) {
  builder_.Store(output_, row * plan_.slice() + column, pair);
}

// The barrier at the end keeps a block's memory until the others have read it.
void AttentionCluster::Store(const ExprRef& rank, const ExprRef& thread, const ExprRef& first_row,
                             const ExprRef& first_column) {
  builder_.ClusterBarrier();
  const int64_t pairs = plan_.slice() / 2;
  const int64_t live = std::min(plan_.rows(), plan_.problem.queries) * pairs;
  const int64_t share = CeilDiv(live, int64_t{plan_.split});
  builder_.For("round", CeilDiv(share, int64_t{plan_.threads()}), [&](const ExprRef& round) {
    const ExprRef mine = builder_.Let("in_share", round * int64_t{plan_.threads()} + thread);
    const ExprRef at = builder_.Let("pair_at", rank * share + mine);
    builder_.If(Do(ScalarOp::kAnd, Less(mine, Int(share)), Less(at, Int(live))), [&] {
      const ExprRef row = builder_.Let("joined_row", ir::FloorDiv(at, pairs));
      const ExprRef column = builder_.Let("joined_column", ir::Mod(at, pairs) * 2);
      Join(row, column);
      store_.Pair(first_row + row, first_column + column, pair_);
    });
  });
  builder_.ClusterBarrier();
}

// All parts are under way before the first is used.
void AttentionCluster::Join(const ExprRef& row, const ExprRef& column) {
  for (int r = 0; r < plan_.split; ++r) {
    builder_.LoadPeer(maxima_, Int(r), rows_, row * 2, Int(r));
    builder_.LoadPeer(sums_, Int(r), rows_, row * 2 + 1, Int(r));
    builder_.LoadPeer(outputs_, Int(r), output_, row * plan_.slice() + column, Int(r));
  }
  const ExprRef top = builder_.Get(top_, Int(0)), sum = builder_.Get(top_, Int(1));
  builder_.Set(top_, Int(0), builder_.Get(maxima_, Int(0)));
  for (int r = 1; r < plan_.split; ++r) {
    builder_.Set(top_, Int(0), Do(ScalarOp::kMax, top, builder_.Get(maxima_, Int(r))));
  }
  // Of rows that are masked whole there is no maximum to subtract.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  builder_.Set(
      top_, Int(0),
      ir::MakeApply(ScalarOp::kSelect, {Do(ScalarOp::kEqual, top, F32(-kInfinity)), F32(0), top}));
  builder_.Set(top_, Int(1), F32(0));
  builder_.Set(pair_, Int(0), F32(0, 2));
  for (int r = 0; r < plan_.split; ++r) {
    const ExprRef at = Int(r);
    const ExprRef weight = builder_.Get(maxima_, at);
    builder_.Set(maxima_, at, Do(ScalarOp::kExp, Do(ScalarOp::kSub, weight, top)));
    builder_.Set(top_, Int(1),
                 ir::MakeApply(ScalarOp::kFma, {weight, builder_.Get(sums_, at), sum}));
    builder_.Set(
        pair_, Int(0),
        ir::MakeApply(ScalarOp::kFma, {ir::MakeBroadcast(weight, 2), builder_.Get(outputs_, at),
                                       builder_.Get(pair_, Int(0))}));
  }
  builder_.Set(pair_, Int(0),
               Do(ScalarOp::kDiv, builder_.Get(pair_, Int(0)), ir::MakeBroadcast(sum, 2)));
}

}  // namespace mlc::schedule::gpu
