// Places in the index space of a value, as vectors of points, and the change of their coordinates
// by reshaping and broadcasting. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ir/build.h"

namespace mlc::schedule {

// A point, or `lanes` consecutive points along logical dimension `dim`, of a value's index space.
// A vector starts at a multiple of `lanes` along `dim`, unless `step` says otherwise.
struct Point {
  std::vector<ir::ExprRef> at;  // one i64 per logical dimension; the first lane's coordinates
  int dim = -1;                 // vectorised dimension; -1 for a scalar
  int lanes = 1;
  ir::ExprRef active;  // number of lanes inside the shape; null when all are
  // The distance of the lanes' coordinates; 0 is a distance of 1 with any start. Anything but 1
  // requires a value without data movement.
  int64_t step = 1;
};

// One coordinate of a vector of points: base + step * lane; base is a multiple of `align` (0: the
// base is zero).
struct Coord {
  ir::ExprRef base;
  int64_t step = 0;
  int64_t align = 1;
};

struct Place {
  std::vector<Coord> at;
  int lanes = 1;
  ir::ExprRef active;
  bool Uniform() const;
};
using PlaceRef = std::shared_ptr<const Place>;

PlaceRef PlaceOf(const graph::TensorType& type, const Point& point);
PlaceRef Broadcasted(const PlaceRef& place, const std::vector<int64_t>& dims);
// base / size and base % size; false if a vector would straddle a multiple of size.
bool Split(ir::KernelBuilder& builder, const Coord& linear, int64_t size, int lanes,
           Coord* quotient, Coord* rest);
// False if a vector cannot be formed.
bool Reshape(ir::KernelBuilder& builder, const Place& from, const std::vector<int64_t>& from_dims,
             const std::vector<int64_t>& to_dims, Place* to);

}  // namespace mlc::schedule
