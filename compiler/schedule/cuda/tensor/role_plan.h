// A config of the role_contraction family read as decisions. A value.
//
// One warp copies steps of both operands, 128 bytes of k each, through `stages` stages of shared
// memory; `groups` warpgroups multiply them. They share each tile of bm x bn outputs by rows, or
// take turns at whole tiles (`alternate`), so that one stores while the other multiplies. As many
// blocks as multiprocessors go through the tiles in their order.
#pragma once

#include "compiler/schedule/cuda/tensor/tensor_plan.h"

namespace mlc::schedule {

// Columns that a warp stores at once, from rows of `kRolePitch` floats in shared memory: as many as
// keep its accesses off each other's banks.
constexpr int kRoleChunk = 32;
constexpr int kRolePitch = 40;
// Results of two bytes that need no more than values of their columns lie there as results, in rows
// of `narrow_chunk` and these more.
constexpr int kNarrowGap = 8;

struct RolePlan {
  TensorPlan tensor;  // tiles, steps and the packed columns
  int groups = 2;
  bool alternate = false;
  int band = 0;  // tiles along m of a column of tiles; 0: all, -1: tiles along n come first
  int64_t blocks = 1;
  int narrow_chunk = 0;  // columns of results of two bytes that a warp stores at once; 0: none

  int tile_groups() const { return alternate ? 1 : groups; }
  int group_rows() const { return tensor.bm / tile_groups(); }
  int row_tiles() const { return group_rows() / 64; }  // of the instruction, in a group's part
  int column_tiles() const { return tensor.bn / 8; }
  int warps() const { return 4 * groups; }  // that multiply
  int threads() const { return 32 * warps() + 32; }
  int64_t tiles() const { return tensor.m_tiles * tensor.n_tiles; }
  int64_t rounds() const { return (tiles() + blocks - 1) / blocks; }  // of tiles, for a block
  int narrow_pitch() const { return narrow_chunk + kNarrowGap; }
  int64_t staging_elements() const { return int64_t{warps()} * 16 * kRolePitch; }  // floats
  int64_t narrow_elements() const { return int64_t{warps()} * 16 * narrow_pitch(); }
  int64_t block_bytes() const;
  int registers() const;  // estimate of a thread that multiplies
};

// Whether the workload's results may lie in shared memory as results of two bytes.
bool StoresNarrow(const graph::Workload& workload, const GpuContraction& g, const RolePlan& plan);

// Whether tensor copies can bring the operands: rows that lie `RowPitch` elements apart.
bool RolesMultiply(const GpuContraction& g);
// Elements from one row of the row operand to the next; 0 where there is no such number.
int64_t RowPitch(const GpuContraction& g);

RolePlan MakeRolePlan(const GpuContraction& g, const target::Target& target, const Config& config);
RejectReason CheckRolePlan(const GpuContraction& g, const target::Target& target,
                           const RolePlan& plan);
// Clocks of the kernel.
double RoleCycles(const target::Target& target, const RolePlan& plan);

}  // namespace mlc::schedule
