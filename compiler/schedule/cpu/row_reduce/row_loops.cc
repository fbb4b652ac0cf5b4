#include "compiler/schedule/cpu/row_reduce/row_loops.h"

#include <algorithm>

#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule {

using ir::ExprRef;

void RowLoops::ForEachRow(const std::string& name, int64_t parts, const RowBody& body) {
  const int64_t rows = frame_.problem.Rows();
  const int64_t width = frame_.Width();
  const int64_t whole = frame_.problem.inner ? 1 : frame_.problem.Columns() / width;
  const int64_t rest = frame_.problem.inner ? 0 : frame_.problem.Columns() % width;
  const int64_t blocks = frame_.Blocks();
  const int64_t chunks = (rows + frame_.knobs.row_block - 1) / frame_.knobs.row_block;
  frame_.builder.Parallel(name, chunks * blocks * parts, [&](const ExprRef& p) {
    frame_.part = parts == 1 ? ir::Int(0) : frame_.builder.Let("part", ir::Mod(p, parts));
    const ExprRef at = parts == 1 ? p : frame_.builder.Let("at", ir::FloorDiv(p, parts));
    const ExprRef chunk = frame_.builder.Let("k", ir::FloorDiv(at, blocks));
    const ExprRef block = frame_.builder.Let("b", ir::Mod(at, blocks));
    const auto [first, last] = RowsOf(chunk);
    frame_.builder.For("row", first, last, 1, [&](const ExprRef& row) {
      SetRows(row);
      const ExprRef place = row * blocks + block;
      if (frame_.problem.inner) return body(place, frame_.part);
      frame_.column = block * width;
      const auto tail = [&] {
        frame_.column = ir::Int(whole * width);
        frame_.used = static_cast<int>((rest + frame_.lanes - 1) / frame_.lanes);
        frame_.tail = rest % frame_.lanes;
        body(place, frame_.part);
      };
      const auto full = [&] {
        frame_.used = frame_.chains;
        frame_.tail = 0;
        body(place, frame_.part);
      };
      if (rest == 0) return full();
      if (whole == 0) return tail();
      frame_.builder.If(Do(ScalarOp::kLess, block, ir::Int(whole)), full, tail);
    });
  });
}

std::pair<ExprRef, ExprRef> RowLoops::RowsOf(const ExprRef& chunk) {
  const int64_t rows = frame_.problem.Rows();
  const ExprRef first = frame_.builder.Let("r0", chunk * frame_.knobs.row_block);
  const ExprRef last = first + frame_.knobs.row_block;
  return {first, rows % frame_.knobs.row_block == 0 ? last : ir::Min(last, ir::Int(rows))};
}

void RowLoops::ForEachRowPipelined(const std::string& name, const std::function<void()>& prologue,
                                   const std::function<void()>& steady,
                                   const std::function<void()>& epilogue) {
  const int64_t chunks =
      (frame_.problem.Rows() + frame_.knobs.row_block - 1) / frame_.knobs.row_block;
  frame_.builder.Parallel(name, chunks, [&](const ExprRef& p) {
    const auto [begin, end] = RowsOf(p);
    SetRows(begin);
    prologue();
    frame_.builder.For("row", begin + 1, end, 1, [&](const ExprRef& row) {
      SetRows(row);
      SetPreviousRow(row - 1);
      steady();
    });
    SetPreviousRow(end - 1);
    epilogue();
  });
}

// This row, and the one that is prefetched meanwhile.
void RowLoops::SetRows(const ExprRef& row) {
  frame_.at.assign(frame_.problem.dims.size(), ir::Int(0));
  SetRow(frame_.builder, row, frame_.problem.kept, frame_.problem.dims, frame_.at);
  if (frame_.knobs.prefetch == PrefetchRows::kNever) return;
  frame_.prefetch_at = frame_.at;
  const ExprRef last = ir::Int(frame_.problem.Rows() - 1);
  SetRow(frame_.builder, frame_.builder.Let("nx", ir::Min(row + PrefetchDistance(), last)),
         frame_.problem.kept, frame_.problem.dims, frame_.prefetch_at);
}

void RowLoops::SetPreviousRow(const ExprRef& row) {
  frame_.previous_at.assign(frame_.problem.dims.size(), ir::Int(0));
  SetRow(frame_.builder, row, frame_.problem.kept, frame_.problem.dims, frame_.previous_at);
}

