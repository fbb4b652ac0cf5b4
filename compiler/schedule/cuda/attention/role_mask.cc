#include "compiler/schedule/cuda/attention/role_mask.h"

#include <limits>
#include <vector>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Stands for finite numbers that are infinite in units of scores.
constexpr double kLowest = -1e37;

ExprRef F32(double value) { return ir::Float(DType::kF32, value, 4); }

}  // namespace

// Scores have no scale yet, so numbers are divided by it.
void RoleMask::Add(const RoleSoftmax& softmax, const ExprRef& batch, const ExprRef& head,
                   const ExprRef& query, const ExprRef& key) {
  const graph::TensorType& type = workload_.graph()[plan_.mask].type;
  const int rank = type.rank();
  const bool by_row = rank >= 2 && type.dims[static_cast<size_t>(rank) - 2] != 1;
  const bool overflows = type.dtype != DType::kF16;
  const double factor = 1 / plan_.problem.scale;
  added_ = builder_.Thread("added", DType::kF32, 4);
  ExprRef rows[2];
  for (int half = 0; half < 2; ++half) {
    rows[half] = builder_.Let(
        "mask_row", ir::Min(query + int64_t{half} * 8, ir::Int(plan_.problem.queries - 1)));
  }
  for (int n = 0; n < plan_.score_tiles(); ++n) {
    const ExprRef at = ir::Int(n), column = builder_.Let("mask_key", key + int64_t{n} * 8);
    Load(batch, head, rows[0], column, 0);
    if (by_row) {
      Load(batch, head, rows[1], column, 1);
    } else {
      builder_.Store(added_, ir::Int(2), builder_.Load(added_, ir::Int(0), 2));
    }
    const ExprRef mask = builder_.Load(added_, ir::Int(0), 4);
    const ExprRef score = builder_.Get(softmax.scores(), at);
    ExprRef sum = ir::MakeApply(ScalarOp::kFma, {mask, F32(factor), score});
    if (overflows) {
      const ExprRef bounded =
          Do(ScalarOp::kMax, Do(ScalarOp::kMul, mask, F32(factor)), F32(kLowest));
      const ExprRef hides = Do(ScalarOp::kEqual, mask, F32(-kInfinity));
      sum = Do(ScalarOp::kAdd, score,
               ir::MakeApply(ScalarOp::kSelect, {hides, F32(-kInfinity), bounded}));
    }
    builder_.Set(softmax.scores(), at, sum);
  }
}

// Two neighbouring keys of a row.
void RoleMask::Load(const ExprRef& batch, const ExprRef& head, const ExprRef& query,
                    const ExprRef& key, int half) {
  const graph::TensorType& type = workload_.graph()[plan_.mask].type;
  const int rank = type.rank();
  const bool pairs = rank > 0 && type.dims.back() % 2 == 0 &&
                     Fused::Vectorises(workload_, plan_.mask, rank - 1, 2);
  for (int lane = 0; lane < (pairs ? 1 : 2); ++lane) {
    const std::vector<ExprRef> all = {batch, head, query, key + lane};
    Point point;
    point.at.assign(all.end() - rank, all.end());
    if (pairs) {
      point.dim = rank - 1;
      point.lanes = 2;
    }
    builder_.Store(added_, ir::Int(half * 2 + lane), fused_.Emit(plan_.mask, point));
  }
}

}  // namespace mlc::schedule::gpu
