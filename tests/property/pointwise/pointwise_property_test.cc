// Random pointwise and data-movement workloads: what the family generates agrees with the
// reference, interpreted for random targets and compiled for this machine.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/base/text.h"
#include "tests/property/kernel_check/kernel_check.h"

namespace mlc::schedule {
namespace {

using Dims = std::vector<int64_t>;

// Writes a workload line by line.
class Text {
 public:
  int Add(const std::string& line) {
    text_ += "  %" + std::to_string(next_) + " = " + line + "\n";
    return next_++;
  }
  int Input(const std::string& type) { return Add("input() : " + type); }
  std::string Return(std::vector<int> values) const {
    std::string list;
    for (int v : values) list += (list.empty() ? "%" : ", %") + std::to_string(v);
    return "workload v1 tolerance=1e-4 {\n" + text_ + "  return " + list + "\n}\n";
  }

 private:
  std::string text_;
  int next_ = 0;
};

std::string V(int id) { return "%" + std::to_string(id); }

Dims RandomDims(Rng& rng) {
  Dims dims;
  const int64_t rank = Between(rng, 1, 4);
  for (int64_t d = 0; d < rank; ++d) dims.push_back(Between(rng, 1, d + 1 == rank ? 40 : 9));
  return dims;
}

Dims Broadcast(Rng& rng, Dims dims) {
  for (int64_t& d : dims) {
    if (Chance(rng, 30)) d = 1;
  }
  const int64_t drop = Between(rng, 0, static_cast<int64_t>(dims.size()));
  dims.erase(dims.begin(), dims.begin() + (Chance(rng, 30) ? drop : 0));
  return dims;
}

TEST(PointwiseProperty, ChainsWithBroadcasts) {
  Rng rng(1);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Dims dims = RandomDims(rng);
    const std::string float_types[] = {"f32", "f32", "f32", "f16", "bf16", "f64"};
    const std::string dtype = float_types[rng.Below(6)];
    const Dims other = Broadcast(rng, dims);
    Text t;
    const int a = t.Input(RandomType(rng, dtype, dims));
    const int b = t.Input(RandomType(rng, dtype, other));
    const std::string type = DenseType(dtype, dims);
    const std::string half = t.Add("constant() {value=0.5} : " + dtype + "[]") >= 0 ? "%2" : "";
    const int sum = t.Add("add(" + V(a) + ", " + V(b) + ") : " + type);
    const int erf = t.Add("erf(" + V(sum) + ") : " + type);
    const int scaled = t.Add("mul(" + V(erf) + ", " + half + ") : " + type);
    // Of operands, as narrow sums may round either way.
    const int less = t.Add("less(" + V(b) + ", " + V(a) + ") : " + DenseType("bool", dims));
    const int last = t.Add("select(" + V(less) + ", " + V(scaled) + ", " + V(sum) +
                           ") : " + RandomType(rng, dtype, dims));
    CheckFamily(rng,
                t.Return(Chance(rng, 50) ? std::vector<int>{last} : std::vector<int>{last, sum}),
                "pointwise");
  }
}

TEST(PointwiseProperty, IntegersAndCasts) {
  Rng rng(2);
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    const Dims dims = RandomDims(rng);
    const std::string types[] = {"i8", "u8", "i16", "i32", "i64"};
    const std::string dtype = types[rng.Below(5)];
    Text t;
    const int a = t.Input(RandomType(rng, dtype, dims));
    const int b = t.Input(RandomType(rng, dtype, Broadcast(rng, dims)));
    const std::string type = DenseType(dtype, dims);
    const int product = t.Add("mul(" + V(a) + ", " + V(b) + ") : " + type);
    const int four = t.Add("constant() {value=4.0} : " + dtype + "[]");
    const int quotient = t.Add("div(" + V(product) + ", " + V(four) + ") : " + type);
    const int equal =
        t.Add("equal(" + V(product) + ", " + V(quotient) + ") : " + DenseType("bool", dims));
    const int cast = t.Add("cast(" + V(quotient) + ") : " + DenseType("f32", dims));
    const int neither = t.Add("not(" + V(equal) + ") : " + RandomType(rng, "bool", dims));
    CheckFamily(rng, t.Return({cast, neither}), "pointwise");
  }
}