// Where this part of `units` begins; for the next part, where it ends.
ExprRef RowLoops::Cut(const ExprRef& part, int64_t units) {
  return ir::FloorDiv(part * units, frame_.knobs.parts);
}
void RowLoops::ForPart(const std::string& name, int64_t units, bool is_cut,
                       const std::function<void(const ExprRef&)>& body) {
  if (!is_cut || frame_.knobs.parts == 1) return frame_.builder.For(name, units, body);
  const ExprRef begin = frame_.builder.Let(name + "0", Cut(frame_.part, units));
  const ExprRef end = frame_.builder.Let(name + "1", Cut(frame_.part + 1, units));
  frame_.builder.For(name, begin, end, 1, body);
}

// The prefetch distance in rows. Short rows end before memory answers: some KB.
int64_t RowLoops::PrefetchDistance() const {
  constexpr int64_t kPrefetchBytes = 4096;
  const int64_t row =
      frame_.problem.Reduced() * frame_.problem.Columns() * SizeOf(frame_.problem.dtype);
  return std::max<int64_t>(1, kPrefetchBytes / std::max<int64_t>(1, row));
}

void RowLoops::Sweep(const Body& body) {
  ForPart("r", frame_.problem.Reduced(), !CutsColumns(frame_.problem, frame_.chains),
          [&](const ExprRef& r) {
            std::vector<ExprRef> at = frame_.at;
            SetRow(frame_.builder, r, frame_.problem.reduced, frame_.problem.dims, at);
            if (frame_.problem.column < 0) {
              body({Point{at, -1, 1, nullptr}, ir::Int(0), r, nullptr});
            } else if (frame_.problem.inner) {
              SweepReduced(at, r, body);
            } else {
              SweepKept(at, r, body);
            }
          });
}

void RowLoops::SweepKept(std::vector<ExprRef> at, const ExprRef& r, const Body& body) {
  for (int j = 0; j < frame_.used; ++j) {
    at[static_cast<size_t>(frame_.problem.column)] = frame_.column + int64_t{j} * frame_.lanes;
    const bool masked = j + 1 == frame_.used && frame_.tail != 0;
    Point point{at, frame_.problem.column, frame_.lanes, masked ? ir::Int(frame_.tail) : nullptr};
    body({point, ir::Int(j),
          r * (int64_t{frame_.chains} * frame_.lanes) + int64_t{j} * frame_.lanes, nullptr});
  }
}

void RowLoops::SweepReduced(std::vector<ExprRef> at, const ExprRef& r, const Body& body) {
  const int64_t columns = frame_.problem.Columns();
  const int64_t step = int64_t{frame_.chains} * frame_.lanes;
  ExprRef& c = at[static_cast<size_t>(frame_.problem.column)];
  const bool registers = frame_.knobs.storage == RowStorage::kRegisters;
  const auto visit = [&](const ExprRef& chain, const ExprRef& slot, const ExprRef& half,
                         int64_t active) {
    Point point{at, frame_.problem.column, frame_.lanes, active == 0 ? nullptr : ir::Int(active)};
    body({point, chain, slot, half});
  };
  int64_t done = 0;
  if (!registers) {
    done = columns / step * step;
    ForPart("v", columns / step, CutsColumns(frame_.problem, frame_.chains), [&](const ExprRef& v) {
      frame_.builder.Unrolled("j", frame_.chains, [&](const ExprRef& j) {
        c = v * step + j * frame_.lanes;
        visit(j, r * frame_.padded + c, v * (step / 2) + j * (frame_.lanes / 2), 0);
      });
    });
  }
  const auto rest = [&] {
    for (int j = 0; done < columns; done += frame_.lanes, j = (j + 1) % frame_.chains) {
      c = ir::Int(done);
      const ExprRef slot = registers ? ir::Int(done / frame_.lanes) : r * frame_.padded + done;
      visit(ir::Int(j), slot, ir::Int(done / 2),
            columns - done < frame_.lanes ? columns - done : 0);
    }
  };
  if (frame_.knobs.parts == 1 || !CutsColumns(frame_.problem, frame_.chains)) return rest();
  // The last part's.
  if (done < columns) {
    frame_.builder.If(Do(ScalarOp::kLess, ir::Int(frame_.knobs.parts - 2), frame_.part), rest);
  }
}

}  // namespace mlc::schedule
