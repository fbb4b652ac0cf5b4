#include "compiler/ir/interpret/gpu_products.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

namespace mlc::ir {

namespace {

constexpr int kRows = 64;
constexpr int kRowBytes = 128;
constexpr int kSteps = 4;  // of the unit along a row
constexpr int kPieceBytes = 16;
constexpr int kChunk = 64;  // rows and columns of a block of b across k
constexpr int64_t kTileAlignment = 1024;

// What the matrix unit sees of f32.
double Tf32(double value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<double>(std::bit_cast<float>(bits & 0xffffe000U));
}

}  // namespace

void GpuProducts::Do(const WarpgroupMma& mma) {
  if (!state_.AllOfWarpgroups("warpgroup_mma")) return;
  LaneStack::Frame frame(state_.stack);
  Lane* c = frame.Take(state_.Count());
  Lane* a = frame.Take(state_.Count());
  Lane* b = frame.Take(state_.Count());
  expressions_.Eval(*mma.c_index, c);
  expressions_.Eval(*mma.a_index, a);
  expressions_.Eval(*mma.b_index, b);
  if (state_.failed) return;
  // Copies that arrive at mbarriers need no fence.
  const bool rows_fenced = state_.PrivateOf(mma.a) != nullptr || state_.async.IsTile(mma.a);
  const bool fenced = rows_fenced && state_.async.IsTile(mma.b);
  if (!fenced && !state_.block.unfenced.empty()) {
    return state_.Fail(
        StatusCode::kFailedPrecondition,
        "reaches warpgroup_mma with writes to shared memory that no fence_tiles covers",
        *state_.block.unfenced.begin());
  }
  for (size_t first = 0; first < state_.Count() && !state_.failed; first += kWarpgroupThreads) {
    for (size_t i = first; i < first + kWarpgroupThreads; ++i) {
      if (a[i].i == a[first].i && b[i].i == b[first].i) continue;
      return state_.Fail(StatusCode::kFailedPrecondition,
                         "multiplies other tiles than its warpgroup", state_.active[i]);
    }
    Begin(mma, state_.active[first], c[first].i, a[first].i, b[first].i);
  }
}

void GpuProducts::Begin(const WarpgroupMma& mma, int thread, int64_t c, int64_t a, int64_t b) {
  for (const auto& [id, at] : {std::pair{mma.a, a}, std::pair{mma.b, b}}) {
    const Buffer& buffer = state_.BufferOf(id);
    if (buffer.scope == Scope::kRegister || at * SizeOf(buffer.dtype) % kTileAlignment == 0)
      continue;
    return state_.Fail(StatusCode::kFailedPrecondition,
                       "multiplies a tile at '" + buffer.name + "[" + std::to_string(at) +
                           "]', which is not aligned to 1024 bytes",
                       thread);
  }
  const GpuProduct product{&mma, c, a, b};
  if (!BeginTiles(product, thread)) return;
  std::vector<double> values;
  if (!ReadRows(mma, a, thread, &values)) return;
  if (!ReadColumns(mma, b, thread, &values)) return;
  std::deque<GpuProduct>& products =
      state_.block.products[static_cast<size_t>(thread / kWarpgroupThreads)];
  const bool adds_on = std::any_of(products.begin(), products.end(), [&](const GpuProduct& p) {
    return p.mma->c == mma.c && p.c == c && p.mma->columns == mma.columns;
  });
  GpuPrivate& sums = *state_.PrivateOf(mma.c);
  for (int t = thread; t < thread + kWarpgroupThreads; ++t) {
    for (int64_t at = c; at < c + mma.columns / 8; ++at) {
      Lane unused[4];
      const bool fresh = !mma.adds && sums.Inside(at);
      if (!fresh && !adds_on && !state_.ReadPrivate(sums, at, t, unused)) return;
      sums.MarkWritten(at, t, 0);  // not before the product ends
    }
  }
  products.push_back(product);
}

bool GpuProducts::ReadTile(BufferId id, int64_t at, int rows, int thread,
                           std::vector<double>* values) {
  GpuMemory& memory = state_.MemoryOf(id);
  const int bytes = static_cast<int>(SizeOf(memory.buffer().dtype));
  const int piece = kPieceBytes / bytes, depth = kRowBytes / bytes;
  const DType dtype = memory.buffer().dtype;
  const bool whole = dtype == DType::kU8 || dtype == DType::kI8;
  values->resize(static_cast<size_t>(rows) * static_cast<size_t>(depth));
  Lane lanes[kPieceBytes];
  const bool is_tile = state_.async.IsTile(id);
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; k += piece) {
      const int64_t from = at + int64_t{row} * depth + ((k / piece) ^ (row % 8)) * int64_t{piece};
      int64_t bad = 0;
      GpuFault fault = GpuFault::kNone;
      if (is_tile) {
        for (int i = 0; i < piece; ++i) lanes[i] = memory.GetTile(from + i);
      } else {
        fault = memory.Read(from, 1, piece, thread, lanes, &bad);
      }
      if (fault != GpuFault::kNone) {
        state_.FailAccess(fault, "multiplies", memory.buffer(), bad, thread);
        return false;
      }
      double* to = values->data() + static_cast<size_t>(row * depth + k);
      for (int i = 0; i < piece; ++i) {
        to[i] = bytes == 4 ? Tf32(lanes[i].f)
                : whole    ? static_cast<double>(lanes[i].i)
                           : lanes[i].f;
      }
    }
  }
  return true;
}

