#include "compiler/schedule/fusion/fused_place.h"

#include <algorithm>
#include <numeric>

namespace mlc::schedule {

using graph::TensorType;
using ir::ExprRef;

bool Place::Uniform() const {
  return std::all_of(at.begin(), at.end(), [](const Coord& c) { return c.step == 0; });
}

PlaceRef PlaceOf(const TensorType& type, const Point& point) {
  auto place = std::make_shared<Place>();
  place->lanes = point.lanes;
  place->active = point.active;
  for (size_t d = 0; d < type.dims.size(); ++d) {
    const bool along = static_cast<int>(d) == point.dim && point.lanes > 1;
    if (type.dims[d] == 1) {
      place->at.push_back({ir::Int(0), 0, 0});
    } else {
      int64_t constant = 0;
      const bool known = ir::IsConstInt(point.at[d], &constant);
      const int64_t step = point.step == 0 ? 1 : point.step;
      const int64_t align = known ? constant : along && point.step == 1 ? point.lanes : 1;
      place->at.push_back({point.at[d], along ? step : 0, align});
    }
  }
  return place;
}

PlaceRef Broadcasted(const PlaceRef& place, const std::vector<int64_t>& dims) {
  const size_t rank = place->at.size();
  bool same = dims.size() == rank;
  for (size_t d = 0; same && d < rank; ++d) {
    same = dims[d] != 1 || (place->at[d].step == 0 && place->at[d].align == 0);
  }
  if (same) return place;
  auto result = std::make_shared<Place>();
  result->lanes = place->lanes;
  result->active = place->active;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Coord& from = place->at[rank - dims.size() + d];
    result->at.push_back(dims[d] == 1 ? Coord{ir::Int(0), 0, 0} : from);
  }
  return result;
}

bool Split(ir::KernelBuilder& builder, const Coord& linear, int64_t size, int lanes,
           Coord* quotient, Coord* rest) {
  if (size == 1) {
    *quotient = linear;
    *rest = {ir::Int(0), 0, 0};
    return true;
  }
  const auto divided = [&](const ExprRef& value) {
    return builder.Let("q", ir::FloorDiv(value, size));
  };
  const auto remaining = [&](const ExprRef& value) {
    return builder.Let("r", ir::Mod(value, size));
  };
  const int64_t align = std::gcd(linear.align, size);
  const int64_t rest_align = align == size ? 0 : align;
  const int64_t quotient_align = linear.align % size == 0 ? linear.align / size : 1;
  if (lanes == 1 || linear.step == 0) {
    *quotient = {divided(linear.base), 0, quotient_align};
    *rest = {remaining(linear.base), 0, rest_align};
    return true;
  }
  if (linear.step % size == 0) {
    *quotient = {divided(linear.base), linear.step / size, quotient_align};
    *rest = {remaining(linear.base), 0, rest_align};
    return true;
  }
  const int64_t span = linear.step * lanes;
  if (span > 0 && size % span == 0 && linear.align % span == 0) {
    *quotient = {divided(linear.base), 0, quotient_align};
    *rest = {remaining(linear.base), linear.step, rest_align};
    return true;
  }
  return false;
}

bool Reshape(ir::KernelBuilder& builder, const Place& from, const std::vector<int64_t>& from_dims,
             const std::vector<int64_t>& to_dims, Place* to) {
  to->lanes = from.lanes;
  to->active = from.active;
  to->at.assign(to_dims.size(), Coord{ir::Int(0), 0, 0});
  size_t i = 0;
  size_t j = 0;
  while (i < from_dims.size() || j < to_dims.size()) {
    // The smallest groups of dimensions with equal numbers of elements.
    const size_t first_from = i;
    const size_t first_to = j;
    int64_t from_size = i < from_dims.size() ? from_dims[i++] : 1;
    int64_t to_size = j < to_dims.size() ? to_dims[j++] : 1;
    while (from_size != to_size) {
      if (from_size < to_size) {
        from_size *= from_dims[i++];
      } else {
        to_size *= to_dims[j++];
      }
    }
    Coord linear{ir::Int(0), 0, 0};
    int64_t stride = from_size;
    for (size_t d = first_from; d < i; ++d) {
      stride /= from_dims[d];
      if (from_dims[d] == 1) continue;
      linear.base = linear.base + from.at[d].base * stride;
      linear.step += from.at[d].step * stride;
      linear.align = std::gcd(linear.align, from.at[d].align * stride);
    }
    // The leading dimension that is not 1 takes what is left: it needs no remainder.
    size_t lead = first_to;
    while (lead + 1 < j && to_dims[lead] == 1) ++lead;
    for (size_t d = j; d-- > lead + 1;) {
      Coord quotient;
      if (!Split(builder, linear, to_dims[d], from.lanes, &quotient, &to->at[d])) return false;
      linear = quotient;
    }
    if (lead < j && to_dims[lead] != 1) to->at[lead] = linear;
  }
  return true;
}

}  // namespace mlc::schedule
