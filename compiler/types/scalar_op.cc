#include "compiler/types/scalar_op.h"

#include <string>

namespace mlc {

Result<ScalarOp> ParseScalarOp(std::string_view name) {
  for (const ScalarOpInfo& row : scalar::kRows) {
    if (row.name == name) return row.op;
  }
  return InvalidArgument("unknown scalar operator '" + std::string(name) + "'");
}

}  // namespace mlc
