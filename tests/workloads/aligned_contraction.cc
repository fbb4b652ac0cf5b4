#include "tests/workloads/aligned_contraction.h"

#include <algorithm>

#include "base/text.h"
#include "compiler/graph/graph.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {
namespace {

// The last two dimensions exchanged in memory.
std::string MaybeTransposed(Rng& rng, const std::string& dtype, const Dims& dims) {
  if (Chance(rng, 60)) return DenseType(dtype, dims);
  Dims strides = graph::DenseStrides(dims);
  const size_t r = dims.size();
  strides[r - 2] = 1;
  strides[r - 1] = dims[r - 2];
  return StridedType(dtype, dims, strides);
}

std::string Finish(Rng& rng, const std::string& body, int values, const std::string& bias,
                   const std::string& out) {
  std::string text = body;
  std::string value = "%" + std::to_string(values - 1);
  if (!bias.empty()) {
    text += "  %" + std::to_string(values) + " = weight() : " + bias + "\n";
    text += "  %" + std::to_string(values + 1) + " = add(" + value + ", %" +
            std::to_string(values) + ") : " + out + "\n";
    value = "%" + std::to_string(values + 1);
    values += 2;
  }
  if (Chance(rng, 50)) {
    text += "  %" + std::to_string(values) + " = input() : " + out + "\n";
    text += "  %" + std::to_string(values + 1) + " = add(" + value + ", %" +
            std::to_string(values) + ") : " + out + "\n";
    value = "%" + std::to_string(values + 1);
    values += 2;
  }
  if (Chance(rng, 50)) {
    text += "  %" + std::to_string(values) + " = abs(" + value + ") : " + out + "\n";
    value = "%" + std::to_string(values);
  }
  return WorkloadText(text, value, "1e-3");
}

}  // namespace

std::string AlignedProduct(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t m = Chance(rng, 50) ? Between(rng, 1, 20) * 8 : Between(rng, 1, 100);
  const int64_t n = Between(rng, 1, 20) * 8;
  const int64_t k = Between(rng, 1, Chance(rng, 30) ? 80 : 20) * 8;
  Dims a = {m, k}, b = {k, n}, y = {m, n};
  const bool weight = Chance(rng, 50);
  if (Chance(rng, 30)) {
    const int64_t batch = Between(rng, 2, 3);
    a.insert(a.begin(), batch);
    y.insert(y.begin(), batch);
    if (!weight) b.insert(b.begin(), batch);
  }
  const std::string attrs = attributes.empty() ? "" : " {" + attributes + "}";
  const std::string body = "  %0 = input() : " + MaybeTransposed(rng, dtype, a) +
                           "\n  %1 = " + (weight ? "weight" : "input") +
                           "() : " + MaybeTransposed(rng, dtype, b) + "\n  %2 = matmul(%0, %1)" +
                           attrs + " : " + DenseType(dtype, y) + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {n}) : "", DenseType(dtype, y));
}

std::string AlignedConvolution(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t group = Chance(rng, 85) ? 1 : 2;
  const int64_t depth = Between(rng, 1, 8) * 8;
  const int64_t columns = Between(rng, 1, 10) * 8;
  const int64_t batch = Between(rng, 1, 2);
  Dims x = {batch, group * depth}, w = {group * columns, depth}, y = {batch, group * columns};
  Dims strides, dilations, pads(4);
  const bool pointwise = Chance(rng, 30);
  for (size_t s = 0; s < 2; ++s) {
    const int64_t in = Between(rng, 3, 9);
    const int64_t kernel = pointwise ? 1 : Between(rng, 1, 3);
    dilations.push_back(kernel > 1 && in > 6 && Chance(rng, 20) ? 2 : 1);
    strides.push_back(Between(rng, 1, 2));
    pads[s] = pointwise ? 0 : Between(rng, 0, 1);
    pads[s + 2] = pointwise ? 0 : Between(rng, 0, 1);
    const int64_t reach = (kernel - 1) * dilations[s] + 1;
    x.push_back(in);
    w.push_back(kernel);
    y.push_back((in + pads[s] + pads[s + 2] - reach) / strides[s] + 1);
  }
  const std::string out = ChannelsLastType(dtype, y);
  const std::string extra = attributes.empty() ? "" : "," + attributes;
  const std::string body = "  %0 = input() : " + ChannelsLastType(dtype, x) +
                           "\n  %1 = weight() : " + DenseType(dtype, w) +
                           "\n  %2 = conv(%0, %1) {dilations=" + IntListToText(dilations) +
                           ", group=" + std::to_string(group) + ", pads=" + IntListToText(pads) +
                           extra + ", strides=" + IntListToText(strides) + "} : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {group * columns, 1, 1}) : "",
                out);
}

