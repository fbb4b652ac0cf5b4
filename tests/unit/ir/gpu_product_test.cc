// A whole tensor-core product as a family would build it: a pipeline of copies, four warps, split
// over blocks that meet at a counter.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/build.h"
#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

constexpr int kSide = 64;
constexpr int kDepth = 32;         // of a stage
constexpr int kRowA = kDepth + 8;  // padded rows of a stage
constexpr int kRowB = kSide + 8;
constexpr int kStages = 2;

class Product {
 public:
  Product(int k, int splits) : k_(k), splits_(splits), b_("product") {}

  Kernel Build() {
    a_ = b_.In("a", DType::kF16, kSide * k_);
    w_ = b_.In("w", DType::kF16, k_ * kSide);
    c_ = b_.Out("c", DType::kF32, kSide * kSide);
    partial_ = b_.Workspace("partial", DType::kF32, splits_ * kSide * kSide);
    ready_ = b_.Counter("ready", 1);
    as_ = b_.SharedMemory("as", DType::kF16, kStages * kSide * kRowA);
    ws_ = b_.SharedMemory("ws", DType::kF16, kStages * kDepth * kRowB);
    x_ = b_.Registers("x", DType::kF16, 8, 2);
    y_ = b_.Registers("y", DType::kF16, 8, 2);
    acc_ = b_.Registers("acc", DType::kF32, 4, 8);
    h_ = b_.Thread("h", DType::kF32, 4);
    b_.Launch(splits_, 128, 2,
              [&](const ExprRef& block, const ExprRef& thread) { Body(block, thread); });
    return b_.Finish();
  }

 private:
  void Body(const ExprRef& block, const ExprRef& thread) {
    b_.AwaitInputs();
    const int steps = k_ / splits_ / kDepth;
    const ExprRef first = b_.Let("first", block * (k_ / splits_));
    b_.Unrolled("zero", 8, [&](const ExprRef& i) {
      b_.Set(acc_, i, MakeBroadcast(Float(DType::kF32, 0), 4));
    });
    Stage(thread, first, Int(0));
    b_.For("turn", steps, [&](const ExprRef& turn) {
      const ExprRef next = b_.Let("next", turn + 1);
      b_.If(
          MakeApply(ScalarOp::kLess, {next, Int(steps)}),
          [&] { Stage(thread, first + next * kDepth, Mod(next, kStages)); },
          [&] { b_.CommitCopies(); });
      b_.WaitCopies(1);
      b_.Barrier();
      Multiply(thread, Mod(turn, kStages));
      b_.Barrier();
    });
    Finish(block, thread);
  }

  void Stage(const ExprRef& thread, const ExprRef& k, const ExprRef& stage) {
    b_.Unrolled("copy", 2, [&](const ExprRef& i) {
      const ExprRef at = b_.Let("at", thread + i * 128);
      const ExprRef row = b_.Let("row", FloorDiv(at, 4));
      const ExprRef column = b_.Let("column", Mod(at, 4) * 8);
      b_.CopyAsync(as_, stage * (kSide * kRowA) + row * kRowA + column, a_, row * k_ + k + column,
                   8);
      const ExprRef w_row = b_.Let("w_row", FloorDiv(at, 8));
      const ExprRef w_column = b_.Let("w_column", Mod(at, 8) * 8);
      b_.CopyAsync(ws_, stage * (kDepth * kRowB) + w_row * kRowB + w_column, w_,
                   (k + w_row) * kSide + w_column, 8);
    });
    b_.CommitCopies();
  }

