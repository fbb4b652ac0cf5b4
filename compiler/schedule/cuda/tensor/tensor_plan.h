// A config of the tensor_contraction family read as decisions: tiles, warps, how each operand gets
// to shared memory and from there to registers. A value.
//
// The block computes bm x bn outputs in steps of bk along k; `stages` steps are in shared memory at
// once. Its warps form warps_m x warps_n x slices: slices share the outputs and divide each step
// along k. `split` blocks divide k; the last one to finish adds up their sums, in order, or all of
// them do as a cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/schedule/cuda/tile/gpu_split.h"
#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/space.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

constexpr int kBytesOfPiece = 16;  // of results of bytes

enum class TensorMath : uint8_t { kHalf, kTf32, kTf32x3, kFloat8, kBytes };

// The unit drops bits of f32, up to one unit u of the last that it keeps. One multiplication by
// this moves a mantissa from [1, 2) by u/3 to 2u/3 before, which makes that a rounding without a
// bias, of at most 2u/3.
constexpr double kRoundUpForTf32 = 1 + 1.0 / 3072;

// How an operand is copied and laid out in shared memory.
enum class TileMode : uint8_t {
  kPacked,    // constant, prepared in the order of fragments
  kAlongK,    // runs along k, of 16 bytes or, of bytes, of 4 or 8
  kAcross,    // 16-byte runs along rows or columns
  kElements,  // element by element
};

// One operand's tile of one step.
struct TensorTile {
  Side side = Side::kRow;
  TileMode mode = TileMode::kElements;
  int extent = 16;  // bm or bn
  int bk = 32;
  int bytes = 2;         // of an element
  int parts = 1;         // 2: the high parts of all elements, then the low ones
  int run = 0;           // elements that a copy brings
  int64_t elements = 0;  // of shared memory, a multiple of 16 bytes

  int chunk() const { return 16 / bytes; }  // elements of 16 bytes
  bool narrow() const { return bytes <= 2; }
  // 4-byte tiles across: elements of a row of k.
  int64_t pitch() const { return bytes == 2 ? extent : extent + 8; }
};

struct TensorPlan {
  DType dtype = DType::kF16;
  TensorMath math = TensorMath::kHalf;
  int bm = 64, bn = 64, bk = 32;
  int warps_m = 2, warps_n = 2, slices = 1;
  int stages = 3;
  int split = 1;
  bool cluster = false;
  int raster = 0;    // 0: neighbours along m, 1: along n, 2: columns of 8 tiles along m
  int resident = 0;  // blocks of a multiprocessor beyond those whose registers fit by estimate
  int per_sm = 0;
  bool warpgroups = false;  // multiply: four warps together, straight from shared memory
  int pending = 0;          // warpgroups: steps whose products are under way while the next begins
  TensorTile rows, columns;
  // Results of bytes go through shared memory as such, with an operand of their size (ByteOutput).
  bool byte_results = false;
  bool guest = false;

  int64_t m_tiles = 1, n_tiles = 1, k_steps = 1, split_steps = 1;

  int warps() const { return warps_m * warps_n * slices; }
  KSplit k_split() const { return {split, cluster}; }
  int threads() const { return 32 * warps(); }
  int warp_rows() const { return bm / warps_m; }
  int warp_columns() const { return bn / warps_n; }
  // Elements of k that are multiplied at once: of narrow operands by one instruction.
  int unit_depth() const { return math == TensorMath::kBytes ? 32 : 16; }
  int units() const { return bk / unit_depth() / slices; }        // for one slice and step
  int prefetch_distance() const { return stages - 1 - pending; }  // of the pipeline, in k steps
  int row_tiles() const { return warp_rows() / 16; }  // of the matrix unit, in a warp's part
  int column_tiles() const { return warp_columns() / 8; }
  // Three passes: tiles of rows that are multiplied together, their sums apart from the total.
  int row_group() const { return std::min(row_tiles(), std::max(1, 8 / column_tiles())); }
  // Sums apart for one tile: more where a group has too few tiles to hide the unit's latency.
  int chains() const { return row_group() * column_tiles() <= 4 ? 2 : 1; }
  // Warpgroups in three passes: rows are split in registers, columns when they are packed.
  bool splits_rows() const { return warpgroups && math == TensorMath::kTf32x3; }
  // Units whose fragments are in registers at once: 2 to load one while the other is multiplied.
  int sets() const;
  int64_t stage_elements() const { return rows.elements + columns.elements; }
  // Bytes of rows and of columns have different types, and stages of their own.
  bool splits_stages() const { return math == TensorMath::kBytes; }
  bool is_narrow() const { return math == TensorMath::kHalf || math == TensorMath::kBytes; }
  DType sum_dtype() const { return math == TensorMath::kBytes ? DType::kI32 : DType::kF32; }
  int64_t sum_pitch() const { return bn + 8; }  // of partial sums in shared memory
  int64_t sum_elements() const { return slices * int64_t{bm} * sum_pitch(); }
  // An odd number of pieces, so that neighbouring rows use different banks.
  int64_t result_pitch() const { return (bn / kBytesOfPiece | 1) * int64_t{kBytesOfPiece}; }
  int64_t block_bytes() const;
  int64_t blocks(const GpuContraction& g) const { return g.z * split * m_tiles * n_tiles; }
  int registers() const { return registers(sets()); }  // estimate per thread

 private:
  int registers(int sets) const;
};

// What the matrix units compute for the problem; false for types they do not take.
bool TensorMathOf(const GpuContraction& g, TensorMath* math);
TileMode ModeOf(const GpuContraction& g, Side side);
// Fills in the tiles of the operands, and the tiles and steps of the problem.
void CountSteps(const GpuContraction& g, TensorPlan* plan);
TensorPlan MakeTensorPlan(const GpuContraction& g, const Config& config);
// What holds for tiles however they are multiplied.
RejectReason CheckTensorTiles(const GpuContraction& g, const target::Target& target,
                              const TensorPlan& plan);
RejectReason CheckTensorPlan(const GpuContraction& g, const target::Target& target,
                             const TensorPlan& plan);

// The sizes of a tile's side that are less than twice the extent, and the first.
std::vector<int64_t> FittingSizes(std::vector<int64_t> sizes, int64_t extent);

}  // namespace mlc::schedule
