#include "tests/workloads/byte_contraction.h"

#include "compiler/graph/graph.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {
namespace {

// Sums minus those of a zero point, scaled by a power of two, and perhaps as codes again, added to
// others or not. `values` have been written.
class Epilogue {
 public:
  Epilogue(std::string body, std::string columns, const Dims& dims, bool channels_last)
      : text_(std::move(body)), columns_(std::move(columns)), dims_(dims), last_(channels_last) {}

  std::string Finish(Rng& rng) {
    if (Chance(rng, 50)) Binary("sub", Add("weight()", "i32" + columns_), "i32");
    if (Chance(rng, 10)) return WorkloadText(text_, Name(value_), "1e-6");
    // Sums that f32 has exactly.
    Binary("max", Constant("i32", "-8388608"), "i32");
    Binary("min", Constant("i32", "8388608"), "i32");
    value_ = Add("cast(" + Name(value_) + ")", Type("f32"));
    Binary("mul", Constant("f32", "0.001953125"), "f32");
    // In networks sums become codes before others are added.
    if (Chance(rng, 30)) {
      ToCodes("u8", "3", "255", true);
      value_ = Add("cast(" + Name(value_) + ")", Type("f32"));
    }
    if (Chance(rng, 40)) {
      const int codes = Add("input()", Type("u8"));
      Binary("add", Add("cast(" + Name(codes) + ")", Type("f32")), "f32");
    }
    if (Chance(rng, 50)) Binary("max", Constant("f32", "0"), "f32");
    if (Chance(rng, 75)) ToCodes(Chance(rng, 70) ? "u8" : "i8", "3", "120", Chance(rng, 50));
    return WorkloadText(text_, Name(value_), "1e-6");
  }

 private:
  void ToCodes(const std::string& type, const std::string& zero, const std::string& high,
               bool high_last) {
    value_ = Add("round(" + Name(value_) + ")", Type("f32"));
    Binary("add", Constant("f32", zero), "f32");
    if (!high_last) Binary("min", Constant("f32", high), "f32");
    Binary("max", Constant("f32", "0"), "f32");
    if (high_last) Binary("min", Constant("f32", high), "f32");
    value_ = Add("cast(" + Name(value_) + ")", Type(type));
  }
  static std::string Name(int value) { return "%" + std::to_string(value); }
  std::string Type(const std::string& dtype) const {
    return last_ ? ChannelsLastType(dtype, dims_) : DenseType(dtype, dims_);
  }
  int Add(const std::string& what, const std::string& type) {
    text_ += "  " + Name(++count_) + " = " + what + " : " + type + "\n";
    return count_;
  }
  int Constant(const std::string& dtype, const std::string& value) {
    return Add("constant() {value=" + value + "}", dtype + "[]");
  }
  void Binary(const std::string& op, int with, const std::string& dtype) {
    value_ = Add(op + "(" + Name(value_) + ", " + Name(with) + ")", Type(dtype));
  }

  std::string text_, columns_;
  Dims dims_;
  bool last_;
  int count_ = 2, value_ = 2;  // after two operands and the product
};

std::string Convolution(Rng& rng, const Dims& x, const Dims& w, int64_t group, const Dims& strides,
                        const Dims& dilations, const Dims& pads) {
  Dims y = {x[0], w[0]};
  for (size_t s = 0; s < 2; ++s) {
    const int64_t reach = (w[s + 2] - 1) * dilations[s] + 1;
    y.push_back((x[s + 2] + pads[s] + pads[s + 2] - reach) / strides[s] + 1);
  }
  const std::string body = "  %0 = input() : " + ChannelsLastType("u8", x) +
                           "\n  %1 = weight() : " + DenseType("i8", w) +
                           "\n  %2 = conv(%0, %1) {dilations=" + IntListToText(dilations) +
                           ", group=" + std::to_string(group) + ", pads=" + IntListToText(pads) +
                           ", strides=" + IntListToText(strides) +
                           "} : " + ChannelsLastType("i32", y) + "\n";
  return Epilogue(body, "[" + std::to_string(y[1]) + ",1,1]", y, true).Finish(rng);
}

}  // namespace

std::string ByteProduct(Rng& rng) {
  const int64_t m = Between(rng, 1, Chance(rng, 50) ? 100 : 600);
  const int64_t n = Chance(rng, 60) ? Between(rng, 1, 24) * 8 : Between(rng, 1, 200);
  const int64_t k = Chance(rng, 60) ? Between(rng, 4, 40) * 16 : Between(rng, 1, 160) * 4;
  Dims a = {m, k}, b = {k, n}, y = {m, n};
  if (Chance(rng, 25)) {
    const int64_t batch = Between(rng, 2, 3);
    a.insert(a.begin(), batch);
    y.insert(y.begin(), batch);
  }
  const bool weight = Chance(rng, 70);
  const std::string columns =
      weight && Chance(rng, 50) ? DenseType("i8", b) : StridedType("i8", b, {1, k});
  const std::string body = "  %0 = input() : " + DenseType("u8", a) +
                           "\n  %1 = " + (weight ? "weight" : "input") + "() : " + columns +
                           "\n  %2 = matmul(%0, %1) : " + DenseType("i32", y) + "\n";
  return Epilogue(body, "[" + std::to_string(n) + "]", y, false).Finish(rng);
}

std::string ByteConvolution(Rng& rng) {
  const int64_t group = Chance(rng, 90) ? 1 : 2;
  const bool pointwise = Chance(rng, 30);
  const int64_t words = Chance(rng, 50) ? Between(rng, 1, 8) * 4 : Between(rng, 1, 20);
  const int64_t depth = (pointwise && Chance(rng, 50) ? 4 : 1) * words * 4;
  const int64_t columns = Chance(rng, 40) ? Between(rng, 1, 3) * 32 : Between(rng, 1, 12) * 8;
  Dims x = {Between(rng, 1, 2), group * depth}, w = {group * columns, depth};
  Dims strides, dilations, pads(4);
  for (size_t s = 0; s < 2; ++s) {
    const int64_t in = Between(rng, 3, pointwise ? 24 : 9);
    const int64_t kernel = pointwise ? 1 : Between(rng, 1, 3);
    x.push_back(in);
    w.push_back(kernel);
    dilations.push_back(kernel > 1 && in > 6 && Chance(rng, 20) ? 2 : 1);
    strides.push_back(Between(rng, 1, 2));
    pads[s] = pointwise ? 0 : Between(rng, 0, 1);
    pads[s + 2] = pointwise ? 0 : Between(rng, 0, 1);
  }
  return Convolution(rng, x, w, group, strides, dilations, pads);
}

std::string ByteImageConvolution(Rng& rng) {
  const int64_t kernel = Between(rng, 3, 7), stride = Between(rng, 1, 2), pad = kernel / 2;
  const Dims x = {Between(rng, 1, 2), 4, Between(rng, 8, 40), Between(rng, 8, 40)};
  const Dims w = {Between(rng, 1, 8) * 8, 4, kernel, kernel};
  return Convolution(rng, x, w, 1, {stride, stride}, {1, 1}, {pad, pad, pad, pad});
}

}  // namespace mlc::schedule