TEST(PointwiseProperty, TransposesAndSlices) {
  Rng rng(3);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Dims dims = {Between(rng, 1, 3), Between(rng, 1, 40), Between(rng, 1, 9),
                       Between(rng, 1, 40)};
    std::vector<int64_t> perm = {0, 1, 2, 3};
    for (size_t k = 4; k > 1; --k) std::swap(perm[k - 1], perm[rng.Below(k)]);
    Dims turned;
    for (int64_t p : perm) turned.push_back(dims[static_cast<size_t>(p)]);
    Text t;
    const int a = t.Input(RandomType(rng, "f32", dims));
    int x = t.Add("transpose(" + V(a) + ") {perm=" + IntListToText(perm) +
                  "} : " + DenseType("f32", turned));
    if (Chance(rng, 50)) {
      Dims starts, steps, sizes;
      for (int64_t d : turned) {
        starts.push_back(Between(rng, 0, d - 1));
        const bool back = Chance(rng, 25);
        steps.push_back(back ? -1 : Between(rng, 1, 2));
        const int64_t room = back ? starts.back() + 1 : (d - 1 - starts.back()) / steps.back() + 1;
        sizes.push_back(Between(rng, 1, std::max<int64_t>(1, room)));
      }
      x = t.Add("slice(" + V(x) + ") {starts=" + IntListToText(starts) +
                ",steps=" + IntListToText(steps) + "} : " + DenseType("f32", sizes));
      turned = sizes;
    }
    const int y = t.Add("tanh(" + V(x) + ") : " + RandomType(rng, "f32", turned));
    CheckFamily(rng, t.Return({y}), "pointwise");
  }
}

TEST(PointwiseProperty, Reshapes) {
  Rng rng(4);
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    const int64_t a = Between(rng, 1, 6), b = Between(rng, 1, 8), c = Between(rng, 1, 20);
    const std::vector<std::vector<int64_t>> shapes = {{a * b, c}, {a, b * c},      {a * b * c},
                                                      {c, a, b},  {1, a, b, 1, c}, {b, a * c}};
    const Dims from = shapes[rng.Below(shapes.size())];
    const Dims to = shapes[rng.Below(shapes.size())];
    Text t;
    int x = t.Input(RandomType(rng, "f32", from));
    if (Chance(rng, 50)) x = t.Add("neg(" + V(x) + ") : " + DenseType("f32", from));
    x = t.Add("reshape(" + V(x) + ") : " + DenseType("f32", to));
    x = t.Add("exp(" + V(x) + ") : " + RandomType(rng, "f32", to));
    CheckFamily(rng, t.Return({x}), "pointwise");
  }
}

TEST(PointwiseProperty, ConcatPadTileAndTrilu) {
  Rng rng(5);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    Dims dims = {Between(rng, 1, 4), Between(rng, 2, 20), Between(rng, 2, 40)};
    Text t;
    int x = t.Input(RandomType(rng, "f32", dims));
    Dims out = dims;
    const uint64_t kind = rng.Below(4);
    if (kind == 0) {
      const size_t axis = rng.Below(3);
      Dims second = dims;
      second[axis] = Between(rng, 1, 33);
      const int y = t.Input(RandomType(rng, "f32", second));
      out[axis] += second[axis] + dims[axis];
      x = t.Add("concat(" + V(x) + ", " + V(y) + ", " + V(x) + ") {axis=" + std::to_string(axis) +
                "} : " + DenseType("f32", out));
    } else if (kind == 1) {
      const std::string modes[] = {"constant", "reflect", "edge", "wrap"};
      Dims pads;
      for (int k = 0; k < 6; ++k) pads.push_back(k % 3 == 0 ? 0 : Between(rng, 0, 1));
      for (size_t k = 0; k < 3; ++k) out[k] += pads[k] + pads[k + 3];
      x = t.Add("pad(" + V(x) + ") {mode=" + modes[rng.Below(4)] + ",pads=" + IntListToText(pads) +
                ",value=0.25} : " + DenseType("f32", out));
    } else if (kind == 2) {
      const Dims repeats = {Between(rng, 1, 2), Between(rng, 1, 3), Between(rng, 1, 2)};
      for (size_t k = 0; k < 3; ++k) out[k] *= repeats[k];
      x = t.Add("tile(" + V(x) + ") {repeats=" + IntListToText(repeats) +
                "} : " + DenseType("f32", out));
    } else {
      x = t.Add("trilu(" + V(x) + ") {k=" + std::to_string(Between(rng, -5, 5)) +
                ",upper=" + std::to_string(rng.Below(2)) + "} : " + DenseType("f32", out));
    }
    if (Chance(rng, 60)) {
      x = t.Add("abs(" + V(x) + ") : " + RandomType(rng, "f32", out));
    } else {
      x = t.Add("copy(" + V(x) + ") : " + RandomType(rng, "f32", out));
    }
    CheckFamily(rng, t.Return({x}), "pointwise");
  }
}