std::string WideConvolution(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t depth = Between(rng, 1, 2) * (dtype == "f32" ? 32 : 64);
  const int64_t columns = Between(rng, 4, 20) * 8;
  const int64_t batch = Between(rng, 1, 6);
  Dims x = {batch, depth}, w = {columns, depth}, y = {batch, columns};
  Dims strides, dilations, pads(4);
  for (size_t s = 0; s < 2; ++s) {
    const int64_t in = Between(rng, 4, 12);
    const int64_t kernel = Chance(rng, 80) ? Between(rng, 2, 3) : 1;
    dilations.push_back(kernel > 1 && in > 6 && Chance(rng, 20) ? 2 : 1);
    strides.push_back(Chance(rng, 60) ? 1 : Between(rng, 2, 3));
    pads[s] = Between(rng, 0, kernel - 1);
    pads[s + 2] = Between(rng, 0, kernel - 1);
    const int64_t reach = (kernel - 1) * dilations[s] + 1;
    x.push_back(in);
    w.push_back(kernel);
    y.push_back((in + pads[s] + pads[s + 2] - reach) / strides[s] + 1);
  }
  const std::string out = ChannelsLastType(dtype, y);
  const std::string extra = attributes.empty() ? "" : "," + attributes;
  const std::string body = "  %0 = input() : " + ChannelsLastType(dtype, x) +
                           "\n  %1 = weight() : " + DenseType(dtype, w) +
                           "\n  %2 = conv(%0, %1) {dilations=" + IntListToText(dilations) +
                           ", group=1, pads=" + IntListToText(pads) + extra +
                           ", strides=" + IntListToText(strides) + "} : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {columns, 1, 1}) : "", out);
}

std::string EvenConvolution(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t depth = Between(rng, 1, 2) * (dtype == "f32" ? 32 : 64);
  const int64_t columns = Between(rng, 4, 16) * 8, batch = Between(rng, 1, 4);
  const Dims x = {batch, depth, Between(rng, 1, 2) * 8, Between(rng, 1, 2) * 8};
  const std::string out = ChannelsLastType(dtype, {batch, columns, x[2], x[3]});
  const std::string extra = attributes.empty() ? "" : "," + attributes;
  const std::string body = "  %0 = input() : " + ChannelsLastType(dtype, x) +
                           "\n  %1 = weight() : " + DenseType(dtype, {columns, depth, 3, 3}) +
                           "\n  %2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1]" + extra +
                           ",strides=[1,1]} : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {columns, 1, 1}) : "", out);
}

std::string LargeProduct(Rng& rng, const std::string& dtype, const std::string& attributes) {
  // The reference in double precision takes its time.
  constexpr int64_t kMostProducts = int64_t{1} << 25;
  const int64_t m = Chance(rng, 70) ? Between(rng, 8, 80) * 8 : Between(rng, 64, 640);
  const int64_t n = Between(rng, 8, 80) * 8;
  const int64_t k = Between(rng, 4, std::clamp<int64_t>(kMostProducts / (m * n * 8), 4, 256)) * 8;
  const std::string attrs = attributes.empty() ? "" : " {" + attributes + "}";
  const std::string out = DenseType(dtype, {m, n});
  const std::string body = "  %0 = input() : " + MaybeTransposed(rng, dtype, {m, k}) +
                           "\n  %1 = " + (Chance(rng, 50) ? "weight" : "input") +
                           "() : " + MaybeTransposed(rng, dtype, {k, n}) +
                           "\n  %2 = matmul(%0, %1)" + attrs + " : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {n}) : "", out);
}

