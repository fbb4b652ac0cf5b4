// warpgroup_mma in the GPU interpreter. A product is carried out when the kernel waits for it, so
// that earlier accesses to its operands or sums are detected.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compiler/ir/interpret/gpu_machine.h"

namespace mlc::ir {

namespace {

constexpr int kRows = 64;
constexpr int kRowBytes = 128;
constexpr int kSteps = 4;  // of the unit along a row
constexpr int kPieceBytes = 16;
constexpr int64_t kTileAlignment = 1024;

// What the matrix unit sees of f32.
double Tf32(double value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<double>(std::bit_cast<float>(bits & 0xffffe000U));
}

}  // namespace

bool GpuMachine::AllOfWarpgroups(const char* what) {
  for (size_t first = 0; first < Count(); first += kWarpgroupThreads) {
    const bool whole =
        active_[first] % kWarpgroupThreads == 0 && first + kWarpgroupThreads <= Count() &&
        active_[first + kWarpgroupThreads - 1] == active_[first] + kWarpgroupThreads - 1;
    if (whole) continue;
    Fail(StatusCode::kFailedPrecondition,
         "reaches " + std::string(what) + " with less than a warpgroup of 128 threads",
         active_[first]);
    return false;
  }
  return true;
}

void GpuMachine::Do(const WarpgroupMma& mma) {
  if (!AllOfWarpgroups("warpgroup_mma")) return;
  LaneStack::Frame frame(stack_);
  Lane* c = frame.Take(Count());
  Lane* a = frame.Take(Count());
  Lane* b = frame.Take(Count());
  Eval(*mma.c_index, c);
  Eval(*mma.a_index, a);
  Eval(*mma.b_index, b);
  if (failed_) return;
  if (!unfenced_.empty()) {
    return Fail(StatusCode::kFailedPrecondition,
                "reaches warpgroup_mma with writes to shared memory that no fence_tiles covers",
                *unfenced_.begin());
  }
  for (size_t first = 0; first < Count() && !failed_; first += kWarpgroupThreads) {
    for (size_t i = first; i < first + kWarpgroupThreads; ++i) {
      if (a[i].i == a[first].i && b[i].i == b[first].i) continue;
      return Fail(StatusCode::kFailedPrecondition, "multiplies other tiles than its warpgroup",
                  active_[i]);
    }
    Begin(mma, active_[first], c[first].i, a[first].i, b[first].i);
  }
}

void GpuMachine::Begin(const WarpgroupMma& mma, int thread, int64_t c, int64_t a, int64_t b) {
  for (const auto& [id, at] : {std::pair{mma.a, a}, std::pair{mma.b, b}}) {
    const Buffer& buffer = kernel_.buffers[static_cast<size_t>(id)];
    if (buffer.scope == Scope::kRegister || at * SizeOf(buffer.dtype) % kTileAlignment == 0)
      continue;
    return Fail(StatusCode::kFailedPrecondition,
                "multiplies a tile at '" + buffer.name + "[" + std::to_string(at) +
                    "]', which is not aligned to 1024 bytes",
                thread);
  }
  std::vector<double> values;
  if (!ReadRows(mma, a, thread, &values)) return;
  if (!ReadTile(mma.b, b, mma.columns, thread, &values)) return;
  std::deque<Product>& products = products_[static_cast<size_t>(thread / kWarpgroupThreads)];
  const Product product{&mma, c, a, b};
  const bool adds_on = std::any_of(products.begin(), products.end(), [&](const Product& p) {
    return p.mma->c == mma.c && p.c == c && p.mma->columns == mma.columns;
  });
  GpuPrivate& sums = *PrivateOf(mma.c);
  for (int t = thread; t < thread + kWarpgroupThreads; ++t) {
    for (int64_t at = c; at < c + mma.columns / 8; ++at) {
      Lane unused[4];
      const bool fresh = !mma.adds && sums.Inside(at);
      if (!fresh && !adds_on && !ReadPrivate(sums, at, t, unused)) return;
      sums.MarkWritten(at, t, 0);  // not before the product ends
    }
  }
  products.push_back(product);
}

bool GpuMachine::ReadTile(BufferId id, int64_t at, int rows, int thread,
                          std::vector<double>* values) {
  GpuMemory& memory = MemoryOf(id);
  const int bytes = static_cast<int>(SizeOf(memory.buffer().dtype));
  const int piece = kPieceBytes / bytes, depth = kRowBytes / bytes;
  values->resize(static_cast<size_t>(rows) * static_cast<size_t>(depth));
  Lane lanes[kPieceBytes];
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; k += piece) {
      const int64_t from = at + int64_t{row} * depth + ((k / piece) ^ (row % 8)) * int64_t{piece};
      int64_t bad = 0;
      const GpuFault fault = memory.Read(from, 1, piece, thread, lanes, &bad);
      if (fault != GpuFault::kNone) {
        FailAccess(fault, "multiplies", memory.buffer(), bad, thread);
        return false;
      }
      double* to = values->data() + static_cast<size_t>(row * depth + k);
      for (int i = 0; i < piece; ++i) to[i] = bytes == 4 ? Tf32(lanes[i].f) : lanes[i].f;
    }
  }
  return true;
}

