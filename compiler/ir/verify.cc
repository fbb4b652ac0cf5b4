#include <set>
#include <string>
#include <vector>

#include "compiler/base/check.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), state_(kernel.vars.size(), Binding::kUnbound) {}

  Status Run() {
    MLC_TRY(CheckNames());
    for (const StmtRef& phase : kernel_.phases) {
      const For* loop = std::get_if<For>(&phase->node);
      if (loop == nullptr || loop->kind != LoopKind::kParallel) {
        return Bad("a phase is no parallel loop");
      }
      if (loop->step != 1 || !IsConstant(loop->begin) || !IsConstant(loop->end) ||
          std::get<IntImm>(loop->begin->node).value != 0) {
        return Bad("phase '" + VarName(loop->var) + "' does not run from 0 to a constant");
      }
      MLC_TRY(CheckLoop(*loop, 0));
    }
    return {};
  }

 private:
  // kDynamic and kStatic (known once unrolled loops are expanded) are in scope; kClosed has been.
  enum class Binding : uint8_t { kUnbound, kDynamic, kStatic, kClosed };

  Status Bad(const std::string& what) const {
    return InvalidArgument("kernel '" + kernel_.name + "': " + what);
  }
  const Buffer& BufferOf(BufferId id) const { return kernel_.buffers[static_cast<size_t>(id)]; }
  const std::string& VarName(VarId id) const { return kernel_.vars[static_cast<size_t>(id)]; }
  static bool IsConstant(const ExprRef& e) {
    return IsIndex(e) && std::holds_alternative<IntImm>(e->node);
  }

  Status CheckNames() const {
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

  Status Bind(VarId var, Binding binding) {
    if (var < 0 || static_cast<size_t>(var) >= state_.size()) return Bad("unknown variable");
    Binding& state = state_[static_cast<size_t>(var)];
    if (state != Binding::kUnbound) return Bad("variable '" + VarName(var) + "' is bound twice");
    state = binding;
    bound_.push_back(var);
    return {};
  }
  void CloseTo(size_t mark) {
    for (; bound_.size() > mark; bound_.pop_back()) {
      state_[static_cast<size_t>(bound_.back())] = Binding::kClosed;
    }
  }

  Status CheckBody(const StmtRef& body, int depth) {
    if (body == nullptr) return Bad("a loop or branch without body");
    if (depth > kMaxDepth) return Bad("nested too deeply");
    const size_t mark = bound_.size();
    MLC_TRY(CheckStmt(*body, depth));
    CloseTo(mark);
    return {};
  }

  Status CheckStmt(const Stmt& stmt, int depth) {
    if (const Block* block = std::get_if<Block>(&stmt.node)) {
      if (depth > kMaxDepth) return Bad("nested too deeply");
      for (const StmtRef& s : block->body) {
        if (s == nullptr) return Bad("an empty statement");
        MLC_TRY(CheckStmt(*s, depth + 1));
      }
      return {};
    }
    if (const For* loop = std::get_if<For>(&stmt.node)) {
      if (loop->kind == LoopKind::kParallel) {
        return Bad("parallel loop '" + VarName(loop->var) + "' is nested");
      }
      return CheckLoop(*loop, depth);
    }
    if (const If* branch = std::get_if<If>(&stmt.node)) return CheckIf(*branch, depth);
    if (const Let* let = std::get_if<Let>(&stmt.node)) {
      bool is_static = true;
      MLC_TRY(CheckIndex(let->value, "value of a let", depth, &is_static));
      return Bind(let->var, is_static ? Binding::kStatic : Binding::kDynamic);
    }
    if (const Store* store = std::get_if<Store>(&stmt.node)) return CheckStore(*store, depth);
    const Prefetch* prefetch_node = std::get_if<Prefetch>(&stmt.node);
    if (prefetch_node == nullptr) return Bad("a GPU statement in a kernel without threads");
    const Prefetch& prefetch = *prefetch_node;
    MLC_TRY(CheckBuffer(prefetch.buffer));
    const Buffer& buffer = BufferOf(prefetch.buffer);
    if (buffer.scope == Scope::kRegister || prefetch.level < 1 || prefetch.level > 2) {
      return Bad("prefetch of '" + buffer.name + "' is not from memory to level 1 or 2");
    }
    return CheckIndex(prefetch.index, "index of '" + buffer.name + "'", depth);
  }

  Status CheckLoop(const For& loop, int depth) {
    bool is_static = true;
    MLC_TRY(CheckIndex(loop.begin, "begin of a loop", depth, &is_static));
    MLC_TRY(CheckIndex(loop.end, "end of a loop", depth, &is_static));
    const size_t mark = bound_.size();
    const bool unrolled = loop.kind == LoopKind::kUnrolled;
    MLC_TRY(Bind(loop.var, unrolled ? Binding::kStatic : Binding::kDynamic));
    if (loop.step < 1) return Bad("loop '" + VarName(loop.var) + "' has a step below 1");
    if (unrolled && !is_static) {
      return Bad("unrolled loop '" + VarName(loop.var) + "' has bounds that are not constant");
    }
    MLC_TRY(CheckBody(loop.body, depth + 1));
    CloseTo(mark);
    return {};
  }

  Status CheckIf(const If& branch, int depth) {
    MLC_TRY(CheckExpr(branch.condition, depth));
    if (branch.condition->type != Type{DType::kBool, 1}) return Bad("a condition is no bool");
    MLC_TRY(CheckBody(branch.then_body, depth + 1));
    if (branch.else_body == nullptr) return {};
    return CheckBody(branch.else_body, depth + 1);
  }

  Status CheckStore(const Store& store, int depth) {
    MLC_TRY(CheckBuffer(store.buffer));
    const Buffer& buffer = BufferOf(store.buffer);
    if (buffer.scope == Scope::kIn) return Bad("store to input '" + buffer.name + "'");
    MLC_TRY(CheckExpr(store.value, depth));
    if (store.value->type.dtype != buffer.dtype) {
      return Bad("store of " + std::string(ToText(store.value->type.dtype)) + " to '" +
                 buffer.name + "'");
    }
    return CheckAccess(buffer, store.index, store.value->type.lanes, store.stride, store.mask,
                       depth);
  }

  Status CheckBuffer(BufferId id) const {
    if (id < 0 || static_cast<size_t>(id) >= kernel_.buffers.size()) return Bad("unknown buffer");
    return {};
  }

  Status CheckAccess(const Buffer& buffer, const ExprRef& index, int lanes, int64_t stride,
                     const ExprRef& mask, int depth) {
    bool is_static = true;
    MLC_TRY(CheckIndex(index, "index of '" + buffer.name + "'", depth, &is_static));
    if (mask != nullptr) MLC_TRY(CheckIndex(mask, "mask of '" + buffer.name + "'", depth));
    if (stride < -kMaxBufferSize || stride > kMaxBufferSize) {
      return Bad("stride of '" + buffer.name + "' is out of range");
    }
    if (buffer.scope != Scope::kRegister) return {};
    if (!is_static) return Bad("register '" + buffer.name + "' has an index that is not constant");
    if (lanes != buffer.lanes || stride != 1 || mask != nullptr) {
      return Bad("register '" + buffer.name + "' is not accessed whole");
    }
    return {};
  }

  // An i64 scalar. Clears *is_static unless the value is known once unrolled loops are expanded.
  Status CheckIndex(const ExprRef& e, const std::string& what, int depth,
                    bool* is_static = nullptr) {
    MLC_TRY(CheckExpr(e, depth, is_static));
    if (!IsIndex(e)) return Bad(what + " is no i64 scalar");
    return {};
  }

  Status CheckExpr(const ExprRef& e, int depth, bool* is_static = nullptr) {
    if (e == nullptr) return Bad("a missing expression");
    if (depth > kMaxDepth) return Bad("nested too deeply");
    if (!IsLanes(e->type.lanes)) return Bad("lanes out of range");
    return std::visit([&](const auto& node) { return Check(e->type, node, depth, is_static); },
                      e->node);
  }

  Status Expect(bool condition, const char* what) const { return condition ? Status() : Bad(what); }

  Status Check(const Type& type, const IntImm& constant, int, bool*) {
    return Expect(!IsFloat(type.dtype) && type.lanes == 1 &&
                      WrapTo(type.dtype, constant.value) == constant.value,
                  "an integer constant does not fit its type");
  }
  Status Check(const Type& type, const FloatImm& constant, int, bool*) {
    return Expect(IsFloat(type.dtype) && type.lanes == 1 &&
                      (RoundTo(type.dtype, constant.value) == constant.value ||
                       constant.value != constant.value),
                  "a float constant does not fit its type");
  }
  Status Check(const Type& type, const VarRef& ref, int, bool* is_static) {
    if (ref.var < 0 || static_cast<size_t>(ref.var) >= state_.size()) {
      return Bad("unknown variable");
    }
    const Binding binding = state_[static_cast<size_t>(ref.var)];
    if (binding != Binding::kDynamic && binding != Binding::kStatic) {
      return Bad("variable '" + VarName(ref.var) + "' is used outside its scope");
    }
    if (is_static != nullptr) *is_static &= binding == Binding::kStatic;
    return Expect(type == Type{DType::kI64, 1}, "a variable is no i64 scalar");
  }
  Status Check(const Type& type, const Load& load, int depth, bool* is_static) {
    MLC_TRY(CheckBuffer(load.buffer));
    const Buffer& buffer = BufferOf(load.buffer);
    if (is_static != nullptr) *is_static = false;
    if (type.dtype != buffer.dtype) return Bad("load of '" + buffer.name + "' as another type");
    return CheckAccess(buffer, load.index, type.lanes, load.stride, load.mask, depth + 1);
  }
  Status Check(const Type& type, const Apply& apply, int depth, bool* is_static) {
    for (const ExprRef& arg : apply.args) MLC_TRY(CheckExpr(arg, depth + 1, is_static));
    const Result<Type> result = TypeOfApply(apply.op, apply.args);
    if (!result.ok()) return Bad(result.status().message());
    return Expect(type == *result, "an operator has the wrong type");
  }
  Status Check(const Type& type, const Cast& cast, int depth, bool* is_static) {
    MLC_TRY(CheckExpr(cast.value, depth + 1, is_static));
    return Expect(type.lanes == cast.value->type.lanes, "a cast changes lanes");
  }
  Status Check(const Type& type, const Broadcast& broadcast, int depth, bool*) {
    MLC_TRY(CheckExpr(broadcast.value, depth + 1));
    return Expect(broadcast.value->type == Type{type.dtype, 1}, "a broadcast is not of a scalar");
  }
  Status Check(const Type& type, const ReduceLanes& reduce, int depth, bool* is_static) {
    MLC_TRY(CheckExpr(reduce.value, depth + 1, is_static));
    const Result<Type> result = TypeOfReduce(reduce.op, reduce.value);
    if (!result.ok()) return Bad(result.status().message());
    return Expect(type == *result, "a reduction has the wrong type");
  }
  Status Check(const Type& type, const LaneMask& mask, int depth, bool*) {
    MLC_TRY(CheckIndex(mask.active, "active lanes", depth + 1));
    return Expect(type.dtype == DType::kBool, "a lane mask is no bool");
  }
  Status Check(const Type&, const ShuffleXor&, int, bool*) {
    return Bad("a GPU expression in a kernel without threads");
  }
  Status Check(const Type& type, const LaneIndex&, int, bool*) {
    return Expect(type.dtype != DType::kBool, "a lane index is a bool");
  }

  const Kernel& kernel_;
  std::vector<Binding> state_;
  std::vector<VarId> bound_;
};

}  // namespace

Status Kernel::Verify() const { return Verifier(*this).Run(); }

}  // namespace mlc::ir
