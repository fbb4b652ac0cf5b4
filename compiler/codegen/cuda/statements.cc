// Statements other than those of warps.
#include <algorithm>

#include "compiler/codegen/cuda/phase_printer.h"

namespace mlc::codegen {

namespace {

bool HasLoad(const ir::Expr& e) {
  if (std::holds_alternative<ir::Load>(e.node)) return true;
  if (const auto* cast = std::get_if<ir::Cast>(&e.node)) return HasLoad(*cast->value);
  const auto* apply = std::get_if<ir::Apply>(&e.node);
  return apply != nullptr && std::any_of(apply->args.begin(), apply->args.end(),
                                         [](const ir::ExprRef& arg) { return HasLoad(*arg); });
}

// Has the family said how this loop's body is to be expanded?
bool HasShape(const ir::Stmt& stmt) {
  if (const auto* block = std::get_if<ir::Block>(&stmt.node)) {
    return std::any_of(block->body.begin(), block->body.end(),
                       [](const ir::StmtRef& s) { return HasShape(*s); });
  }
  if (const auto* loop = std::get_if<ir::For>(&stmt.node)) {
    return loop->kind == ir::LoopKind::kUnrolled || HasShape(*loop->body);
  }
  if (const auto* branch = std::get_if<ir::If>(&stmt.node)) {
    return HasShape(*branch->then_body) ||
           (branch->else_body != nullptr && HasShape(*branch->else_body));
  }
  return std::holds_alternative<ir::Sync>(stmt.node) ||
         std::holds_alternative<ir::Mma>(stmt.node) ||
         std::holds_alternative<ir::WarpgroupMma>(stmt.node);
}

}  // namespace

void PhasePrinter::Print(const ir::Stmt& stmt) {
  std::visit([this](const auto& node) { Do(node); }, stmt.node);
}

void PhasePrinter::Begin(std::initializer_list<ir::ExprRef> expressions) {
  uses_.clear();
  ready_.clear();
  lane_ready_.clear();
  raw_.clear();
  for (const ir::ExprRef& e : expressions) CountUses(e);
}

void PhasePrinter::CountUses(const ir::ExprRef& e) {
  if (e == nullptr || ++uses_[e.get()] > 1) return;
  if (const auto* load = std::get_if<ir::Load>(&e->node)) {
    CountUses(load->index);
    CountUses(load->mask);
  } else if (const auto* apply = std::get_if<ir::Apply>(&e->node)) {
    for (const ir::ExprRef& arg : apply->args) CountUses(arg);
  } else if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
    CountUses(cast->value);
  } else if (const auto* broadcast = std::get_if<ir::Broadcast>(&e->node)) {
    CountUses(broadcast->value);
  } else if (const auto* reduce = std::get_if<ir::ReduceLanes>(&e->node)) {
    CountUses(reduce->value);
  } else if (const auto* mask = std::get_if<ir::LaneMask>(&e->node)) {
    CountUses(mask->active);
  } else if (const auto* shuffle = std::get_if<ir::ShuffleXor>(&e->node)) {
    CountUses(shuffle->value);
  }
}

void PhasePrinter::Do(const ir::Block& block) {
  for (const ir::StmtRef& stmt : block.body) Print(*stmt);
}

void PhasePrinter::Do(const ir::For& loop) {
  Begin({loop.begin, loop.end});
  const Text begin = Scalar(loop.begin);
  Text end = Scalar(loop.end);
  if (HasLoad(*loop.end)) end = Temporary(TypeOf(loop.end), end);
  analysis_.BindLoop(loop);
  IndexFacts facts = analysis_.OfVar(loop.var);
  if (facts.FitsInt() && facts.high > INT32_MAX - loop.step) {
    facts.high = int64_t{INT32_MAX} + loop.step;  // the last step leaves 32 bits
    analysis_.Bind(loop.var, facts);
  }
  if (loop.kind == ir::LoopKind::kUnrolled) {
    Line("#pragma unroll");
  } else if (HasShape(*loop.body)) {
    Line("#pragma unroll 1");
  }
  const std::string& name = VarName(loop.var);
  const std::string step = loop.step == 1 ? "++" + name : name + " += " + std::to_string(loop.step);
  Open("for (" + std::string(IndexType(facts)) + " " + name + " = " + begin.text + "; " + name +
       " < " + end.At(Precedence::kShift) + "; " + step + ")");
  Print(*loop.body);
  Close();
}

void PhasePrinter::Do(const ir::If& branch) {
  Begin({branch.condition});
  Open("if (" + Scalar(branch.condition).text + ")");
  Print(*branch.then_body);
  if (branch.else_body != nullptr) {
    --depth_;
    Open("} else");
    Print(*branch.else_body);
  }
  Close();
}

void PhasePrinter::Do(const ir::Let& let) {
  Begin({let.value});
  const Text value = Scalar(let.value);
  analysis_.Bind(let.var, analysis_.Of(let.value));
  Line("const " + std::string(TypeOf(let.value)) + " " + VarName(let.var) + " = " + value.text +
       ";");
}

void PhasePrinter::Do(const ir::Store& store) {
  Begin({store.index, store.value, store.mask});
  if (BufferOf(store.buffer).scope == ir::Scope::kRegister) {
    StoreRegister(store);
  } else if (store.value->type.lanes == 1) {
    StoreScalar(store);
  } else {
    StoreVector(store);
  }
}

void PhasePrinter::StoreRegister(const ir::Store& store) {
  const ir::Buffer& buffer = BufferOf(store.buffer);
  const std::string& name = NameOf(store.buffer);
  if (buffer.lanes == 1) {
    const Text value = StorageOf(store.value);
    Line(name + "[" + Scalar(store.index).text + "] = " + value.text + ";");
    return;
  }
  PrepareLanes(store.value);
  const Text first = RegisterBase(buffer, store.index);
  if (RepOf(buffer.dtype, buffer.lanes).words) {
    PackWords(store.value, name, first);
    return;
  }
  LaneLoop(0, buffer.lanes, [&] {
    const Text value = ToStorage(buffer.dtype, Lane(store.value));
    const std::string at = Infix(first, "+", Text{"L"}, Precedence::kAdd).text;
    return name + "[" + (first.text == "0" ? "L" : at) + "] = " + value.text + ";";
  });
}

void PhasePrinter::StoreScalar(const ir::Store& store) {
  const Text value = StorageOf(store.value);
  const Text index = Scalar(store.index);
  const std::string place = NameOf(store.buffer) + "[" + index.text + "]";
  std::string line;
  if (store.mask != nullptr) line = "if (" + Scalar(store.mask).At(Precedence::kShift) + " > 0) ";
  const bool global = BufferOf(store.buffer).scope != ir::Scope::kSharedMemory &&
                      BufferOf(store.buffer).scope != ir::Scope::kThread;
  if (store.streaming && global) {
    Line(line + "__stcs(&" + place + ", (" +
         std::string(StorageType(BufferOf(store.buffer).dtype)) + ")(" + value.text + "));");
  } else {
    Line(line + place + " = " + value.text + ";");
  }
}

void PhasePrinter::Do(const ir::Prefetch& prefetch) {
  const ir::Scope scope = BufferOf(prefetch.buffer).scope;
  if (scope != ir::Scope::kIn && scope != ir::Scope::kOut && scope != ir::Scope::kWorkspace) return;
  Begin({prefetch.index});
  const auto function = functions_.Use(prefetch.level == 1 ? "PrefetchL1" : "PrefetchL2");
  Line(Call(function, Place(prefetch.buffer, prefetch.index)).text + ";");
}

}  // namespace mlc::codegen
