// The rules of expressions, and of places in buffers. Not thread-safe; borrows the scope.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/verify_scope.h"

namespace mlc::ir {

class ExpressionVerifier {
 public:
  explicit ExpressionVerifier(const VerifyScope& scope) : scope_(scope) {}

  // Clear *is_static unless the value is known once unrolled loops are expanded.
  Status CheckExpr(const ExprRef& e, int depth, bool* is_static = nullptr) const;
  // An i64 scalar.
  Status CheckIndex(const ExprRef& e, const std::string& what, int depth,
                    bool* is_static = nullptr) const;
  Status CheckAccess(const Buffer& buffer, const ExprRef& index, int lanes, int64_t stride,
                     const ExprRef& mask, int depth) const;
  // A register buffer with an index known once unrolled loops are expanded.
  Status CheckRegister(BufferId id, const ExprRef& index, int depth) const;

 private:
  Status Check(const Type& type, const IntImm& constant, int depth, bool* is_static) const;
  Status Check(const Type& type, const FloatImm& constant, int depth, bool* is_static) const;
  Status Check(const Type& type, const VarRef& ref, int depth, bool* is_static) const;
  Status Check(const Type& type, const Load& load, int depth, bool* is_static) const;
  Status Check(const Type& type, const Apply& apply, int depth, bool* is_static) const;
  Status Check(const Type& type, const Cast& cast, int depth, bool* is_static) const;
  Status Check(const Type& type, const Broadcast& broadcast, int depth, bool* is_static) const;
  Status Check(const Type& type, const ReduceLanes& reduce, int depth, bool* is_static) const;
  Status Check(const Type& type, const LaneMask& mask, int depth, bool* is_static) const;
  Status Check(const Type& type, const LaneIndex& index, int depth, bool* is_static) const;
  Status Check(const Type& type, const ShuffleXor& shuffle, int depth, bool* is_static) const;
  Status CheckVector(const Type& type, const ShuffleXor& shuffle, int depth) const;

  const VerifyScope& scope_;
};

}  // namespace mlc::ir
