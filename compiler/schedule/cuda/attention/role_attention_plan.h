// The mapping of long attention to warps with roles. One warp copies tiles of keys and values to
// shared memory, through `stages` places each; warpgroups of 64 queries take them through scores,
// a running softmax in registers and the output, with keys from the last tile to the first. As
// many blocks as multiprocessors go through the tiles of queries. Values. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/schedule/cpu/attention/attention_lower.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

// Rows of an operand [B, H, n, m] as rows of one matrix in memory, `pitch` elements apart: row n of
// a head is row `row` + b * `row_batch` + h * `row_head` + n, from the column that is counted
// likewise.
struct HeadMatrix {
  int operand = 0;
  int64_t rows = 0, depth = 0, pitch = 0;
  int64_t row = 0, row_batch = 0, row_head = 0;
  int64_t column = 0, column_batch = 0, column_head = 0;
};

inline constexpr int kGroupQueries = 64;
inline constexpr int kChunkColumns = 64;  // 128 bytes of k, or of the columns of values
inline constexpr int kResultGap = 8;      // elements between rows of results in shared memory

struct RoleAttentionPlan {
  AttentionProblem problem;
  DType data = DType::kF16;
  DType result = DType::kF16;
  HeadMatrix q, k, v;
  graph::ValueId mask = graph::kNoValue;  // added to the scores; kNoValue: none
  bool causal = false;                    // or else query i sees the keys up to i + `ahead`
  int64_t ahead = 0;
  int groups = 2;     // warpgroups
  int key_block = 0;  // keys of a tile
  int stages = 2;
  bool turns = false;  // groups begin their products one after the other
  int places = 1;      // of tiles of queries: with two, the next one is copied early
  int64_t blocks = 1;

  // With two groups or more, warps that copy give registers to the others; they are a group, then.
  bool moves_registers() const { return groups > 1; }
  int copying_threads() const { return moves_registers() ? 128 : 32; }
  int threads() const { return 128 * groups + copying_threads(); }
  int group_registers() const { return groups == 2 ? 240 : 160; }  // where they are moved
  int copying_registers() const { return groups == 2 ? 24 : 32; }
  int64_t rows() const { return int64_t{groups} * kGroupQueries; }
  int64_t query_tiles() const { return (problem.queries + rows() - 1) / rows(); }
  int64_t tiles() const { return problem.Heads() * query_tiles(); }
  int64_t rounds() const { return (tiles() + blocks - 1) / blocks; }
  int64_t key_tiles() const { return (problem.keys + key_block - 1) / key_block; }
  bool tail() const { return problem.keys % key_block != 0; }
  int depth_chunks() const { return static_cast<int>(problem.depth / kChunkColumns); }
  int width_chunks() const { return static_cast<int>(problem.width / kChunkColumns); }
  int key_chunks() const { return key_block / kChunkColumns; }
  int score_tiles() const { return key_block / 8; }
  int output_tiles() const { return static_cast<int>(problem.width / 8); }
  int64_t result_elements() const { return 64 * int64_t{groups} * (kChunkColumns + kResultGap); }
  int64_t block_bytes() const;
  int registers() const;  // estimate of a thread that multiplies
};

// A plan with the problem and operands of the workload; empty if the family does not take it.
std::optional<RoleAttentionPlan> FindRoleAttention(const graph::Workload& workload);
RoleAttentionPlan WithKnobs(RoleAttentionPlan plan, const target::Target& target,
                            const Config& config);
RejectReason CheckRoleAttention(const RoleAttentionPlan& plan, const target::Target& target);
// The mean number of keys that the queries of a tile go through.
double MeanKeys(const RoleAttentionPlan& plan);
// Clocks of the kernel.
double RoleAttentionCycles(const RoleAttentionPlan& plan, const target::Target& target);

}  // namespace mlc::schedule::gpu