std::string ImageConvolution(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t channels = Between(rng, 1, 4), columns = Between(rng, 1, 8) * 8;
  const int64_t kernel = Between(rng, 3, 7), stride = Between(rng, 1, 2), pad = kernel / 2;
  Dims x = {Between(rng, 1, 2), channels}, y = {x[0], columns};
  for (int s = 0; s < 2; ++s) {
    x.push_back(Between(rng, 8, 40));
    y.push_back((x.back() + 2 * pad - kernel) / stride + 1);
  }
  const std::string out = ChannelsLastType(dtype, y);
  const std::string extra = attributes.empty() ? "" : "," + attributes;
  const std::string body =
      "  %0 = input() : " + (Chance(rng, 50) ? ChannelsLastType(dtype, x) : DenseType(dtype, x)) +
      "\n  %1 = weight() : " + DenseType(dtype, {columns, channels, kernel, kernel}) +
      "\n  %2 = conv(%0, %1) {dilations=[1,1],group=1,pads=" + IntListToText({pad, pad, pad, pad}) +
      extra + ",strides=" + IntListToText({stride, stride}) + "} : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {columns, 1, 1}) : "", out);
}

std::string SkinnyProduct(Rng& rng, const std::string& dtype) {
  const int64_t m = Between(rng, 1, 8), n = Between(rng, 1, 300), k = Between(rng, 1, 2000);
  const std::string out = DenseType(dtype, {m, n});
  const std::string body = "  %0 = input() : " + DenseType(dtype, {m, k}) +
                           "\n  %1 = weight() : " + MaybeTransposed(rng, dtype, {k, n}) +
                           "\n  %2 = matmul(%0, %1) : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? DenseType(dtype, {n}) : "", out);
}

std::string Float8Product(Rng& rng, const std::string& dtype) {
  const int64_t m = Between(rng, 48, Chance(rng, 50) ? 200 : 600);
  const int64_t n = Chance(rng, 70) ? Between(rng, 4, 24) * 8 : Between(rng, 32, 200);
  const int64_t k = Between(rng, 8, 40) * 16;
  const auto type = [&] { return std::string(Chance(rng, 70) ? "f8e4m3fn" : "f8e5m2"); };
  const std::string sums = DenseType("f32", {m, n}), out = DenseType(dtype, {m, n});
  const std::string columns = type();
  const bool weight = Chance(rng, 70);
  std::string body = "  %0 = input() : " + DenseType(type(), {m, k}) + "\n  %1 = " +
                     (weight ? "weight() : " + MaybeTransposed(rng, columns, {k, n})
                             : "input() : " + StridedType(columns, {k, n}, {1, k})) +
                     "\n  %2 = matmul(%0, %1) : " + sums +
                     "\n  %3 = weight() : " + (Chance(rng, 50) ? "f32[]" : DenseType("f32", {n})) +
                     "\n  %4 = mul(%2, %3) : " + sums + "\n";
  if (dtype != "f32") body += "  %5 = cast(%4) : " + out + "\n";
  const int values = dtype == "f32" ? 5 : 6;
  return Finish(rng, body, values, Chance(rng, 60) ? DenseType(dtype, {n}) : "", out);
}

std::string Float8Blocks(Rng& rng, const std::string& dtype) {
  constexpr int64_t kBlock = 128;
  const int64_t m = Between(rng, 48, 300), n = Between(rng, 4, 40) * 8;
  const int64_t k = Chance(rng, 70) ? kBlock * Between(rng, 1, 5) : Between(rng, 8, 40) * 16;
  const int64_t across = Chance(rng, 60) ? kBlock : int64_t{32} << rng.Below(4);
  const int64_t blocks = (k + kBlock - 1) / kBlock, wide = (n + across - 1) / across;
  const std::string sums = DenseType("f32", {m, n}), out = DenseType(dtype, {m, n});
  const std::string codes = Chance(rng, 70) ? "f8e4m3fn" : "f8e5m2";
  std::string body = "  %0 = input() : " + DenseType(codes, {m, k}) +
                     "\n  %1 = weight() : " + MaybeTransposed(rng, "f8e4m3fn", {k, n}) +
                     "\n  %2 = input() : " + DenseType("f32", {m, blocks}) +
                     "\n  %3 = weight() : " + DenseType("f32", {blocks, wide}) +
                     "\n  %4 = matmul(%0, %1, %2, %3) {across=" + std::to_string(across) +
                     ", block=" + std::to_string(kBlock) + "} : " + sums + "\n";
  if (dtype != "f32") body += "  %5 = cast(%4) : " + out + "\n";
  const int values = dtype == "f32" ? 5 : 6;
  return Finish(rng, body, values, Chance(rng, 60) ? DenseType(dtype, {n}) : "", out);
}

