// The decisions of a config of the few_bits_contraction family, and how it stores codes and scales.
// Values; the functions are pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_split.h"
#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

inline constexpr int64_t kMaxRowsOfFewBits = 16;
// Chunks of a warp in flight: the knob `unroll`.
inline constexpr std::array<int64_t, 7> kUnrollsOfFewBits = {1, 2, 3, 4, 6, 8, 12};

// How the weights are stored, whatever the config: in tiles of 16 columns and chunks of k.
// Of two ends (ContractionProblem::ends), tiles take turns.
//   codes   [tile][chunk][thread of a warp][4 words]     i32, or 16 codes of float8
//   scales  [tile][block][column % 8][column / 8]        of the columns' type; zeros alike
struct FewBitsForm {
  static constexpr int64_t kColumns = 16, kWords = 4;

  DType codes = DType::kI32;  // or of float8
  int bits = 4;               // as stored: 4 or 8
  int ends = 1;
  int64_t tiles = 1;   // of all ends
  int64_t chunks = 1;  // along k
  int64_t block = 32;  // of k, with one scale
  int64_t blocks = 1;  // of the chunks
  int bias = 0;        // part of the zeros
  bool zeros = false;  // of each block; otherwise one for all
  int64_t zero = 0;

  int fragments() const { return 16 / bits; }  // of 16 k, in a chunk
  int64_t chunk() const { return 16 * fragments(); }
  bool is_float8() const { return codes != DType::kI32; }
  // Elements of codes: of a thread in a chunk, of a chunk, of all.
  int lanes() const { return static_cast<int>(kWords) * (is_float8() ? 4 : 1); }
  int64_t chunk_lanes() const { return int64_t{32} * lanes(); }
  int64_t code_elements() const { return tiles * chunks * chunk_lanes(); }
  int64_t scale_elements() const { return tiles * blocks * kColumns; }
  // Different scales of a thread in a chunk: one for each 32 k, or one.
  int chunk_scales() const { return block % chunk() == 0 ? 1 : static_cast<int>(chunk() / 32); }
  double chunk_bytes() const {
    return 512 + 2.0 * kColumns * static_cast<double>(chunk()) / static_cast<double>(block) *
                     (zeros ? 2 : 1);
  }
};

// REQUIRES: g is of few bits.
FewBitsForm FormOf(const GpuContraction& g);

struct FewBitsPlan {
  int warps = 8;
  int slices = 8;
  int unroll = 4;
  int split = 1;
  bool cluster = false;  // the blocks that share k are one
  int turns = 1;         // tiles of a block, one after the other

  int64_t rows = 1;
  int ends = 1;              // tiles of columns that an output is computed from
  int64_t tiles = 1;         // of width() columns
  int64_t split_chunks = 1;  // of a block
  int64_t last_chunks = 1;   // of the last block that shares k
  int64_t chunk = 64;
  int scales = 1;  // registers of a chunk
  bool zeros = false;
  int normed = 0;  // registers and bytes of rows that are a norm
  int64_t normed_bytes = 0;

  KSplit k_split() const { return {split, cluster}; }
  int threads() const { return 32 * warps; }
  int groups() const { return warps / slices; }
  // Chunks of the warp with most, and of the one with fewest.
  int64_t steps() const { return CeilDiv(split_chunks, int64_t{slices}); }
  int64_t least_steps() const { return last_chunks / slices; }
  int width() const { return 16 * groups(); }
  int outputs() const { return width() / ends; }  // of a row
  int pitch() const { return width() + 8; }
  int row_tiles() const { return static_cast<int>(CeilDiv(rows, int64_t{8})); }
  int64_t row_elements() const { return split_chunks * chunk; }  // of one row in shared memory
  int64_t sums() const { return slices * rows * pitch(); }
  int64_t block_bytes() const { return 2 * rows * row_elements() + 4 * sums() + normed_bytes; }
  int64_t grid_tiles() const { return CeilDiv(tiles, int64_t{turns}); }
  int64_t blocks() const { return split * grid_tiles(); }
  int registers() const {
    return 48 + unroll * (4 + scales * (zeros ? 2 : 1)) + std::max(row_tiles() * 16, normed);
  }
};

FewBitsPlan MakeFewBitsPlan(const GpuContraction& g, const Config& config);
RejectReason CheckFewBitsPlan(const GpuContraction& g, const target::Target& target,
                              const FewBitsPlan& plan);
// Blocks that a multiprocessor holds at once.
double BlocksPerSm(const target::Target& target, const FewBitsPlan& plan);
Result<LoweredKernel> LowerFewBits(const graph::Workload& workload, const GpuContraction& g,
                                   const FewBitsPlan& plan);

}  // namespace mlc::schedule
