#include "compiler/schedule/cuda/tile/gpu_tile_output.h"

#include <algorithm>
#include <functional>
#include <map>

namespace mlc::schedule {

using graph::Op;
using graph::TensorType;
using ir::ExprRef;
using ir::Int;

TileOutput::TileOutput(const graph::Workload& workload, const GpuContraction& g,
                       const TileOutputShape& shape, Fused& fused, ir::KernelBuilder& b)
    : workload_(workload), g_(g), shape_(shape), fused_(fused), b_(b) {
  const TensorType& type = workload.graph()[workload.outputs()[0]].type;
  const std::vector<int64_t> strides = type.EffectiveStrides();
  const auto column = static_cast<size_t>(g.p.column_dim);
  const auto row = static_cast<size_t>(g.parts[static_cast<size_t>(g.part_count - 1)].dim);
  along_rows_ = strides[column] != 1 && strides[row] == 1 && g.m > 1;
  flat_rows_ = RowsAreFlat();
  lanes_ = Lanes();
  if (shape.cluster) {
    peers_ = b.Registers("peers", shape.sum, lanes_, int64_t{shape.ends} * shape.split);
  } else if (shape.split > 1) {
    parts_ = b.Workspace("parts", shape.sum,
                         shape.tiles * shape.split * shape.bm * shape.bn * shape.ends);
    arrivals_ = b.Counter("arrivals", shape.tiles);
  }
}

// True if in every value of the epilogue the row dimensions are one run in memory.
bool TileOutput::RowsAreFlat() const {
  if (g_.part_count < 2 || g_.p.flattened) return false;
  const graph::Graph& graph = workload_.graph();
  const auto users = graph.Users();
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    const bool stored = std::count(workload_.outputs().begin(), workload_.outputs().end(), id) > 0;
    const bool source = graph[id].op == Op::kInput || graph[id].op == Op::kWeight;
    const auto& readers = users[static_cast<size_t>(id)];
    const bool anchor_only = std::all_of(readers.begin(), readers.end(),
                                         [&](graph::ValueId r) { return r == g_.p.anchor; });
    if (!stored && (!source || anchor_only)) continue;
    const TensorType& type = graph[id].type;
    const std::vector<int64_t> strides = type.EffectiveStrides();
    const int shift = g_.p.rank - type.rank();
    const auto extent = [&](const RowPart& part) {
      return part.dim < shift ? 1 : type.dims[static_cast<size_t>(part.dim - shift)];
    };
    const auto stride = [&](const RowPart& part) {
      return extent(part) == 1 ? 0 : strides[static_cast<size_t>(part.dim - shift)];
    };
    const RowPart& last = g_.parts[static_cast<size_t>(g_.part_count - 1)];
    int64_t run = last.extent;
    for (int i = g_.part_count - 2; i >= 0; --i) {
      const RowPart& part = g_.parts[static_cast<size_t>(i)];
      // The innermost coordinate stands for all: its own dimension must not be broadcast alone.
      if (part.extent > 1 && stride(part) != run * stride(last)) return false;
      if (part.extent > 1 && extent(last) == 1 && last.extent > 1) {
        if (extent(part) != 1) return false;
      }
      if (last.extent == 1) return false;
      run *= part.extent;
    }
  }
  return true;
}

// Columns that one access may take: 16 bytes of the widest value.
int TileOutput::Lanes() const {
  if (along_rows_) return 1;
  const graph::Graph& graph = workload_.graph();
  int widest = 1;
  const auto see = [&](graph::ValueId id) {
    widest = std::max(widest, SizeOf(graph[id].type.dtype));
  };
  for (graph::ValueId id : workload_.outputs()) see(id);
  for (graph::ValueId id : workload_.operands()) see(id);
  for (int lanes = 16 / widest; lanes > 1; lanes /= 2) {
    bool fits = g_.n % lanes == 0 && shape_.bn % lanes == 0 &&
                graph[g_.p.ends[0]].type.dims[static_cast<size_t>(g_.p.column_dim)] != 1;
    for (size_t i = 0; fits && i < workload_.outputs().size(); ++i) {
      const graph::ValueId id = workload_.outputs()[i];
      const std::vector<int64_t> strides = graph[id].type.EffectiveStrides();
      fits = strides[static_cast<size_t>(g_.p.column_dim)] == 1 &&
             Fused::Vectorises(workload_, id, g_.p.column_dim, lanes, g_.p.Ends());
    }
    if (fits) return lanes;
  }
  return 1;
}