TEST(PointwiseProperty, Gathers) {
  Rng rng(6);
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    const Dims dims = {Between(rng, 3, 8), Between(rng, 3, 9), Between(rng, 3, 40)};
    const std::string index = Chance(rng, 50) ? "i64" : "i32";
    Text t;
    const int x = t.Input(RandomType(rng, "f32", dims));
    int y = 0;
    const uint64_t kind = rng.Below(3);
    if (kind == 0) {
      const size_t axis = rng.Below(3);
      const Dims picked = {Between(rng, 1, 3), Between(rng, 1, 4)};
      Dims out(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis));
      out.insert(out.end(), picked.begin(), picked.end());
      out.insert(out.end(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end());
      const int at = t.Input(RandomType(rng, index, picked));
      y = t.Add("gather(" + V(x) + ", " + V(at) + ") {axis=" + std::to_string(axis) +
                "} : " + DenseType("f32", out));
    } else if (kind == 1) {
      const size_t axis = rng.Below(3);
      Dims picked = dims;
      picked[axis] = Between(rng, 1, 20);
      const int at = t.Input(RandomType(rng, index, picked));
      y = t.Add("gather_elements(" + V(x) + ", " + V(at) + ") {axis=" + std::to_string(axis) +
                "} : " + DenseType("f32", picked));
    } else {
      const int64_t depth = Between(rng, 1, 3);
      const int at = t.Input(RandomType(rng, index, {4, depth}));
      Dims out = {4};
      out.insert(out.end(), dims.begin() + depth, dims.end());
      y = t.Add("gather_nd(" + V(x) + ", " + V(at) + ") {batch_dims=0} : " + DenseType("f32", out));
    }
    CheckFamily(rng, t.Return({y}), "pointwise");
  }
}

TEST(PointwiseProperty, Resizes) {
  Rng rng(7);
  const std::string coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                     "align_corners", "asymmetric"};
  const std::string nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    const Dims dims = {1, Between(rng, 1, 20), Between(rng, 1, 6), Between(rng, 1, 6)};
    const int64_t factor = Between(rng, 1, 3);
    const Dims out = {1, dims[1], dims[2] * factor, dims[3] * 2};
    Text t;
    const int x = t.Input(RandomType(rng, "f32", dims));
    const std::string mode = Chance(rng, 50) ? "nearest" : "linear";
    const int y =
        t.Add("resize(" + V(x) + ") {coordinate_mode=" + coordinates[rng.Below(5)] +
              ",mode=" + mode + ",nearest_mode=" + nearest[rng.Below(4)] + ",scales=[1.0,1.0," +
              std::to_string(factor) + ".0,2.0]} : " + RandomType(rng, "f32", out));
    CheckFamily(rng, t.Return({y}), "pointwise");
  }
}

TEST(PointwiseProperty, ScansAndScatters) {
  Rng rng(8);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Dims dims = {Between(rng, 3, 6), Between(rng, 3, 9), Between(rng, 3, 40)};
    const std::string axis = std::to_string(rng.Below(3));
    const size_t at = static_cast<size_t>(axis[0] - '0');
    Text t;
    const int x = t.Input(RandomType(rng, "f32", dims));
    int y = 0;
    const uint64_t kind = rng.Below(4);
    if (kind == 0) {
      y = t.Add("cum_sum(" + V(x) + ") {axis=" + axis +
                ",exclusive=" + std::to_string(rng.Below(2)) +
                ",reverse=" + std::to_string(rng.Below(2)) + "} : " + DenseType("f32", dims));
      y = t.Add("abs(" + V(y) + ") : " + RandomType(rng, "f32", dims));
    } else if (kind == 1) {
      Dims out = dims;
      const bool keep = Chance(rng, 50);
      out[at] = 1;
      if (!keep) out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
      y = t.Add("arg(" + V(x) + ") {axis=" + axis + ",keepdims=" + (keep ? "1" : "0") +
                ",kind=" + (Chance(rng, 50) ? "max" : "min") +
                ",select_last=" + std::to_string(rng.Below(2)) + "} : " + DenseType("i64", out));
    } else {
      const std::string reductions[] = {"none", "add", "mul", "max", "min"};
      const bool elements = kind == 2;
      // Without a reduction, colliding updates have no defined order in the operator's definition;
      // one update cannot collide.
      const std::string reduction = reductions[rng.Below(5)];
      const bool single = reduction == "none";
      const int64_t count = single ? 1 : Between(rng, 1, 4);
      Dims update = elements ? Dims{count, count, count} : Dims{count, dims[2]};
      if (elements && !single) update[at] = Between(rng, 1, 5);
      for (size_t k = 0; elements && k < 3; ++k) {
        if (k != at) update[k] = std::min(update[k], dims[k]);
      }
      const int index = t.Input(DenseType("i64", elements ? update : Dims{count, 2}));
      const int updates = t.Input(RandomType(rng, "f32", update));
      y = t.Add(std::string(elements ? "scatter_elements(" : "scatter_nd(") + V(x) + ", " +
                V(index) + ", " + V(updates) + ") {" + (elements ? "axis=" + axis + "," : "") +
                "reduction=" + reduction + "} : " + RandomType(rng, "f32", dims));
    }
    CheckFamily(rng, t.Return({y}), "pointwise");
  }
}

}  // namespace
}  // namespace mlc::schedule
