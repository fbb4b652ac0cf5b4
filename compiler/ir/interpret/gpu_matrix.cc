#include "compiler/ir/interpret/gpu_matrix.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

// Of a 16 x 8 sum over a `depth` of 32 (bytes), 16 (2-byte operands) or 8 (tf32). Thread t stands
// in row t/4 of the fragments, at position t%4.
struct Tile {
  int depth;
  std::array<std::array<double, 32>, 16> a;  // rows, depth
  std::array<std::array<double, 8>, 32> b;   // depth, columns
  std::array<std::array<double, 8>, 16> c;   // rows, columns
};

// Where lane `lane` of a thread's operand lies; b is a's upper half of rows, transposed.
struct Position {
  int row;  // of a; the column of b
  int depth;
};

// A thread has words of neighbours along the depth: first those of two halves of rows, then the
// same of the second half of the depth.
Position PositionOfA(int depth, int thread, int lane) {
  const int row = thread / 4, at = thread % 4;
  const int packed = depth / 8;
  const int word = lane / packed;
  return {row + word % 2 * 8, at * packed + lane % packed + word / 2 * (depth / 2)};
}

Position PositionOfB(int depth, int thread, int lane) {
  const int column = thread / 4, at = thread % 4;
  const int packed = depth / 8;
  return {column, at * packed + lane % packed + lane / packed * (depth / 2)};
}

// Sums in the order of the depth in double, where each product is exact, and rounds once.
void Multiply(Tile& tile) {
  for (size_t row = 0; row < 16; ++row) {
    for (size_t k = 0; k < static_cast<size_t>(tile.depth); ++k) {
      const double a = tile.a[row][k];
      for (size_t column = 0; column < 8; ++column) tile.c[row][column] += a * tile.b[k][column];
    }
    for (double& sum : tile.c[row]) sum = static_cast<double>(static_cast<float>(sum));
  }
}

template <typename Array>
double& At(Array& array, int row, int column) {
  return array[static_cast<size_t>(row)][static_cast<size_t>(column)];
}

// Products of bytes are summed as they are.
void MultiplyBytes(Tile& tile, Lane* c) {
  for (int t = 0; t < kWarpThreads; ++t) {
    for (int lane = 0; lane < 4; ++lane) {
      int64_t sum = c[t * 4 + lane].i;
      for (int k = 0; k < tile.depth; ++k) {
        sum += static_cast<int64_t>(At(tile.a, t / 4 + lane / 2 * 8, k)) *
               static_cast<int64_t>(At(tile.b, k, t % 4 * 2 + lane % 2));
      }
      c[t * 4 + lane].i = static_cast<int32_t>(sum);
    }
  }
}

// One warp. `b_lanes` apart, thread by thread, from the part that is multiplied.
void MultiplyWarp(int depth, const Lane* a, const Lane* b, int b_lanes, Lane* c) {
  Tile tile{};
  tile.depth = depth;
  const bool of_bytes = depth == 32;
  const auto number = [&](const Lane& lane) {
    return of_bytes ? static_cast<double>(lane.i) : lane.f;
  };
  const int a_count = depth / 2;
  for (int t = 0; t < kWarpThreads; ++t) {
    for (int lane = 0; lane < a_count; ++lane) {
      const Position at = PositionOfA(depth, t, lane);
      At(tile.a, at.row, at.depth) = number(a[t * a_count + lane]);
    }
    for (int lane = 0; lane < a_count / 2; ++lane) {
      const Position at = PositionOfB(depth, t, lane);
      At(tile.b, at.depth, at.row) = number(b[t * b_lanes + lane]);
    }
    for (int lane = 0; !of_bytes && lane < 4; ++lane) {
      At(tile.c, t / 4 + lane / 2 * 8, t % 4 * 2 + lane % 2) = c[t * 4 + lane].f;
    }
  }
  if (of_bytes) return MultiplyBytes(tile, c);
  Multiply(tile);
  for (int t = 0; t < kWarpThreads; ++t) {
    for (int lane = 0; lane < 4; ++lane) {
      c[t * 4 + lane].f = At(tile.c, t / 4 + lane / 2 * 8, t % 4 * 2 + lane % 2);
    }
  }
}

