#include "compiler/schedule/fusion/fused_rows.h"

#include <utility>

namespace mlc::schedule {

void SetRow(ir::KernelBuilder& builder, ir::ExprRef row, const std::vector<int>& order,
            const std::vector<int64_t>& dims, std::vector<ir::ExprRef>& at) {
  std::vector<size_t> wide;
  for (int d : order) {
    const size_t k = static_cast<size_t>(d);
    at[k] = ir::Int(0);
    if (dims[k] != 1) wide.push_back(k);
  }
  for (size_t i = wide.size(); i-- > 1;) {
    const int64_t size = dims[wide[i]];
    at[wide[i]] = builder.Let("o", ir::Mod(row, size));
    row = builder.Let("w", ir::FloorDiv(row, size));
  }
  if (!wide.empty()) at[wide[0]] = std::move(row);
}

int64_t RowCount(const std::vector<int>& order, const std::vector<int64_t>& dims) {
  int64_t rows = 1;
  for (int d : order) rows *= dims[static_cast<size_t>(d)];
  return rows;
}

bool CanStream(const graph::TensorType& type, int column, int lanes, const target::Target& target,
               int64_t offset) {
  if (column < 0 || lanes * SizeOf(type.dtype) * 8 != target.cpu().vector_bits()) return false;
  if (offset % lanes != 0) return false;
  const std::vector<int64_t> strides = type.EffectiveStrides();
  for (int d = 0; d < type.rank(); ++d) {
    const size_t k = static_cast<size_t>(d);
    if (d == column ? strides[k] != 1 : type.dims[k] != 1 && strides[k] % lanes != 0) return false;
  }
  return true;
}

}  // namespace mlc::schedule