// b of a product, column by column.
bool GpuProducts::ReadColumns(const WarpgroupMma& mma, int64_t at, int thread,
                              std::vector<double>* values) {
  if (mma.across == 0) return ReadTile(mma.b, at, mma.columns, thread, values);
  values->resize(static_cast<size_t>(mma.columns) * kChunk);
  std::vector<double> chunk;
  for (int first = 0; first < mma.columns; first += kChunk) {
    const int64_t from = at + int64_t{first / kChunk} * mma.across;
    if (!ReadTile(mma.b, from, kChunk, thread, &chunk)) return false;
    for (size_t k = 0; k < kChunk; ++k) {
      for (size_t column = 0; column < kChunk; ++column) {
        (*values)[(static_cast<size_t>(first) + column) * kChunk + k] = chunk[k * kChunk + column];
      }
    }
  }
  return true;
}

// a of a product, row by row.
bool GpuProducts::ReadRows(const WarpgroupMma& mma, int64_t at, int thread,
                           std::vector<double>* values) {
  GpuPrivate* const registers = state_.PrivateOf(mma.a);
  if (registers == nullptr) return ReadTile(mma.a, at, kRows, thread, values);
  const bool wide = registers->buffer().dtype == DType::kF32;
  const int depth = wide ? kRowBytes / 4 : kRowBytes / 2;
  values->resize(static_cast<size_t>(kRows * depth));
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    for (int i = 0; i < depth / 8; ++i) {
      Lane lanes[4];
      if (!state_.ReadPrivate(*registers, at + i, thread + t, lanes)) return false;
      for (int lane = 0; lane < 4; ++lane) {
        const int below = wide ? lane % 2 : lane / 2;
        const int row = t / 32 * 16 + t % 32 / 4 + below * 8;
        const int k = i * 8 + (wide ? t % 4 + lane / 2 * 4 : t % 4 * 2 + lane % 2);
        const double value = lanes[lane].f;
        (*values)[static_cast<size_t>(row * depth + k)] = wide ? Tf32(value) : value;
      }
    }
  }
  return true;
}

void GpuProducts::EndBlock() {
  state_.block.unfenced.clear();
  for (const std::deque<GpuProduct>& products : state_.block.products) {
    if (products.empty()) continue;
    return state_.Fail(StatusCode::kFailedPrecondition, "ends with products under way", -1);
  }
  const std::string wrong = state_.async.EndBlock();
  if (!wrong.empty()) state_.Fail(StatusCode::kFailedPrecondition, "ends " + wrong, -1);
}