// Code `lane` of a fragment, whose first word is given.
double CodeOf(const Lane* words, int bits, size_t lane) {
  const size_t word = bits == 4 ? 0 : lane / 4;
  const size_t bit = bits == 4 ? 16 * (lane % 2) + 4 * (lane / 2) : 8 * (lane % 4);
  const auto value = static_cast<uint32_t>(static_cast<int32_t>(words[word].i));
  return static_cast<double>(value >> bit & ((1U << bits) - 1));
}

// What the unit sees of f32 operands.
void TruncateTf32(Lane* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(values[i].f));
    if (!std::isnan(values[i].f)) values[i].f = std::bit_cast<float>(bits & 0xffffe000U);
  }
}

}  // namespace

bool GpuMatrices::Operand(BufferId id, const ExprRef& index, Lane* values) {
  LaneStack::Frame frame(state_.stack);
  Lane* at = frame.Take(state_.Count());
  expressions_.Eval(*index, at);
  GpuPrivate& from = *state_.PrivateOf(id);
  const auto lanes = static_cast<size_t>(from.buffer().lanes);
  for (size_t i = 0; i < state_.Count(); ++i) {
    if (state_.failed || !state_.ReadPrivate(from, at[i].i, state_.active[i], values + i * lanes))
      return false;
  }
  return true;
}

void GpuMatrices::Do(const Mma& mma) {
  if (!state_.AllOfWarps("mma")) return;
  LaneStack::Frame frame(state_.stack);
  const Buffer& a_buffer = state_.BufferOf(mma.a);
  const int b_lanes = state_.BufferOf(mma.b).lanes;
  const auto a_lanes = static_cast<size_t>(a_buffer.lanes);
  Lane* a = frame.Take(state_.Count() * a_lanes);
  Lane* b = frame.Take(state_.Count() * static_cast<size_t>(b_lanes));
  Lane* c = frame.Take(state_.Count() * 4);
  if (!Operand(mma.a, mma.a_index, a) || !Operand(mma.b, mma.b_index, b) ||
      !Operand(mma.c, mma.c_index, c)) {
    return;
  }
  const bool is_tf32 = a_buffer.dtype == DType::kF32;
  if (is_tf32) {
    TruncateTf32(a, state_.Count() * a_lanes);
    TruncateTf32(b, state_.Count() * static_cast<size_t>(b_lanes));
  }
  const int depth = 32 / SizeOf(a_buffer.dtype);
  const Lane* part = b + static_cast<size_t>(mma.part) * a_lanes / 2;
  for (size_t i = 0; i < state_.Count(); i += kWarpThreads) {
    MultiplyWarp(depth, a + i * a_lanes, part + i * static_cast<size_t>(b_lanes), b_lanes,
                 c + i * 4);
  }
  Lane* at = frame.Take(state_.Count());
  expressions_.Eval(*mma.c_index, at);
  GpuPrivate& to = *state_.PrivateOf(mma.c);
  for (size_t i = 0; i < state_.Count(); ++i) {
    if (!state_.WritePrivate(to, at[i].i, state_.active[i], c + i * 4)) return;
  }
}

