#include "compiler/ir/verify_scope.h"

#include <set>
#include <string_view>

namespace mlc::ir {

bool RunsToConstant(const For& loop) {
  return loop.step == 1 && IsConstantIndex(loop.begin) && IsConstantIndex(loop.end) &&
         std::get<IntImm>(loop.begin->node).value == 0;
}

Status VerifyScope::CheckBuffer(BufferId id) const {
  if (id < 0 || static_cast<size_t>(id) >= kernel_.buffers.size()) return Bad("unknown buffer");
  return {};
}

Status VerifyScope::CheckNames() const {
  if (!IsName(kernel_.name)) return Bad("the name is not [a-z_][a-z0-9_]*");
  std::set<std::string_view> seen;
  bool scratch = false;
  for (const Buffer& buffer : kernel_.buffers) {
    const bool is_param = buffer.scope == Scope::kIn || buffer.scope == Scope::kOut;
    const std::string what = "buffer '" + buffer.name + "'";
    if (!IsName(buffer.name)) return Bad(what + " has no valid name");
    if (!seen.insert(buffer.name).second) return Bad(what + " is declared twice");
    if (is_param && scratch) return Bad(what + " is a parameter after scratch buffers");
    if (buffer.size < 0 || buffer.size > kMaxBufferSize) return Bad(what + " has a bad size");
    if (!IsLanes(buffer.lanes) || (buffer.lanes > 1 && buffer.scope != Scope::kRegister)) {
      return Bad(what + " has bad lanes");
    }
    scratch |= !is_param;
  }
  for (const std::string& var : kernel_.vars) {
    if (!IsName(var)) return Bad("variable '" + var + "' has no valid name");
    if (!seen.insert(var).second) return Bad("variable '" + var + "' is declared twice");
  }
  return {};
}

Status VerifyScope::Bind(VarId var, Binding binding) {
  if (var < 0 || static_cast<size_t>(var) >= state_.size()) return Bad("unknown variable");
  Binding& state = state_[static_cast<size_t>(var)];
  if (state != Binding::kUnbound) return Bad("variable '" + VarName(var) + "' is bound twice");
  state = binding;
  bound_.push_back(var);
  return {};
}

Result<VerifyScope::Binding> VerifyScope::Find(VarId var) const {
  if (var < 0 || static_cast<size_t>(var) >= state_.size()) return Bad("unknown variable");
  const Binding binding = state_[static_cast<size_t>(var)];
  if (binding != Binding::kDynamic && binding != Binding::kStatic) {
    return Bad("variable '" + VarName(var) + "' is used outside its scope");
  }
  return binding;
}

void VerifyScope::CloseTo(size_t mark) {
  for (; bound_.size() > mark; bound_.pop_back()) {
    state_[static_cast<size_t>(bound_.back())] = Binding::kClosed;
  }
}

}  // namespace mlc::ir
