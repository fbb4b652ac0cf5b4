// A contraction in the terms of a tiled GPU kernel: a flat row index m, a column index n, a
// reduction index k (taps, then channels) and a batch index z, and the addresses of both operands
// at such indices as kernel IR. Values; functions that take a builder append to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/cuda/tile/narrow_results.h"
#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

// One logical output dimension of the flat row index.
struct RowPart {
  int dim = -1;
  int64_t extent = 1;
  int64_t stride = 0;  // of the row operand, in elements per coordinate
  int axis = -1;       // the spatial axis (0, 1, 2 = innermost), or -1: an image of the batch
};

struct GpuContraction {
  static constexpr int kMaxParts = 3 + ContractionProblem::kMaxBatch;

  ContractionProblem p;
  std::array<RowPart, kMaxParts> parts;  // outermost first; images that share columns are rows
  int part_count = 0;
  std::array<BatchAxis, ContractionProblem::kMaxBatch> batch;  // the other batch axes
  int batch_count = 0;
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t z = 1;
  bool tf32 = false;      // single-pass tf32 is precise enough
  NarrowResults results;  // of a contraction of bytes

  const RowAxis& Axis(int i) const { return i == 2 ? p.inner : p.outer[static_cast<size_t>(i)]; }
  // True if some tap of the axis may fall outside the input.
  bool Checked(int axis) const;
  bool AnyChecked() const { return Checked(0) || Checked(1) || Checked(2); }
};

std::optional<GpuContraction> FindGpuContraction(const graph::Workload& workload);
// The same, or a product that is not plain (ContractionProblem::IsPlain).
std::optional<GpuContraction> FindGpuContractionOfAnyForm(const graph::Workload& workload);
// FindGpuContraction, or a contraction of u8 and i8, which counts in bytes.
std::optional<GpuContraction> FindGpuContractionOrBytes(const graph::Workload& workload);
// FindGpuContraction, or a product of float8.
std::optional<GpuContraction> FindGpuContractionOrFloat8(const graph::Workload& workload);
// The same of a product of any form whose columns are weights of few bits.
std::optional<GpuContraction> FindGpuContractionOfFewBits(const graph::Workload& workload);

// The operand indices of the columns, and of their scales and zeros, as far as they are weights
// that only the contraction reads: their packed form replaces them.
std::vector<int> PackedOperands(const graph::Workload& workload, const GpuContraction& g);

enum class Side : uint8_t { kRow, kColumn };

// The largest power of two, at most `limit`, for which runs of this many elements along k (or along
// rows or columns) start at multiples of it and are contiguous in the operand's memory; 1 if there
// is none.
int ContiguousAlongK(const GpuContraction& g, Side side, int limit);
int ContiguousAcross(const GpuContraction& g, Side side, int limit);

// The place of a row or column in its operand, at the first tap and channel.
struct CrossPlace {
  ir::ExprRef offset;
  std::array<ir::ExprRef, 3> origin;  // input coordinate at tap 0 of checked axes, else null
};
// The channel and taps of a reduction index.
struct DepthPlace {
  ir::ExprRef channel;
  std::array<ir::ExprRef, 3> tap;  // constants 0 on axes with one tap
};

CrossPlace PlaceCross(ir::KernelBuilder& b, const GpuContraction& g, Side side,
                      const ir::ExprRef& index);
DepthPlace PlaceDepth(ir::KernelBuilder& b, const GpuContraction& g, const ir::ExprRef& k);
// The offset of taps and channel.
ir::ExprRef DepthOffset(const GpuContraction& g, Side side, const DepthPlace& place);
// Whether the tap is inside the input: a bool, or null if it always is.
ir::ExprRef TapInside(const GpuContraction& g, Side side, const CrossPlace& cross,
                      const DepthPlace& depth);

// Offsets of batch z in both operands, and its coordinates in the output.
struct BatchPlace {
  ir::ExprRef row_offset;
  ir::ExprRef column_offset;
  ir::ExprRef group_column;         // first logical column
  std::vector<ir::ExprRef> coords;  // one per output dimension, zero where rows or columns run
};
BatchPlace PlaceBatch(ir::KernelBuilder& b, const GpuContraction& g, const ir::ExprRef& z);

ir::ExprRef And(const ir::ExprRef& a, const ir::ExprRef& b);  // either may be null
ir::ExprRef Less(const ir::ExprRef& a, int64_t b);
// `lanes` where the condition holds (null: always), else 0.
ir::ExprRef LanesIf(const ir::ExprRef& condition, int lanes);
// One lane of a vector of floats. Adds zeros to it, which turns -0 into 0.
ir::ExprRef LaneOf(const ir::ExprRef& value, int lane);
// Zeros of f32 or i32.
ir::ExprRef ZeroOf(DType dtype, int lanes);
// Bitwise exclusive or of two indices below `limit`, a power of two.
ir::ExprRef Xor(ir::KernelBuilder& b, const ir::ExprRef& x, const ir::ExprRef& y, int64_t limit);
// The place of a 16-byte chunk in rows of `chunks` chunks (a power of two), swizzled so that the
// same chunk of 8 rows, and 8 chunks of one row, use different banks.
ir::ExprRef Swizzled(ir::KernelBuilder& b, const ir::ExprRef& row, const ir::ExprRef& chunk,
                     int64_t chunks);

}  // namespace mlc::schedule