// The runs of elements that the product reads of buffers in shared memory.
template <typename Visit>
bool GpuProducts::VisitTiles(const GpuProduct& product, const Visit& visit) {
  const WarpgroupMma& mma = *product.mma;
  const auto run = [&](BufferId id, int64_t at, int rows) {
    if (!state_.async.IsTile(id)) return true;
    return visit(id, at, at + int64_t{rows} * (kRowBytes / SizeOf(state_.BufferOf(id).dtype)));
  };
  if (!run(mma.a, product.a, kRows)) return false;
  if (mma.across == 0) return run(mma.b, product.b, mma.columns);
  for (int chunk = 0; chunk < mma.columns / kChunk; ++chunk) {
    if (!run(mma.b, product.b + int64_t{chunk} * mma.across, kChunk)) return false;
  }
  return true;
}

bool GpuProducts::BeginTiles(const GpuProduct& product, int thread) {
  return VisitTiles(product, [&](BufferId id, int64_t begin, int64_t end) {
    const std::string wrong = state_.async.BeginRead(id, begin, end, thread / kWarpThreads);
    if (wrong.empty()) return true;
    state_.Fail(
        StatusCode::kFailedPrecondition,
        "multiplies '" + state_.BufferOf(id).name + "[" + std::to_string(begin) + "]', " + wrong,
        thread);
    return false;
  });
}

void GpuProducts::EndTiles(const GpuProduct& product, int thread) {
  (void)VisitTiles(product, [&](BufferId id, int64_t begin, int64_t end) {
    state_.async.EndRead(id, begin, end, thread / kWarpThreads);
    return true;
  });
}

void GpuProducts::Wait(int pending) {
  for (size_t first = 0; first < state_.Count() && !state_.failed; first += kWarpgroupThreads) {
    std::deque<GpuProduct>& products =
        state_.block.products[static_cast<size_t>(state_.active[first] / kWarpgroupThreads)];
    while (products.size() > static_cast<size_t>(pending) && !state_.failed) {
      const GpuProduct product = products.front();
      products.pop_front();
      Land(product, state_.active[first]);
    }
  }
}

// Sums a step of the unit in double, where each product is exact, and rounds once; whole numbers do
// not need it.
void GpuProducts::Land(const GpuProduct& product, int thread) {
  const WarpgroupMma& mma = *product.mma;
  std::vector<double> a, b;
  if (!ReadRows(mma, product.a, thread, &a)) return;
  if (!ReadColumns(mma, product.b, thread, &b)) return;
  EndTiles(product, thread);
  const size_t depth = a.size() / kRows;
  const size_t step = depth / kSteps;
  const bool of_bytes = state_.BufferOf(mma.c).dtype == DType::kI32;
  GpuPrivate& sums = *state_.PrivateOf(mma.c);
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    for (int i = 0; i < mma.columns / 2; ++i) {
      const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + t % 4 * 2 + i % 2;
      const double* x = a.data() + static_cast<size_t>(row) * depth;
      const double* y = b.data() + static_cast<size_t>(column) * depth;
      Lane& sum = sums.At(product.c + i / 4, thread + t)[i % 4];
      if (of_bytes) {
        const double start = mma.adds ? static_cast<double>(sum.i) : 0;
        const double total = std::inner_product(x, x + depth, y, start);
        sum.i = static_cast<int32_t>(static_cast<int64_t>(total));
        continue;
      }
      if (!mma.adds) sum.f = 0;
      for (size_t k = 0; k < depth; k += step) {
        double total = sum.f;
        for (size_t j = k; j < k + step; ++j) total += x[j] * y[j];
        sum.f = static_cast<double>(static_cast<float>(total));
      }
    }
  }
  // A later product may still be adding to them.
  for (const GpuProduct& later :
       state_.block.products[static_cast<size_t>(thread / kWarpgroupThreads)]) {
    if (later.mma->c == mma.c && later.c == product.c) return;
  }
  for (int t = thread; t < thread + kWarpgroupThreads; ++t) {
    for (int64_t at = product.c; at < product.c + mma.columns / 8; ++at) {
      sums.MarkWritten(at, t, state_.clock.block());
    }
  }
}

}  // namespace mlc::ir
