#include "compiler/codegen/cuda/tensor_maps.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace mlc::codegen {

namespace {

constexpr int kRowBytes = 128;

// The driver's numbers differ from those of the instructions that make maps on the device.
int32_t TypeOf(DType dtype) {
  if (SizeOf(dtype) == 1) return MLC_TENSOR_MAP_U8;
  return dtype == DType::kF16    ? MLC_TENSOR_MAP_F16
         : dtype == DType::kBF16 ? MLC_TENSOR_MAP_BF16
                                 : MLC_TENSOR_MAP_F32;
}

bool Same(const mlc_tensor_map& a, const mlc_tensor_map& b) {
  static_assert(std::has_unique_object_representations_v<mlc_tensor_map>);
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

}  // namespace

bool CopiesTensors(const ir::Stmt& stmt) {
  if (const auto* block = std::get_if<ir::Block>(&stmt.node)) {
    return std::any_of(block->body.begin(), block->body.end(),
                       [](const ir::StmtRef& s) { return CopiesTensors(*s); });
  }
  if (const auto* loop = std::get_if<ir::For>(&stmt.node)) return CopiesTensors(*loop->body);
  if (const auto* branch = std::get_if<ir::If>(&stmt.node)) {
    return CopiesTensors(*branch->then_body) ||
           (branch->else_body != nullptr && CopiesTensors(*branch->else_body));
  }
  return std::holds_alternative<ir::CopyTensor>(stmt.node);
}

TensorMaps::TensorMaps(const ir::Kernel& kernel, const MemoryLayout& scratch) {
  const int32_t scratch_argument = kernel.NumParams();
  int32_t parameters = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const ir::Buffer& buffer = kernel.buffers[i];
    const bool is_parameter = buffer.scope == ir::Scope::kIn || buffer.scope == ir::Scope::kOut;
    places_.push_back(is_parameter ? Place{parameters++, 0, buffer.dtype}
                                   : Place{scratch_argument,
                                           std::max<int64_t>(scratch.offset[i], 0), buffer.dtype});
  }
  for (const ir::StmtRef& phase : kernel.phases) Collect(*phase);
}

std::string TensorMaps::NameOf(const ir::CopyTensor& copy) const {
  const size_t number = NumberOf(MapOf(copy));
  MLC_CHECK(number < maps_.size()) << "a copy of another kernel";
  return Name(number);
}

std::string TensorMaps::Name(size_t number) { return "Map" + std::to_string(number); }

mlc_tensor_map TensorMaps::MapOf(const ir::CopyTensor& copy) const {
  const Place& place = places_[static_cast<size_t>(copy.from)];
  const int size = SizeOf(place.dtype);
  mlc_tensor_map map = {};
  map.argument = place.argument;
  map.type = TypeOf(place.dtype);
  map.byte_offset = place.byte_offset;
  map.swizzle = MLC_TENSOR_MAP_SWIZZLE_128;
  map.promotion = MLC_TENSOR_MAP_NO_PROMOTION;
  map.sizes[0] = copy.depth;
  map.boxes[0] = kRowBytes / size;
  map.rank = 1;
  const auto add = [&](int64_t extent, int64_t pitch, int box, int step) {
    map.sizes[map.rank] = extent;
    map.pitches[map.rank - 1] = pitch * size;
    map.steps[map.rank - 1] = std::max(step, 1);
    map.boxes[map.rank] = (box - 1) * std::max(step, 1) + 1;
    ++map.rank;
  };
  add(copy.rows, copy.pitch, copy.box, copy.step);
  MLC_CHECK(copy.outer.size() + 2 <= size_t{MLC_TENSOR_MAP_MAX_RANK}) << "verified";
  for (const ir::BoxAxis& axis : copy.outer) add(axis.extent, axis.pitch, axis.box, axis.step);
  return map;
}

size_t TensorMaps::NumberOf(const mlc_tensor_map& map) const {
  const auto found = std::find_if(maps_.begin(), maps_.end(),
                                  [&](const mlc_tensor_map& other) { return Same(other, map); });
  return static_cast<size_t>(found - maps_.begin());
}

void TensorMaps::Collect(const ir::Stmt& stmt) {
  if (const auto* block = std::get_if<ir::Block>(&stmt.node)) {
    for (const ir::StmtRef& s : block->body) Collect(*s);
  } else if (const auto* loop = std::get_if<ir::For>(&stmt.node)) {
    Collect(*loop->body);
  } else if (const auto* branch = std::get_if<ir::If>(&stmt.node)) {
    Collect(*branch->then_body);
    if (branch->else_body != nullptr) Collect(*branch->else_body);
  } else if (const auto* copy = std::get_if<ir::CopyTensor>(&stmt.node)) {
    const mlc_tensor_map map = MapOf(*copy);
    if (NumberOf(map) == maps_.size()) maps_.push_back(map);
  }
}

}  // namespace mlc::codegen
