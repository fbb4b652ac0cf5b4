#include "compiler/codegen/cuda/tensor_maps.h"

#include <algorithm>

namespace mlc::codegen {

namespace {

bool SameMap(const ir::CopyTensor& a, const ir::CopyTensor& b) {
  return a.from == b.from && a.box == b.box && a.rows == b.rows && a.depth == b.depth &&
         a.pitch == b.pitch;
}

void Collect(const ir::Stmt& stmt, std::vector<const ir::CopyTensor*>& maps) {
  if (const auto* block = std::get_if<ir::Block>(&stmt.node)) {
    for (const ir::StmtRef& s : block->body) Collect(*s, maps);
  } else if (const auto* loop = std::get_if<ir::For>(&stmt.node)) {
    Collect(*loop->body, maps);
  } else if (const auto* branch = std::get_if<ir::If>(&stmt.node)) {
    Collect(*branch->then_body, maps);
    if (branch->else_body != nullptr) Collect(*branch->else_body, maps);
  } else if (const auto* copy = std::get_if<ir::CopyTensor>(&stmt.node)) {
    if (NumberOf(maps, *copy) == maps.size()) maps.push_back(copy);
  }
}

}  // namespace

std::vector<const ir::CopyTensor*> TensorMapsOf(const ir::Stmt& phase) {
  std::vector<const ir::CopyTensor*> maps;
  Collect(phase, maps);
  return maps;
}

size_t NumberOf(const std::vector<const ir::CopyTensor*>& maps, const ir::CopyTensor& copy) {
  const auto found = std::find_if(maps.begin(), maps.end(),
                                  [&](const ir::CopyTensor* m) { return SameMap(*m, copy); });
  return static_cast<size_t>(found - maps.begin());
}

int64_t TensorMapBytes(const ir::For& phase) {
  const auto* blocks = std::get_if<ir::IntImm>(&phase.end->node);
  const auto count = static_cast<int64_t>(TensorMapsOf(*phase.body).size());
  return blocks == nullptr ? 0 : count * blocks->value * kTensorMapBytes;
}

int TensorMapType(DType dtype) {
  if (IsFloat8(dtype)) return 0;  // as bytes
  return dtype == DType::kF16 ? 6 : dtype == DType::kBF16 ? 10 : 7;
}

}  // namespace mlc::codegen