// a of a product, row by row.
bool GpuMachine::ReadRows(const WarpgroupMma& mma, int64_t at, int thread,
                          std::vector<double>* values) {
  GpuPrivate* const registers = PrivateOf(mma.a);
  if (registers == nullptr) return ReadTile(mma.a, at, kRows, thread, values);
  constexpr int kDepth = kRowBytes / 4;
  values->resize(size_t{kRows} * kDepth);
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    for (int i = 0; i < kSteps; ++i) {
      Lane lanes[4];
      if (!ReadPrivate(*registers, at + i, thread + t, lanes)) return false;
      for (int lane = 0; lane < 4; ++lane) {
        const int row = t / 32 * 16 + t % 32 / 4 + lane % 2 * 8;
        const int k = i * 8 + t % 4 + lane / 2 * 4;
        (*values)[static_cast<size_t>(row * kDepth + k)] = Tf32(lanes[lane].f);
      }
    }
  }
  return true;
}

void GpuMachine::EndProducts() {
  unfenced_.clear();
  for (const std::deque<Product>& products : products_) {
    if (products.empty()) continue;
    return Fail(StatusCode::kFailedPrecondition, "ends with products under way", -1);
  }
}

void GpuMachine::LandProducts(int pending) {
  for (size_t first = 0; first < Count() && !failed_; first += kWarpgroupThreads) {
    std::deque<Product>& products =
        products_[static_cast<size_t>(active_[first] / kWarpgroupThreads)];
    while (products.size() > static_cast<size_t>(pending) && !failed_) {
      const Product product = products.front();
      products.pop_front();
      Land(product, active_[first]);
    }
  }
}

// Sums a step of the unit in double, where each product is exact, and rounds once.
void GpuMachine::Land(const Product& product, int thread) {
  const WarpgroupMma& mma = *product.mma;
  std::vector<double> a, b;
  if (!ReadRows(mma, product.a, thread, &a)) return;
  if (!ReadTile(mma.b, product.b, mma.columns, thread, &b)) return;
  const size_t depth = a.size() / kRows;
  const size_t step = depth / kSteps;
  GpuPrivate& sums = *PrivateOf(mma.c);
  for (int t = 0; t < kWarpgroupThreads; ++t) {
    for (int i = 0; i < mma.columns / 2; ++i) {
      const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + t % 4 * 2 + i % 2;
      const double* x = a.data() + static_cast<size_t>(row) * depth;
      const double* y = b.data() + static_cast<size_t>(column) * depth;
      Lane& sum = sums.At(product.c + i / 4, thread + t)[i % 4];
      if (!mma.adds) sum.f = 0;
      for (size_t k = 0; k < depth; k += step) {
        double total = sum.f;
        for (size_t j = k; j < k + step; ++j) total += x[j] * y[j];
        sum.f = static_cast<double>(static_cast<float>(total));
      }
    }
  }
  // A later product may still be adding to them.
  for (const Product& later : products_[static_cast<size_t>(thread / kWarpgroupThreads)]) {
    if (later.mma->c == mma.c && later.c == product.c) return;
  }
  for (int t = thread; t < thread + kWarpgroupThreads; ++t) {
    for (int64_t at = product.c; at < product.c + mma.columns / 8; ++at) {
      sums.MarkWritten(at, t, clock_.block());
    }
  }
}

}  // namespace mlc::ir