void TileOutput::ForRuns(const Place& place, int shares,
                         const std::function<void(const Run&)>& body) {
  const int64_t per_row = shape_.bn / lanes_;
  const int64_t total = per_row * shape_.bm;
  const int64_t share = (total + shares - 1) / shares;
  const auto one = [&](const ExprRef& in_share) {
    const ExprRef index = shares == 1 ? in_share : b_.Let("run_at", place.part * share + in_share);
    Run run;
    if (along_rows_) {
      run.row = b_.Let("row_in", ir::Mod(index, shape_.bm));
      run.column = b_.Let("column_in", ir::FloorDiv(index, shape_.bm));
    } else {
      run.row = b_.Let("row_in", ir::FloorDiv(index, per_row));
      run.column = b_.Let("column_in", ir::Mod(index, per_row) * lanes_);
    }
    run.index = index;
    ExprRef inside = RowInside(place, run.row, shape_.bm);
    if (g_.n % shape_.bn != 0) inside = And(inside, Less(place.n + run.column, g_.n));
    if (share % shape_.threads != 0) inside = And(inside, Less(in_share, share));
    if (share * shares != total) inside = And(inside, Less(index, total));
    if (inside) {
      b_.If(inside, [&] { body(run); });
    } else {
      body(run);
    }
  };
  const int64_t count = (share + shape_.threads - 1) / shape_.threads;
  const int64_t unroll = count % 2 == 0 ? 2 : 1;
  b_.For("run", count / unroll, [&](const ExprRef& i) {
    for (int64_t u = 0; u < unroll; ++u) {
      one(b_.Let("index", i * (unroll * shape_.threads) + (u * shape_.threads) + place.thread));
    }
  });
}

ExprRef TileOutput::SumAt(const Place& place, const Run& run) {
  const ExprRef at = run.row * shape_.pitch + run.column;
  return b_.Let("at", place.sums_at ? place.sums_at + at : at);
}

ExprRef TileOutput::Sum(ir::BufferId sums, const ExprRef& at, int end) {
  ExprRef sum;
  for (int s = 0; s < shape_.slices; ++s) {
    const int64_t offset = s * (shape_.bm * shape_.pitch) + int64_t{end} * shape_.bn;
    const ExprRef value = b_.Load(sums, at + offset, lanes_);
    sum = sum ? ir::MakeApply(ScalarOp::kAdd, {sum, value}) : value;
  }
  return sum;
}

ExprRef TileOutput::PartAt(const Place& place, const ExprRef& part, const Run& run, int end) const {
  const int64_t tile = int64_t{shape_.bm} * shape_.bn;
  return (place.tile * int64_t{shape_.split} + part) * tile + run.index * int64_t{lanes_} +
         end * shape_.tiles * shape_.split * tile;
}

Point TileOutput::PointAt(const Place& place, const ExprRef& row, const ExprRef& column,
                          int lanes) {
  Point point;
  point.at = place.batch.coords;
  ExprRef rest = b_.Let("m", place.m + row);
  if (shape_.box.IsBox()) {
    const BoxPlace position = PositionIn(b_, g_, shape_.box, place.first, rest);
    for (int i = 0; i < g_.part_count; ++i) {
      const RowPart& part = g_.parts[static_cast<size_t>(i)];
      point.at[static_cast<size_t>(part.dim)] = position[static_cast<size_t>(i)];
    }
  } else if (flat_rows_) {
    point.at[static_cast<size_t>(g_.parts[static_cast<size_t>(g_.part_count - 1)].dim)] = rest;
  } else {
    for (int i = g_.part_count - 1; i >= 0; --i) {
      const RowPart& part = g_.parts[static_cast<size_t>(i)];
      point.at[static_cast<size_t>(part.dim)] =
          i == 0 ? rest : b_.Let("at", ir::Mod(rest, part.extent));
      rest = ir::FloorDiv(rest, part.extent);
    }
  }
  point.at[static_cast<size_t>(g_.p.column_dim)] =
      b_.Let("n", place.batch.group_column + place.n + column);
  if (lanes > 1) {
    point.dim = g_.p.column_dim;
    point.lanes = lanes;
  }
  return point;
}

