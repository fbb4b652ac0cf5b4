// Moves queries, keys and values into shared memory: with asynchronous copies if they consist of
// vectors of 16 bytes, otherwise computed and stored. Elements outside the tensors become zero.
// Thread-safe.
#pragma once

#include <optional>

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/attention/attention_place.h"
#include "compiler/schedule/cuda/attention/attention_plan.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

// One of q, k, v of a head: rows x columns of the block's part.
class AttentionStage {
 public:
  AttentionStage(const graph::Workload& workload, ir::KernelBuilder& builder, Fused& fused,
                 graph::ValueId value, const AttentionPlan& plan);

  struct Part {
    ir::ExprRef batch, head;
    ir::ExprRef first_row;  // of `rows` rows; those from `row_end` on are zero
    int64_t rows = 0;
    ir::ExprRef row_end;
    ir::ExprRef
        first_column;  // a multiple of 16, of `columns`; those from `column_end` on are zero
    int64_t columns = 0;
    int64_t column_end = 0;
  };
  // Copies element (r, c) of the part to `base` + r * pitch + c of `to`. All threads take part.
  void Copy(ir::BufferId to, const ir::ExprRef& base, int64_t pitch, const Part& part,
            const ir::ExprRef& thread);
  // Has L2 fetch the part from memory, if it consists of vectors; reads nothing.
  void FetchAhead(const Part& part, const ir::ExprRef& thread);

 private:
  bool CopiesVectors(const AttentionPlace& plain, int lanes) const;
  void Element(ir::BufferId to, const ir::ExprRef& at, const Part& part, const ir::ExprRef& r,
               const ir::ExprRef& c);

  const graph::Workload& workload_;
  ir::KernelBuilder& builder_;
  Fused& fused_;
  const graph::ValueId value_;
  const AttentionPlan& plan_;
  std::optional<AttentionPlace> plain_;  // only where copies are possible
  int lanes_ = 1;
};

}  // namespace mlc::schedule::gpu