void GpuMatrices::Do(const Unpack& unpack) {
  LaneStack::Frame frame(state_.stack);
  const DType dtype = state_.BufferOf(unpack.to).dtype;
  const auto words = static_cast<size_t>(state_.BufferOf(unpack.codes).lanes);
  const bool is_float8 = IsFloat8(state_.BufferOf(unpack.codes).dtype);
  const auto first =
      static_cast<size_t>(is_float8 ? unpack.part * 8 : unpack.part * unpack.bits / 4);
  Lane* codes = frame.Take(state_.Count() * words);
  Lane* zeros = frame.Take(state_.Count() * 2);
  Lane* scales = frame.Take(state_.Count() * 2);
  if (!Operand(unpack.codes, unpack.codes_index, codes) ||
      (!is_float8 && !Operand(unpack.zeros, unpack.zeros_index, zeros)) ||
      !Operand(unpack.scales, unpack.scales_index, scales)) {
    return;
  }
  Lane* at = frame.Take(state_.Count());
  expressions_.Eval(*unpack.to_index, at);
  GpuPrivate& to = *state_.PrivateOf(unpack.to);
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    const Lane* own = codes + i * words + first;
    std::array<Lane, 8> lanes;
    for (size_t lane = 0; lane < 8; ++lane) {
      const size_t row = i * 2 + lane / 2 % 2;
      const double difference =
          is_float8 ? own[lane].f
                    : RoundTo(dtype, CodeOf(own, unpack.bits, lane) + unpack.bias - zeros[row].f);
      lanes[lane].f = RoundTo(dtype, difference * scales[row].f);
    }
    if (!state_.WritePrivate(to, at[i].i, state_.active[i], lanes.data())) return;
  }
}

// `rows` rows of 16 bytes, whose places the threads from `first` on give.
bool GpuMatrices::ReadRows(const LoadMatrix& load, size_t first, const Lane* index, int rows,
                           Lane* values) {
  GpuMemory& from = state_.MemoryOf(load.from);
  const int elements = 16 / SizeOf(from.buffer().dtype);
  for (int row = 0; row < rows; ++row) {
    const size_t i = first + static_cast<size_t>(row);
    if (index[i].i % elements != 0) {
      state_.Fail(StatusCode::kFailedPrecondition,
                  "loads a matrix row at '" + from.buffer().name + "[" +
                      std::to_string(index[i].i) + "]', which is not aligned to 16 bytes",
                  state_.active[i]);
      return false;
    }
    int64_t bad = 0;
    const GpuFault fault =
        from.Read(index[i].i, 1, elements, state_.active[i], values + row * elements, &bad);
    if (fault != GpuFault::kNone) {
      state_.FailAccess(fault, "reads", from.buffer(), bad, state_.active[i]);
      return false;
    }
  }
  return true;
}

void GpuMatrices::Do(const LoadMatrix& load) {
  if (!state_.AllOfWarps("load_matrix")) return;
  LaneStack::Frame frame(state_.stack);
  Lane* to_index = frame.Take(state_.Count());
  Lane* from_index = frame.Take(state_.Count());
  expressions_.Eval(*load.to_index, to_index);
  expressions_.Eval(*load.from_index, from_index);
  if (state_.failed) return;
  GpuPrivate& to = *state_.PrivateOf(load.to);
  const int packed = 4 / SizeOf(to.buffer().dtype);  // elements of the 4 bytes of a thread
  const int elements = packed * 4;                   // of a row
  const int matrices = to.buffer().lanes / packed;
  std::array<Lane, 4 * 8 * 16> values;
  for (size_t first = 0; first < state_.Count(); first += kWarpThreads) {
    if (!ReadRows(load, first, from_index, matrices * 8, values.data())) return;
    for (int t = 0; t < kWarpThreads; ++t) {
      std::array<Lane, 16> lanes;
      for (int m = 0; m < matrices; ++m) {
        for (int i = 0; i < packed; ++i) {
          const int along = t % 4 * packed + i, across = t / 4;
          const int at = load.transposed ? along * elements + across : across * elements + along;
          lanes[static_cast<size_t>(m * packed + i)] =
              values[static_cast<size_t>(m * 8 * elements + at)];
        }
      }
      const size_t i = first + static_cast<size_t>(t);
      if (!state_.WritePrivate(to, to_index[i].i, state_.active[i], lanes.data())) return;
    }
  }
}

}  // namespace mlc::ir