std::string FewBitsProduct(Rng& rng, const std::string& dtype) {
  const int64_t m = Chance(rng, 40) ? 1 : Between(rng, 1, 16), n = Between(rng, 1, 150);
  const int64_t bits = int64_t{2} << rng.Below(3), a_byte = 8 / bits;
  const int64_t block_of[] = {16, 32, 64, 128, 8 * Between(rng, 1, 40)};
  const int64_t block = block_of[rng.Below(5)];
  const int64_t k = Chance(rng, 60) ? block * Between(rng, 1, 8) : Between(rng, 1, 1200);
  const int64_t blocks = (k + block - 1) / block;
  const int64_t bytes = Chance(rng, 50) ? (k + a_byte - 1) / a_byte : blocks * block / a_byte;
  const bool zeros = Chance(rng, 40);
  const int64_t zero = Chance(rng, 60) ? int64_t{1} << (bits - 1) : Between(rng, 0, 255);
  const std::string out = DenseType(dtype, {m, n});
  std::string body = "  %0 = input() : " + DenseType(dtype, {m, k}) +
                     "\n  %1 = weight() : " + DenseType("u8", {n, bytes}) +
                     "\n  %2 = weight() : " + DenseType(dtype, {n, blocks}) + "\n";
  if (zeros) body += "  %3 = weight() : " + DenseType("u8", {n, blocks}) + "\n";
  const int matrix = zeros ? 4 : 3;
  body += "  %" + std::to_string(matrix) + " = dequantize(%1, %2" + (zeros ? ", %3" : "") +
          ") {bits=" + std::to_string(bits) + ", block=" + std::to_string(block) +
          ", depth=" + std::to_string(k) + ", zero=" + std::to_string(zero) +
          "} : " + DenseType(dtype, {k, n}) + "\n";
  body += "  %" + std::to_string(matrix + 1) + " = matmul(%0, %" + std::to_string(matrix) +
          ") : " + out + "\n";
  return Finish(rng, body, matrix + 2, Chance(rng, 60) ? DenseType(dtype, {n}) : "", out);
}

std::string PackedFloat8Product(Rng& rng, const std::string& dtype) {
  const int64_t m = Chance(rng, 40) ? 1 : Between(rng, 1, 16), n = Between(rng, 1, 150);
  const int64_t k = Chance(rng, 60) ? 64 * Between(rng, 1, 16) : Between(rng, 1, 1200);
  const int64_t block_of[] = {k, 16, 32, 128, 8 * Between(rng, 1, 40)};
  const int64_t block = Chance(rng, 40) ? k : block_of[rng.Below(5)];
  const std::string codes = Chance(rng, 70) ? "f8e4m3fn" : "f8e5m2";
  const std::string out = DenseType(dtype, {m, n});
  const std::string body = "  %0 = input() : " + DenseType(dtype, {m, k}) +
                           "\n  %1 = weight() : " + DenseType(codes, {n, k}) +
                           "\n  %2 = weight() : " + DenseType(dtype, {n, (k + block - 1) / block}) +
                           "\n  %3 = dequantize(%1, %2) {bits=8, block=" + std::to_string(block) +
                           ", depth=" + std::to_string(k) + "} : " + DenseType(dtype, {k, n}) +
                           "\n  %4 = matmul(%0, %3) : " + out + "\n";
  return Finish(rng, body, 5, Chance(rng, 60) ? DenseType(dtype, {n}) : "", out);
}

}  // namespace mlc::schedule
