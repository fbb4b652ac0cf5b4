// How a step's operands of the role_contraction family get to shared memory: rows and columns by
// asynchronous copies that arrive at an mbarrier. Appends to a builder; not thread-safe; borrows
// its arguments.
#pragma once

#include "compiler/ir/build_async.h"
#include "compiler/schedule/cuda/tensor/role_rows.h"

namespace mlc::schedule {

struct StageCopy {
  struct {
    ir::BufferId rows, columns;
  } global;
  struct {
    ir::BufferId rows, columns, barriers;  // of all stages
  } stages;
  ir::ExprRef m_tile, n_tile;
  BoxPlace first;     // of the tile's rows, if they are a box
  ir::ExprRef step;   // of the whole k
  ir::ExprRef stage;  // to fill
  ir::ExprRef rank;   // of the block in its cluster; null without one
};

// What the blocks of a cluster share, each brings a part of to all of them.
void CopyStage(const GpuContraction& g, const RolePlan& plan, const StageCopy& at,
               ir::KernelBuilder& b, ir::AsyncBuilder& async);

}  // namespace mlc::schedule
