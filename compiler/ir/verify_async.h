// The rules of mbarriers and of the copies that arrive at them. Not thread-safe; borrows the scope
// and the expressions.
#pragma once

#include <string>

#include "compiler/ir/verify_expr.h"
#include "compiler/ir/verify_scope.h"

namespace mlc::ir {

class AsyncVerifier {
 public:
  AsyncVerifier(const VerifyScope& scope, const ExpressionVerifier& expressions)
      : scope_(scope), expressions_(expressions) {}

  Status Check(const MbarrierInit& init, int depth) const;
  Status Check(const MbarrierArrive& arrive, int depth) const;
  Status Check(const MbarrierWait& wait, int depth) const;
  Status Check(const CopyBulk& copy, int depth) const;
  Status Check(const CopyTensor& copy, int depth) const;

 private:
  Status CheckMbarrier(BufferId id, const ExprRef& index, int depth) const;
  Status CheckBox(const CopyTensor& copy, const std::string& what) const;
  Status CheckTile(BufferId to, BufferId from, const ExprRef& to_index, int depth) const;

  const VerifyScope& scope_;
  const ExpressionVerifier& expressions_;
};

}  // namespace mlc::ir
