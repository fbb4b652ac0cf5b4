#include "tests/workloads/data_movement.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "tests/workloads/draw.h"
#include "tests/workloads/node_writer.h"

namespace mlc::schedule {

RandomWorkload RandomTransposes(Rng& rng) {
  const Dims dims = {Between(rng, 1, 3), Between(rng, 1, 40), Between(rng, 1, 9),
                     Between(rng, 1, 40)};
  std::vector<int64_t> perm = {0, 1, 2, 3};
  for (size_t k = 4; k > 1; --k) std::swap(perm[k - 1], perm[rng.Below(k)]);
  Dims transposed;
  for (int64_t p : perm) transposed.push_back(dims[static_cast<size_t>(p)]);
  NodeWriter t;
  const int a = t.Input(RandomType(rng, "f32", dims));
  int x = t.Add("transpose(" + V(a) + ") {perm=" + IntListToText(perm) +
                "} : " + DenseType("f32", transposed));
  if (Chance(rng, 50)) {
    Dims starts, steps, sizes;
    for (int64_t d : transposed) {
      starts.push_back(Between(rng, 0, d - 1));
      const bool back = Chance(rng, 25);
      steps.push_back(back ? -1 : Between(rng, 1, 2));
      const int64_t room = back ? starts.back() + 1 : (d - 1 - starts.back()) / steps.back() + 1;
      sizes.push_back(Between(rng, 1, std::max<int64_t>(1, room)));
    }
    x = t.Add("slice(" + V(x) + ") {starts=" + IntListToText(starts) +
              ",steps=" + IntListToText(steps) + "} : " + DenseType("f32", sizes));
    transposed = sizes;
  }
  const int y = t.Add("tanh(" + V(x) + ") : " + RandomType(rng, "f32", transposed));
  return {t.Return({y})};
}

RandomWorkload RandomTurns(Rng& rng) {
  const std::string types[] = {"f32", "f32", "f32", "f16", "i8", "i64"};
  const int64_t edges[] = {2, 3, 7, 8, 15, 16, 17, 32, 33, 48, 70};
  const std::string type = types[rng.Below(std::size(types))];
  const Dims dims = {Between(rng, 1, 3), edges[rng.Below(std::size(edges))],
                     edges[rng.Below(std::size(edges))]};
  NodeWriter t;
  const int a = t.Input(DenseType(type, {dims[0], dims[2], dims[1]}));
  const int b = t.Input(Chance(rng, 50) ? DenseType(type, dims) : RandomType(rng, type, dims));
  int x = t.Add("transpose(" + V(a) + ") {perm=[0,2,1]} : " + DenseType(type, dims));
  if (Chance(rng, 70)) x = t.Add("max(" + V(b) + ", " + V(x) + ") : " + DenseType(type, dims));
  if (Chance(rng, 30)) x = t.Add("min(" + V(x) + ", " + V(x) + ") : " + DenseType(type, dims));
  Dims out = dims;
  if (Chance(rng, 30)) {
    out[1] *= 2;
    x = t.Add("concat(" + V(x) + ", " + V(b) + ") {axis=1} : " + DenseType(type, out));
  }
  return {t.Return({t.Add("copy(" + V(x) + ") : " + RandomType(rng, type, out))})};
}

RandomWorkload RandomReshapes(Rng& rng) {
  const int64_t a = Between(rng, 1, 6), b = Between(rng, 1, 8), c = Between(rng, 1, 20);
  const std::vector<std::vector<int64_t>> shapes = {{a * b, c}, {a, b * c},      {a * b * c},
                                                    {c, a, b},  {1, a, b, 1, c}, {b, a * c}};
  const Dims from = shapes[rng.Below(shapes.size())];
  const Dims to = shapes[rng.Below(shapes.size())];
  NodeWriter t;
  int x = t.Input(RandomType(rng, "f32", from));
  if (Chance(rng, 50)) x = t.Add("neg(" + V(x) + ") : " + DenseType("f32", from));
  x = t.Add("reshape(" + V(x) + ") : " + DenseType("f32", to));
  x = t.Add("exp(" + V(x) + ") : " + RandomType(rng, "f32", to));
  return {t.Return({x})};
}

RandomWorkload RandomConcatPadTileTrilu(Rng& rng) {
  Dims dims = {Between(rng, 1, 4), Between(rng, 2, 20), Between(rng, 2, 40)};
  NodeWriter t;
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
  return {t.Return({x})};
}

RandomWorkload RandomGather(Rng& rng) {
  const Dims dims = {Between(rng, 3, 8), Between(rng, 3, 9), Between(rng, 3, 40)};
  const std::string index = Chance(rng, 50) ? "i64" : "i32";
  NodeWriter t;
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
  return {t.Return({y})};
}

RandomWorkload RandomResize(Rng& rng) {
  const std::string coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                     "align_corners", "asymmetric"};
  const std::string nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const Dims dims = {1, Between(rng, 1, 20), Between(rng, 1, 6), Between(rng, 1, 6)};
  const int64_t factor = Between(rng, 1, 3);
  const Dims out = {1, dims[1], dims[2] * factor, dims[3] * 2};
  NodeWriter t;
  const int x = t.Input(RandomType(rng, "f32", dims));
  const std::string mode = Chance(rng, 50) ? "nearest" : "linear";
  const int y =
      t.Add("resize(" + V(x) + ") {coordinate_mode=" + coordinates[rng.Below(5)] + ",mode=" + mode +
            ",nearest_mode=" + nearest[rng.Below(4)] + ",scales=[1.0,1.0," +
            std::to_string(factor) + ".0,2.0]} : " + RandomType(rng, "f32", out));
  return {t.Return({y})};
}

RandomWorkload RandomTransposeThroughTiles(Rng& rng) {
  const std::string types[] = {"f32", "f16", "bf16", "i8", "f64"};
  const std::string t = types[rng.Below(5)];
  const int64_t n = Between(rng, 1, 2);
  const int64_t a = Chance(rng, 50) ? 16 * Between(rng, 1, 6) : Between(rng, 16, 100);
  const int64_t b = Chance(rng, 50) ? 16 * Between(rng, 1, 6) : Between(rng, 16, 100);
  const std::string from = DenseType(t, {n, a, b}), to = DenseType(t, {n, b, a});
  const std::string transposed = ") {perm=[0,2,1]} : " + to + "\n";
  const bool alone = Chance(rng, 40);
  const std::string body = alone ? "  %0 = input() : " + from + "\n  %1 = transpose(%0" +
                                       transposed + "  %2 = copy(%1) : " + to + "\n"
                                 : "  %0 = input() : " + from + "\n  %1 = input() : " + to +
                                       "\n  %2 = transpose(%0" + transposed +
                                       "  %3 = add(%2, %1) : " + to + "\n";
  return {WorkloadText(body, alone ? "%2" : "%3")};
}

}  // namespace mlc::schedule