ExprRef TileOutput::RowInside(const Place& place, const ExprRef& row, int64_t granule) {
  if (!shape_.box.IsBox()) {
    return g_.m % granule == 0 ? nullptr : Less(place.m + row, g_.m);
  }
  const BoxPlace position =
      PositionIn(b_, g_, shape_.box, place.first, b_.Let("box_row", place.m + row));
  return PositionInside(g_, shape_.box, position);
}

void TileOutput::StoreRun(const Place& place, const Run& run, const std::vector<ExprRef>& values) {
  std::map<graph::ValueId, ExprRef> bound;
  for (size_t i = 0; i < values.size(); ++i) bound[g_.p.ends[i]] = values[i];
  fused_.StoreOutputs(PointAt(place, run.row, run.column, lanes_), bound);
}

// All parts of a run are under way before the first is added. The barrier at the end keeps a
// block's memory until the others have read it.
void TileOutput::StoreShare(ir::BufferId sums, const Place& place) {
  if (shape_.slices > 1) {
    ForRuns(place, 1, [&](const Run& run) {
      const ExprRef at = SumAt(place, run);
      for (int end = 0; end < shape_.ends; ++end) {
        b_.Store(sums, SumAt(place, run) + int64_t{end} * shape_.bn, Sum(sums, at, end));
      }
    });
  }
  b_.ClusterBarrier();
  ForRuns(place, shape_.split, [&](const Run& run) {
    const ExprRef at = SumAt(place, run);
    const auto peer = [&](int end, int s) { return Int(int64_t{end} * shape_.split + s); };
    for (int end = 0; end < shape_.ends; ++end) {
      for (int s = 0; s < shape_.split; ++s) {
        b_.LoadPeer(peers_, peer(end, s), sums, at + int64_t{end} * shape_.bn, Int(s));
      }
    }
    std::vector<ExprRef> values;
    for (int end = 0; end < shape_.ends; ++end) {
      ExprRef sum = b_.Get(peers_, peer(end, 0));
      for (int s = 1; s < shape_.split; ++s) {
        sum = ir::MakeApply(ScalarOp::kAdd, {sum, b_.Get(peers_, peer(end, s))});
      }
      values.push_back(sum);
    }
    StoreRun(place, run, values);
  });
  b_.ClusterBarrier();
}

void TileOutput::Store(ir::BufferId sums, const Place& place) {
  if (shape_.cluster) return StoreShare(sums, place);
  const auto all = [&](const std::function<ExprRef(int)>& value) {
    std::vector<ExprRef> values;
    for (int end = 0; end < shape_.ends; ++end) values.push_back(value(end));
    return values;
  };
  if (shape_.split == 1) {
    ForRuns(place, 1, [&](const Run& run) {
      const ExprRef at = SumAt(place, run);
      StoreRun(place, run, all([&](int end) { return Sum(sums, at, end); }));
    });
    return;
  }
  ForRuns(place, 1, [&](const Run& run) {
    const ExprRef at = SumAt(place, run);
    for (int end = 0; end < shape_.ends; ++end) {
      b_.Store(parts_, PartAt(place, place.part, run, end), Sum(sums, at, end));
    }
  });
  const ExprRef last = b_.Arrive("last", arrivals_, place.tile, shape_.split);
  b_.If(ir::MakeApply(ScalarOp::kEqual, {last, Int(1)}), [&] {
    ForRuns(place, 1, [&](const Run& run) {
      StoreRun(place, run, all([&](int end) {
                 ExprRef sum;
                 for (int s = 0; s < shape_.split; ++s) {
                   const ExprRef value =
                       b_.Load(parts_, b_.Let("part_at", PartAt(place, Int(s), run, end)), lanes_);
                   sum = sum ? ir::MakeApply(ScalarOp::kAdd, {sum, value}) : value;
                 }
                 return sum;
               }));
    });
  });
}

}  // namespace mlc::schedule
