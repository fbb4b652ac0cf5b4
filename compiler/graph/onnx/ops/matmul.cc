// Matrix products.
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

ValueId MatMulOfAnyRank(OpContext& c, ValueId x, ValueId y, const MatMulForm& product_of) {
  Builder& b = c.b;
  if (b.RankOf(x) == 0 || b.RankOf(y) == 0) {
    c.Fail("operands must not be scalars");
    return kNoValue;
  }
  const bool row = b.RankOf(x) == 1;
  const bool column = b.RankOf(y) == 1;
  if (row) x = b.Reshape(x, {1, b.Dim(x, 0)});
  if (column) y = b.Reshape(y, {b.Dim(y, 0), 1});
  const ValueId product = product_of(x, y);
  Dims dims = b.DimsOf(product);
  if (!b.ok()) return kNoValue;
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return b.Reshape(product, dims);
}

namespace {

void MatMul(OpContext& c) {
  const ValueId x = c.In(0);
  const ValueId y = c.In(1);
  c.Out(MatMulOfAnyRank(c, x, y, [&](ValueId l, ValueId r) { return c.b.MatMul(l, r); }));
}

void Gemm(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  ValueId y = c.In(1);
  if (c.ok() && (b.RankOf(x) != 2 || b.RankOf(y) != 2)) return c.Fail("operands must be matrices");
  if (c.Flag("transA", false)) x = b.Transpose(x, {1, 0});
  if (c.Flag("transB", false)) y = b.Transpose(y, {1, 0});
  ValueId product = b.MatMul(x, y);
  const double alpha = c.Float("alpha", 1);
  const double beta = c.Float("beta", 1);
  if (alpha != 1) product = b.TimesNumber(product, alpha);
  if (c.Has(2) && beta != 0) {
    ValueId bias = c.In(2);
    if (beta != 1) bias = b.TimesNumber(bias, beta);
    const Result<Dims> dims = BroadcastDims(b.DimsOf(product), b.DimsOf(bias));
    if (c.ok() && (!dims.ok() || *dims != b.DimsOf(product))) {
      return c.Fail("operand 2 does not broadcast to the product");
    }
    product = b.Plus(product, bias);
  }
  c.Out(product);
}

constexpr OpRow kMatmulRows[] = {
    {"Gemm", Gemm, 3, 1},
    {"MatMul", MatMul, 2, 1},
};

}  // namespace

std::span<const OpRow> MatMulOps() { return kMatmulRows; }

}  // namespace mlc::graph::onnx