  void Multiply(const ExprRef& thread, const ExprRef& stage) {
    const ExprRef warp = b_.Let("warp", FloorDiv(thread, 32));
    const ExprRef lane = b_.Let("lane", Mod(thread, 32));
    const ExprRef a_place = b_.Let("a_place", stage * (kSide * kRowA) +
                                                  (FloorDiv(warp, 2) * 32 + Mod(lane, 16)) * kRowA +
                                                  FloorDiv(lane, 16) * 8);
    const ExprRef w_place = b_.Let("w_place", stage * (kDepth * kRowB) + Mod(lane, 16) * kRowB +
                                                  Mod(warp, 2) * 32 + FloorDiv(lane, 16) * 8);
    b_.Unrolled("kk", kDepth / 16, [&](const ExprRef& kk) {
      b_.Unrolled("i", 2, [&](const ExprRef& i) {
        b_.LoadMatrix(x_, i, as_, a_place + i * (16 * kRowA) + kk * 16);
        b_.LoadMatrix(y_, i, ws_, w_place + kk * (16 * kRowB) + i * 16, true);
      });
      b_.Unrolled("m", 2, [&](const ExprRef& m) {
        for (int n = 0; n < 4; ++n) b_.Mma(acc_, m * 4 + n, x_, m, y_, Int(n / 2), n % 2);
      });
    });
  }

  void Finish(const ExprRef& block, const ExprRef& thread) {
    const ExprRef warp = b_.Let("out_warp", FloorDiv(thread, 32));
    const ExprRef lane = b_.Let("out_lane", Mod(thread, 32));
    const ExprRef place = b_.Let("place", block * (kSide * kSide) +
                                              (FloorDiv(warp, 2) * 32 + FloorDiv(lane, 4)) * kSide +
                                              Mod(warp, 2) * 32 + Mod(lane, 4) * 2);
    b_.Unrolled("m_out", 2, [&](const ExprRef& m) {
      b_.Unrolled("n_out", 4, [&](const ExprRef& n) {
        b_.Store(h_, Int(0), b_.Get(acc_, m * 4 + n));
        const ExprRef at = b_.Let("at_out", place + m * (16 * kSide) + n * 8);
        b_.Store(partial_, at, b_.Load(h_, Int(0), 2));
        b_.Store(partial_, at + 8 * kSide, b_.Load(h_, Int(2), 2));
      });
    });
    b_.Barrier();
    const ExprRef last = b_.Arrive("last", ready_, Int(0), splits_);
    b_.If(MakeApply(ScalarOp::kEqual, {last, Int(1)}), [&] {
      b_.For("sum", kSide * kSide / 128, [&](const ExprRef& i) {
        const ExprRef at = b_.Let("sum_at", i * 128 + thread);
        ExprRef sum = b_.Load(partial_, at);
        for (int s = 1; s < splits_; ++s) {
          sum = MakeApply(ScalarOp::kAdd, {sum, b_.Load(partial_, at + s * kSide * kSide)});
        }
        b_.Store(c_, at, sum);
      });
    });
  }

  const int k_;
  const int splits_;
  KernelBuilder b_;
  BufferId a_ = 0, w_ = 0, c_ = 0, partial_ = 0, ready_ = 0, as_ = 0, ws_ = 0;
  BufferId x_ = 0, y_ = 0, acc_ = 0, h_ = 0;
};

void CheckProduct(int k, int splits) {
  const Kernel kernel = Product(k, splits).Build();
  std::vector<double> a_values, w_values;
  for (int i = 0; i < kSide * k; ++i) {
    a_values.push_back(std::sin(i * 0.7));
    w_values.push_back(std::cos(i * 0.3));
  }
  Param a(DType::kF16, a_values), w(DType::kF16, w_values), c(DType::kF32, kSide * kSide);
  const Status status = Interpret(kernel, std::vector{a.bytes(), w.bytes(), c.bytes()});
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (int i = 0; i < kSide * kSide; ++i) {
    double sum = 0;
    for (int x = 0; x < k; ++x) {
      sum +=
          a[static_cast<size_t>(i / kSide * k + x)] * w[static_cast<size_t>(x * kSide + i % kSide)];
    }
    ASSERT_NEAR(c[static_cast<size_t>(i)], sum, 1e-4) << i;
  }
}

TEST(GpuProduct, OneBlock) { CheckProduct(64, 1); }
TEST(GpuProduct, SplitOverBlocks) { CheckProduct(256, 4); }

}  // namespace
}  // namespace mlc::ir
