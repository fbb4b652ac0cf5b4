#include "compiler/schedule/cpu/contraction/contraction_tiles.h"

#include <algorithm>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

RowTiles::RowTiles(const ContractionProblem& problem, int inner_rows, int outer_rows,
                   ir::KernelBuilder& builder, bool segments, int64_t parts)
    : p_(problem),
      builder_(builder),
      outer_rows_(outer_rows),
      inner_tiles_(TileCount(problem.inner, inner_rows)),
      units_(problem.outer[1].dim >= 0 ? TileCount(problem.outer[1], outer_rows) : inner_tiles_),
      parts_(parts),
      inner_(MakeSegments(problem.inner, inner_rows)) {
  if (outer_rows > 1 || (segments && problem.outer[1].dim >= 0))
    outer_ = MakeSegments(problem.outer[1], outer_rows);
}

// Each about half as large as the one before. One is the last tile of all rows: a larger one would
// go beyond them.
void RowTiles::EndAtLimit(int least) {
  const int largest = inner_.front().rows;
  const auto last = static_cast<int>(p_.inner.out % largest);
  for (int rows = largest; rows > 0;) {
    ends_.push_back({0, inner_tiles_, rows, 0, {{0, 1, 0, rows}}});
    const int half = (rows + 1) / 2 < rows && (rows + 1) / 2 >= least ? (rows + 1) / 2 : 0;
    rows = last < rows ? std::max(half, last) : half;
  }
}

int RowTiles::MaxRows() const {
  int rows = 0;
  for (const TileSegment& s : inner_) rows = std::max(rows, s.rows);
  return rows * outer_rows_;
}

void RowTiles::ForSegments(const std::vector<TileSegment>& segments, const ExprRef& begin,
                           const ExprRef& end, const SegmentBody& body,
                           const std::optional<ir::RowShare>& share) {
  for (const TileSegment& segment : segments) {
    builder_.For(
        "t", ir::Max(begin, Int(segment.begin)), ir::Min(end, Int(segment.end)), 1,
        [&](const ExprRef& t) {
          const auto* var = std::get_if<ir::VarRef>(&t->node);
          if (p_.outer[1].dim < 0 && (var != nullptr || share)) {
            row_loops_.push_back({var == nullptr ? -1 : var->var, segment.rows, segment.origin,
                                  share, segment.begin, segment.end, parts_});
          }
          body(segment, builder_.Let("at", t * segment.rows + segment.origin));
        });
  }
}

void RowTiles::ForEnds(const ExprRef& begin, const ExprRef& end, const SegmentBody& body,
                       const std::optional<ir::RowShare>& share) {
  const int64_t rows = ends_.front().rows;
  for (size_t i = 0; i < ends_.size(); ++i) {
    const int64_t above = i + 1 < ends_.size() ? ends_[i + 1].rows : 0;
    const int64_t most = i > 0 ? ends_[i].rows : 0;
    builder_.For("t", begin, end, 1, [&](const ExprRef& t) {
      const ir::VarId var = std::get<ir::VarRef>(t->node).var;
      row_loops_.push_back(
          {var, rows, 0, share, 0, inner_tiles_, parts_, above, most, p_.inner.out});
      body(ends_[i], builder_.Let("at", t * rows));
    });
  }
}

void RowTiles::ForEach(const ExprRef& chunk, int64_t chunks,
                       const std::function<void(const RowTile&)>& body) {
  const ExprRef begin = ir::FloorDiv(chunk * units_, chunks);
  const ExprRef end = ir::FloorDiv((chunk + 1) * units_, chunks);
  const auto across = [&](const TileSegment* outer, const ExprRef& outer_at) {
    ForSegments(inner_, Int(0), Int(inner_tiles_),
                [&](const TileSegment& inner, const ExprRef& at) {
                  body({outer, &inner, outer_at, at});
                });
  };
  if (p_.outer[1].dim < 0) {
    const auto share =
        chunks == 1 ? std::nullopt : std::optional<ir::RowShare>({chunk, chunks, units_});
    const auto along = [&](const TileSegment& inner, const ExprRef& at) {
      body({nullptr, &inner, Int(0), at});
    };
    if (ends_.empty()) return ForSegments(inner_, begin, end, along, share);
    // A loop of one iteration would be none.
    ForEnds(begin, chunks == 1 ? Int(std::max<int64_t>(units_, 2)) : end, along, share);
  } else if (!outer_.empty()) {
    ForSegments(outer_, begin, end,
                [&](const TileSegment& outer, const ExprRef& at) { across(&outer, at); });
  } else {
    builder_.For("h", begin, end, 1, [&](const ExprRef& h) { across(nullptr, h); });
  }
}

OuterTaps RowTiles::Clamped(const RowAxis& axis, const ExprRef& at) const {
  if (axis.Trivial()) return {Int(0), Int(1), 0, 1};
  // Input at * stride - pad + tap * dilation lies in [0, in).
  const ExprRef before = Int(axis.pad) - at * axis.stride;
  const ExprRef low = ir::FloorDiv(before + (axis.dilation - 1), axis.dilation);
  const ExprRef high = ir::FloorDiv(before + (axis.in - 1), axis.dilation) + 1;
  return {ir::Max(Int(0), low), ir::Min(Int(axis.taps), high), 0, 1};
}

void RowTiles::ForDepthTaps(const ExprRef& depth_at,
                            const std::function<void(const ExprRef&)>& body) {
  const OuterTaps depth = Clamped(p_.outer[0], depth_at);
  builder_.For("kd", depth.begin, depth.end, 1, body);
}

void RowTiles::ForOuterTaps(
    const RowTile& tile, const ExprRef& depth_at,
    const std::function<void(const ExprRef&, const ExprRef&, const OuterTaps&)>& body) {
  ForDepthTaps(depth_at, [&](const ExprRef& d) {
    const auto each = [&](const OuterTaps& taps) {
      builder_.For("kh", taps.begin, taps.end, 1, [&](const ExprRef& h) { body(d, h, taps); });
    };
    if (!tile.outer) {
      each(Clamped(p_.outer[1], tile.outer_at));
      return;
    }
    for (const TapRun& run : tile.outer->runs) {
      each({Int(run.tap_begin), Int(run.tap_end), run.row_begin, run.row_end});
    }
  });
}

ExprRef RowTiles::Base(const RowTile& tile, const ExprRef& depth_at) const {
  const RowAxis& depth = p_.outer[0];
  const RowAxis& height = p_.outer[1];
  return (depth_at * depth.stride - depth.pad) * depth.row_stride +
         (tile.outer_at * height.stride - height.pad) * height.row_stride +
         (tile.inner_at * p_.inner.stride - p_.inner.pad) * p_.inner.row_stride;
}

}  // namespace mlc::schedule
