#include "tests/unit/ir/async_products.h"

#include <utility>

namespace mlc::ir {
namespace {

constexpr int kRows = 64;       // of a block
constexpr double kOutside = 9;  // lies between the rows of a matrix, where no copy reads

double RowValue(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
double ColumnValue(int column, int k) { return (column * 5 + k) % 7 - 3; }

std::string Number(int64_t value) { return std::to_string(value); }

// A matrix of `count` rows by depth, `pitch` apart, or, packed, tiles of `tile` rows in the order
// of steps, as they lie in shared memory.
std::vector<double> Operand(const AsyncProduct& p, bool matrix, int count, int tile,
                            double (*value)(int, int)) {
  const auto depth = static_cast<size_t>(p.step());
  std::vector<double> values;
  if (matrix) {
    values.assign(static_cast<size_t>(count) * static_cast<size_t>(p.pitch), kOutside);
  } else {
    const auto tiles = static_cast<size_t>((count + tile - 1) / tile * p.steps());
    values.assign(tiles * static_cast<size_t>(tile) * depth, 0);
  }
  const size_t piece = depth / 8;
  for (int row = 0; row < count; ++row) {
    for (int k = 0; k < p.depth; ++k) {
      const auto r = static_cast<size_t>(row % tile), d = static_cast<size_t>(k) % depth;
      const auto number = static_cast<size_t>(row / tile * p.steps() + k / p.step());
      const size_t place = number * static_cast<size_t>(tile) * depth + r * depth +
                           ((d / piece) ^ (r % 8)) * piece + d % piece;
      const size_t at =
          static_cast<size_t>(row) * static_cast<size_t>(p.pitch) + static_cast<size_t>(k);
      values[matrix ? at : place] = value(row, k);
    }
  }
  return values;
}

// The copy of one operand's step i into stage q, or of the part of `rank` to every block.
std::string Copy(const AsyncProduct& p, bool matrix, const char* to, const char* from, int count,
                 int tile, const std::string& first_row, const std::string& first_step,
                 int parts = 1) {
  const std::string all = Number(int64_t{tile} * p.step());
  const std::string elements = Number(int64_t{tile / parts} * p.step());
  if (parts > 1) {
    const std::string ranks = " ranks " + Number((1 << parts) - 1) + "\n";
    const std::string place =
        std::string(to) + "[add(mul(q, " + all + "), mul(rank, " + elements + "))] = " + from;
    if (!matrix) {
      return "copy_bulk " + place + "[add(mul(add(" + first_step + ", i), " + all +
             "), mul(rank, " + elements + "))] elements=" + elements + " signals full[q]" + ranks;
    }
    return "copy_tensor " + place + "[add(" + first_row + ", mul(rank, " + Number(tile / parts) +
           "))] along mul(i, " + Number(p.step()) + ") box=" + Number(tile / parts) + " of " +
           Number(count) + " by " + Number(p.depth) + " pitch " + Number(p.pitch) +
           " signals full[q]" + ranks;
  }
  const std::string place = std::string(to) + "[mul(q, " + elements + ")] = " + from;
  if (!matrix) {
    return "copy_bulk " + place + "[mul(add(" + first_step + ", i), " + elements +
           ")] elements=" + elements + " signals full[q]\n";
  }
  if (p.boxes && *from == 'a') {
    const std::string pitch = Number(p.pitch);
    return "copy_tensor " + place + "[sub(0, 1)] along mul(i, " + Number(p.step()) +
           ") box=2 of 4 by " + Number(p.depth) + " pitch " + pitch +
           " step=2 over sub(0, 1) box=8 of 5 pitch " + Number(int64_t{4} * p.pitch) +
           " over 0 box=4 of 3 pitch " + Number(int64_t{20} * p.pitch) +
           " step=2 signals full[q]\n";
  }
  return "copy_tensor " + place + "[" + first_row + "] along mul(i, " + Number(p.step()) +
         ") box=" + Number(tile) + " of " + Number(count) + " by " + Number(p.depth) + " pitch " +
         Number(p.pitch) + " signals full[q]\n";
}

std::string Declarations(const AsyncProduct& p) {
  const std::string stages = Number(p.stages);
  const auto buffer = [&](const char* scope, const char* name, size_t size) {
    const bool rows = *name == 'a' || *name == 'x';
    return std::string(scope) + " " + name + ": " +
           std::string(ToText(rows ? p.dtype : p.of_columns())) + "[" + std::to_string(size) + "] ";
  };
  const auto stage = [&](int tile) { return static_cast<size_t>(p.stages * tile * p.step()); };
  return "kernel k { " + buffer("in", "a", p.Rows().size()) +
         buffer("in", "b", p.Columns().size()) + "out c: f32[" +
         Number(int64_t{p.blocks} * kRows * p.columns) + "]\n" +
         buffer("block", "x", stage(kRows)) + buffer("block", "y", stage(p.columns)) +
         "mbarrier full: i64[" + stages + "] mbarrier empty: i64[" + stages +
         "]\nthread h: f32[4] reg z: f32x4[" + Number(p.columns / 8) + "]\n";
}

// Of a warp at the free stage s, of each block that may fill it.
std::string Arrival(const AsyncProduct& p) {
  if (p.cluster == 1) return "if equal(mod(t, 32), 0) { mbarrier_arrive empty[s] }";
  return "if less(mod(t, 32), " + Number(p.cluster) +
         ") { mbarrier_arrive empty[s] of mod(t, 32) }";
}

// A warpgroup multiplies, and stores its fragments.
std::string Multiplies(const AsyncProduct& p) {
  const std::string fragments = Number(p.columns / 8), stages = Number(p.stages);
  return "unrolled for j in 0 .. " + fragments + " { z[j] = broadcast(f32(0.0), 4) }\n" +
         "for k in 0 .. " + Number(p.steps()) + " { let s = mod(k, " + stages + ")\n" +
         "mbarrier_wait full[s] parity mod(div(k, " + stages + "), 2)\n" +
         "warpgroup_mma z[0] += x[mul(s, " + Number(kRows * p.step()) + ")] * y[mul(s, " +
         Number(p.columns * p.step()) + ")] columns=" + Number(p.columns) + "\nwait_products 0\n" +
         Arrival(p) + " }\n" +
         "let r = add(mul(p, 64), add(mul(div(t, 32), 16), div(mod(t, 32), 4)))\n" +
         "unrolled for g in 0 .. " + fragments + " { h[0] = z[g]\n" + "let to = add(mul(r, " +
         Number(p.columns) + "), add(mul(g, 8), mul(mod(t, 4), 2)))\n" +
         "c[to] = h[0, lanes=2] c[add(to, " + Number(8 * p.columns) + ")] = h[2, lanes=2] }\n";
}

// A thread copies, each stage once it is free.
std::string Copies(const AsyncProduct& p) {
  const std::string stages = Number(p.stages), steps = Number(p.steps());
  return "make_tensor_maps\nif equal(t, 128) { for i in 0 .. " + steps + " { let q = mod(i, " +
         stages + ")\nmbarrier_wait empty[q] parity mod(add(div(i, " + stages + "), 1), 2)\n" +
         "mbarrier_arrive full[q] bytes=" + Number((kRows + p.columns) * 128) + "\n" +
         Copy(p, p.tensor_rows, "x", "a", p.rows, kRows, "mul(p, 64)", "mul(p, " + steps + ")") +
         Copy(p, p.tensor_columns, "y", "b", p.columns, p.columns, "0", "0", p.cluster) + "} }\n";
}

}  // namespace

int AsyncProduct::SourceOf(int row) const {
  if (!boxes) return row < rows ? row : -1;
  const int in = row % 2 * 2 - 1, middle = row / 2 % 8 - 1, out = row / 16 * 2;
  const bool inside = in >= 0 && in < 4 && middle >= 0 && middle < 5 && out < 3;
  return inside ? (out * 5 + middle) * 4 + in : -1;
}

std::string AsyncProduct::Text() const {
  std::string begin;
  for (int stage = 0; stage < stages; ++stage) {
    begin += "mbarrier_init full[" + Number(stage) + "] of 1 mbarrier_init empty[" + Number(stage) +
             "] of " + Number(4 * cluster) + "\n";
  }
  std::string head = " { threads for t in 0 .. 160", end = "} } } }";
  if (cluster > 1) {
    head += " cluster " + Number(cluster);
    begin += "cluster_barrier\nlet rank = mod(p, " + Number(cluster) + ")\n";
    end = "}\nwarp_barrier\ncluster_barrier\n} } }";
  }
  return Declarations(*this) + "parallel for p in 0 .. " + Number(blocks) + head + " {\n" + begin +
         "await_inputs\nroles if less(t, 128) {\n" + Multiplies(*this) + "} else {\n" +
         Copies(*this) + end;
}

std::vector<double> AsyncProduct::Rows() const {
  return Operand(*this, tensor_rows, rows, kRows, RowValue);
}

std::vector<double> AsyncProduct::Columns() const {
  return Operand(*this, tensor_columns, columns, columns, ColumnValue);
}

std::vector<double> AsyncProduct::Results() const {
  std::vector<double> results;
  for (int row = 0; row < blocks * kRows; ++row) {
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      const int source = SourceOf(row);
      for (int k = 0; source >= 0 && k < depth; ++k)
        sum += RowValue(source, k) * ColumnValue(column, k);
      results.push_back(sum);
    }
  }
  return results;
}

std::vector<AsyncProduct> AsyncProducts() {
  return {
      {.name = "bulk_f16", .tensor_rows = false},
      {.name = "tensor_f16"},
      {.name = "two_maps_f16", .tensor_columns = true},
      {.name = "boxes_f16", .boxes = true},
      {.name = "boxes_f32", .dtype = DType::kF32, .depth = 100, .pitch = 104, .boxes = true},
      {.name = "blocks_f16",
       .blocks = 3,
       .rows = 150,
       .columns = 32,
       .depth = 520,
       .pitch = 520,
       .stages = 3},
      {.name = "packed_blocks_f16",
       .tensor_rows = false,
       .tensor_columns = true,
       .blocks = 2,
       .rows = 128,
       .columns = 256,
       .depth = 256,
       .pitch = 256},
      {.name = "tensor_bf16", .dtype = DType::kBF16},
      {.name = "two_maps_bf16",
       .dtype = DType::kBF16,
       .tensor_columns = true,
       .blocks = 2,
       .rows = 100,
       .columns = 64},
      {.name = "tensor_f32", .dtype = DType::kF32},
      {.name = "two_maps_f32",
       .dtype = DType::kF32,
       .tensor_columns = true,
       .columns = 48,
       .stages = 4},
      {.name = "tensor_e4m3", .dtype = DType::kF8E4M3Fn},
      {.name = "two_maps_e5m2",
       .dtype = DType::kF8E5M2,
       .tensor_columns = true,
       .columns = 40,
       .depth = 400,
       .pitch = 400,
       .stages = 3},
      {.name = "bulk_e4m3_e5m2",
       .dtype = DType::kF8E4M3Fn,
       .columns_dtype = DType::kF8E5M2,
       .tensor_rows = false,
       .blocks = 2,
       .rows = 100,
       .columns = 256,
       .depth = 300},
      {.name = "two_maps_e5m2_e4m3",
       .dtype = DType::kF8E5M2,
       .columns_dtype = DType::kF8E4M3Fn,
       .tensor_columns = true},
      {.name = "cluster_f16",
       .blocks = 4,
       .rows = 240,
       .depth = 520,
       .pitch = 520,
       .stages = 3,
       .cluster = 2},
      {.name = "cluster_two_maps_bf16",
       .dtype = DType::kBF16,
       .tensor_columns = true,
       .blocks = 4,
       .rows = 200,
       .columns = 64,
       .cluster = 4},
      {.name = "cluster_f32",
       .dtype = DType::kF32,
       .tensor_columns = true,
       .blocks = 2,
       .rows = 128,
       .columns = 32,
       .cluster = 2},
  };
}

}  // namespace mlc::ir
