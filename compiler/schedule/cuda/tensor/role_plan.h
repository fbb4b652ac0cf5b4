// A config of the role_contraction family read as decisions. A value.
//
// One warp copies steps of both operands, 128 bytes of k each, through `stages` stages of shared
// memory; `groups` warpgroups multiply them. They share each tile of bm x bn outputs by rows, or
// take turns at whole tiles (`alternate`), so that one stores while the other multiplies. As many
// blocks as multiprocessors go through the tiles in their order. With `storers`, so many warps more
// carry results from shared memory to global memory while the next tile is multiplied. With a split
// of k, a block has a part of one tile, and the last block of a tile adds the parts up.
//
// The blocks of a cluster multiply neighbouring tiles at the same time. Each brings a part of what
// they share to all of them, so that L2 is read once.
#pragma once

#include <array>
#include <optional>

#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/cuda/tile/gpu_row_box.h"

namespace mlc::schedule {

// Columns that a warp stores at once, from rows of `kRolePitch` floats in shared memory: as many as
// keep its accesses off each other's banks. Half of them where tiles have an odd number of halves.
constexpr int kRoleChunk = 32;
constexpr int kRolePitch = 40;
constexpr int kRoleMaxRows = 256;  // of a tile
constexpr int kSumGap = 8;         // floats between rows of a split's sums, or of results
// Storers have so many pieces of 16 bytes under way.
constexpr int kPiecesAhead = 4;

// What the family needs to know of a workload.
struct RoleProblem {
  GpuContraction g;
  NarrowResults results;  // which storers may carry; they bring the guest
  bool of_boxes = false;  // tiles of rows are boxes of positions
  std::array<RowBox, kRoleMaxRows / 64> boxes = {};  // of 64 positions, 128, ...
  bool shares_taps = false;  // of some boxes, a stage can serve several taps
  double tolerance = 0;      // of the workload
  double output_flops = 0;   // of what follows the product, for each result
};

// Blocks along m, which share columns, or along n, which share rows: one or two.
struct RoleCluster {
  int m = 1, n = 1;
  int size() const { return m * n; }
};

// With a box, the rows of one stage may serve several taps along one axis: those of a tap begin
// `shift` rows behind those of the tap before.
struct TapShare {
  int taps = 1;
  int shift = 0;
  int run = 0;    // rows of a tile that lie side by side
  int extra = 0;  // rows after each run, which only later taps read
};

// What is in shared memory at once.
struct RoleStage {
  int64_t rows = 0, columns = 0;  // elements of both operands
  int64_t count = 1;              // of stages that a block's part of a tile takes
  int64_t elements() const { return rows + columns; }
};

struct RolePlan {
  TensorPlan tensor;  // tiles, steps and the packed columns
  int groups = 2;
  bool alternate = false;
  int band = 0;  // tiles along m of a column of tiles; 0: all, -1: tiles along n come first
  int64_t blocks = 1;
  int storers = 0;     // warps that carry whole tiles of results
  bool guest = false;  // whether they also bring another tensor's values
  RoleCluster cluster;
  RowBox box;        // of the rows of a tile, if they are no neighbours
  int64_t taps = 1;  // that read the same elements of a box's input
  TapShare share;
  RoleStage stage;
  bool unshared = false;  // taps should share stages, and cannot
  bool moves_registers = false;
  // Results of one or two bytes that need no more than values of their columns and the guest lie in
  // shared memory as results, and a gap after each row. So do those of four bytes for storers; else
  // nothing would be gained over sums there.
  int narrow_chunk = 0;  // columns that a warp stores at once so; 0: none
  NarrowResults results;
  bool apart = false;    // the unit's sums of a step are added up outside of it, exactly
  int scaled_parts = 0;  // of a tile's columns, each with a scale (RoleScales); 0: no scales
  double output_flops = 0;

  int tile_groups() const { return alternate ? 1 : groups; }
  int group_rows() const { return tensor.bm / tile_groups(); }
  int row_tiles() const { return group_rows() / 64; }  // of the instruction, in a group's part
  int column_tiles() const { return tensor.bn / 8; }
  int warps() const { return 4 * groups; }  // that multiply
  // Warps that do not multiply are a group, if they give registers to the others.
  int threads() const { return 32 * (warps() + (moves_registers ? 4 : 1 + storers)); }
  int64_t tiles() const { return tensor.m_tiles * tensor.n_tiles; }
  // The blocks of a cluster go through units of as many tiles, of which the last may lie outside.
  int64_t m_units() const { return (tensor.m_tiles + cluster.m - 1) / cluster.m; }
  int64_t n_units() const { return (tensor.n_tiles + cluster.n - 1) / cluster.n; }
  int64_t units() const { return m_units() * n_units(); }
  int64_t clusters() const { return blocks / cluster.size(); }
  // Of tiles, for a block.
  int64_t rounds() const { return (units() + clusters() - 1) / clusters(); }
  // Rows and columns that all units cover.
  int64_t padded_m() const { return m_units() * cluster.m * tensor.bm; }
  int64_t padded_n() const { return n_units() * cluster.n * tensor.bn; }
  int split() const { return tensor.split; }
  int split_pitch() const { return tensor.bn + kSumGap; }  // of a row of sums
  int narrow_pitch() const { return narrow_chunk + results.lanes(); }
  int64_t staging_elements() const { return int64_t{warps()} * 16 * kRolePitch; }  // floats
  int64_t narrow_elements() const { return int64_t{warps()} * 16 * narrow_pitch(); }
  // Tiles of results on their way to global memory: one, or one of each group that takes turns.
  int result_tiles() const { return alternate ? groups : 1; }
  int result_pitch() const { return tensor.bn + (results.wide() ? kSumGap : results.lanes()); }
  int64_t result_elements() const { return int64_t{result_tiles()} * tensor.bm * result_pitch(); }
  double read_share() const;  // of its tiles that a block reads from L2
  int64_t block_bytes() const;
};

// Columns of sums that a warp stores at once.
inline int ChunkOf(const RolePlan& plan) {
  return plan.tensor.bn % kRoleChunk == 0 ? kRoleChunk : kRoleChunk / 2;
}
// Whether storers offer a tile's place before they carry the tile before: the epilogue of bytes
// takes so long that both groups should be at it. Estimates do not count on it.
inline bool OffersAhead(const RolePlan& plan) {
  return plan.results.bytes == 1 && plan.storers > 0 && plan.result_tiles() > 1;
}
// Pieces of a tile of results that a thread of the storers carries. REQUIRES: there are storers.
inline int PiecesOf(const RolePlan& plan) {
  return plan.tensor.bn / plan.results.lanes() * plan.tensor.bm / (32 * plan.storers);
}

RoleProblem RoleProblemOf(const graph::Workload& workload, const GpuContraction& g);
// Whether tensor copies can bring the operands: rows that lie `RowPitch` elements apart, or the
// input of a convolution at each tap in boxes.
bool RolesMultiply(const GpuContraction& g);
RolePlan MakeRolePlan(const RoleProblem& problem, const target::Target& target,
                      const Config& config);
RejectReason CheckRolePlan(const RoleProblem& problem, const target::Target& target,
                           const RolePlan& plan);
// Clocks of the kernel.
double RoleCycles(const target::Target& target, const RolePlan& plan);

}  // namespace mlc::schedule
