#include "compiler/schedule/cuda/tile/gpu_row_box.h"

#include <functional>
#include <tuple>

namespace mlc::schedule {

using ir::ExprRef;

namespace {

constexpr int64_t kMaxReach = 256;  // of a tensor copy along one dimension

const RowPart& Part(const GpuContraction& g, int i) { return g.parts[static_cast<size_t>(i)]; }

int64_t Stride(const GpuContraction& g, const RowPart& part) {
  return part.axis < 0 ? 1 : g.Axis(part.axis).stride;
}

int64_t TilesOf(const RowPart& part, int size) { return (part.extent + size - 1) / size; }

}  // namespace

RowBox BestBox(const GpuContraction& g, int positions) {
  RowBox best, box;
  const int last = g.part_count - 1;
  // Fewer tiles first, then longer runs from the innermost part on.
  using Rank = std::tuple<int64_t, int, int>;
  Rank rank;
  const auto consider = [&] {
    const int inner = box.sizes[static_cast<size_t>(last)];
    const int next = last > 0 ? box.sizes[static_cast<size_t>(last - 1)] : 0;
    const Rank own = {BoxTiles(g, box), -inner, -next};
    if (best.IsBox() && own >= rank) return;
    rank = own;
    best = box;
  };
  const std::function<void(int, int)> choose = [&](int part, int left) {
    const auto fits = [&](int size) {
      return (int64_t{size} - 1) * Stride(g, Part(g, part)) < kMaxReach;
    };
    int& size = box.sizes[static_cast<size_t>(part)];
    if (part == 0) {
      size = left;
      if (fits(size)) consider();
      return;
    }
    for (size = 1; size <= left; ++size) {
      if (left % size != 0 || !fits(size)) continue;
      if (size > 1 && size / 2 >= Part(g, part).extent) continue;
      choose(part - 1, left / size);
    }
  };
  choose(last, positions);
  return best;
}

int64_t BoxTiles(const GpuContraction& g, const RowBox& box) {
  int64_t tiles = 1;
  for (int i = 0; i < g.part_count; ++i) {
    tiles *= TilesOf(Part(g, i), box.sizes[static_cast<size_t>(i)]);
  }
  return tiles;
}

int OutermostOf(const GpuContraction& g, const RowBox& box) {
  for (int i = 0; i < g.part_count; ++i) {
    if (box.sizes[static_cast<size_t>(i)] > 1) return i;
  }
  return -1;
}

BoxPlace PlaceBox(ir::KernelBuilder& b, const GpuContraction& g, const RowBox& box,
                  const ExprRef& tile) {
  BoxPlace place;
  ExprRef rest = tile;
  for (int i = g.part_count - 1; i >= 0; --i) {
    const int size = box.sizes[static_cast<size_t>(i)];
    const int64_t tiles = TilesOf(Part(g, i), size);
    place[static_cast<size_t>(i)] =
        b.Let("box_at", (i == 0 ? rest : ir::Mod(rest, tiles)) * int64_t{size});
    rest = ir::FloorDiv(rest, tiles);
  }
  return place;
}

BoxPlace PositionIn(ir::KernelBuilder& b, const GpuContraction& g, const RowBox& box,
                    const BoxPlace& first, const ExprRef& row) {
  BoxPlace position;
  ExprRef rest = row;
  for (int i = g.part_count - 1; i >= 0; --i) {
    const auto part = static_cast<size_t>(i);
    const int64_t size = box.sizes[part];
    position[part] = b.Let("at", first[part] + (i == 0 ? rest : ir::Mod(rest, size)));
    rest = ir::FloorDiv(rest, size);
  }
  return position;
}

ExprRef PositionInside(const GpuContraction& g, const RowBox& box, const BoxPlace& position) {
  ExprRef inside;
  for (int i = 0; i < g.part_count; ++i) {
    const auto part = static_cast<size_t>(i);
    const int64_t extent = Part(g, i).extent;
    if (extent % box.sizes[part] == 0 && !(i == 0 && box.past)) continue;
    inside = And(inside, Less(position[part], extent));
  }
  return inside;
}

}  // namespace mlc::schedule
