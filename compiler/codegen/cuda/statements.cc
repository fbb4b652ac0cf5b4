#include "compiler/codegen/cuda/statements.h"

#include <algorithm>
#include <string>

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
         std::holds_alternative<ir::Unpack>(stmt.node) ||
         std::holds_alternative<ir::Mma>(stmt.node) ||
         std::holds_alternative<ir::MbarrierWait>(stmt.node) ||
         std::holds_alternative<ir::WarpgroupMma>(stmt.node);
}

}  // namespace

void StatementPrinter::Print(const ir::Stmt& stmt) {
  std::visit([this](const auto& node) { Do(node); }, stmt.node);
}

void StatementPrinter::Do(const ir::Block& block) {
  const auto inits = [&](size_t i) {
    return i < block.body.size() && std::holds_alternative<ir::MbarrierInit>(block.body[i]->node);
  };
  for (size_t i = 0; i < block.body.size(); ++i) {
    Print(*block.body[i]);
    // One barrier of the block makes a run of mbarriers known.
    if (inits(i) && !inits(i + 1))
      text_.Line(std::string(scope_.functions.Use("MbarriersBegin")) + "();");
  }
}

void StatementPrinter::Do(const ir::For& loop) {
  expressions_.Begin({loop.begin, loop.end});
  const Text begin = expressions_.scalars.Scalar(loop.begin);
  Text end = expressions_.scalars.Scalar(loop.end);
  if (HasLoad(*loop.end)) end = text_.Temporary(scope_.TypeOf(loop.end), end);
  scope_.analysis.BindLoop(loop);
  IndexFacts facts = scope_.analysis.OfVar(loop.var);
  if (facts.FitsInt() && facts.high > INT32_MAX - loop.step) {
    facts.high = int64_t{INT32_MAX} + loop.step;  // the last step leaves 32 bits
    scope_.analysis.Bind(loop.var, facts);
  }
  if (loop.kind == ir::LoopKind::kUnrolled) {
    text_.Line("#pragma unroll");
  } else if (HasShape(*loop.body)) {
    text_.Line("#pragma unroll 1");
  }
  const std::string& name = scope_.VarName(loop.var);
  const std::string step = loop.step == 1 ? "++" + name : name + " += " + std::to_string(loop.step);
  text_.Open("for (" + std::string(IndexType(facts)) + " " + name + " = " + begin.text + "; " +
             name + " < " + end.At(Precedence::kShift) + "; " + step + ")");
  Print(*loop.body);
  text_.Close();
}

void StatementPrinter::Do(const ir::If& branch) {
  expressions_.Begin({branch.condition});
  const Text condition = expressions_.scalars.Scalar(branch.condition);
  // Whole warps take a role: said so that the assembler, too, knows it.
  text_.Open(branch.roles ? "if (__shfl_sync(0xffffffffu, (int)(" + condition.text + "), 0) != 0)"
                          : "if (" + condition.text + ")");
  Print(*branch.then_body);
  if (branch.else_body != nullptr) {
    text_.Else();
    Print(*branch.else_body);
  }
  text_.Close();
}

void StatementPrinter::Do(const ir::Let& let) {
  expressions_.Begin({let.value});
  const Text value = expressions_.scalars.Scalar(let.value);
  scope_.analysis.Bind(let.var, scope_.analysis.Of(let.value));
  text_.Line("const " + std::string(scope_.TypeOf(let.value)) + " " + scope_.VarName(let.var) +
             " = " + value.text + ";");
}

void StatementPrinter::Do(const ir::Store& store) {
  expressions_.Begin({store.index, store.value, store.mask});
  if (scope_.BufferOf(store.buffer).scope == ir::Scope::kRegister) {
    StoreRegister(store);
  } else if (store.value->type.lanes == 1) {
    StoreScalar(store);
  } else {
    StoreVector(store);
  }
}

void StatementPrinter::StoreRegister(const ir::Store& store) {
  const ir::Buffer& buffer = scope_.BufferOf(store.buffer);
  const std::string& name = scope_.NameOf(store.buffer);
  if (buffer.lanes == 1) {
    const Text value = expressions_.scalars.StorageOf(store.value);
    text_.Line(name + "[" + expressions_.scalars.Scalar(store.index).text + "] = " + value.text +
               ";");
    return;
  }
  expressions_.lanes.Prepare(store.value);
  const Text first = expressions_.scalars.RegisterBase(buffer, store.index);
  if (LaneArray::Of(buffer.dtype, buffer.lanes).words) {
    expressions_.lanes.PackWords(store.value, name, first);
    return;
  }
  expressions_.lanes.Loop(0, buffer.lanes, [&] {
    const Text value =
        expressions_.operators.ToStorage(buffer.dtype, expressions_.lanes.Lane(store.value));
    const std::string at = Infix(first, "+", Text{"L"}, Precedence::kAdd).text;
    return name + "[" + (first.text == "0" ? "L" : at) + "] = " + value.text + ";";
  });
}

void StatementPrinter::StoreScalar(const ir::Store& store) {
  const Text value = expressions_.scalars.StorageOf(store.value);
  const Text index = expressions_.scalars.Scalar(store.index);
  const std::string place = scope_.NameOf(store.buffer) + "[" + index.text + "]";
  std::string line;
  if (store.mask != nullptr)
    line = "if (" + expressions_.scalars.Scalar(store.mask).At(Precedence::kShift) + " > 0) ";
  const bool global = scope_.BufferOf(store.buffer).scope != ir::Scope::kSharedMemory &&
                      scope_.BufferOf(store.buffer).scope != ir::Scope::kThread;
  if (store.streaming && global) {
    text_.Line(line + "__stcs(&" + place + ", (" +
               std::string(StorageType(scope_.BufferOf(store.buffer).dtype)) + ")(" + value.text +
               "));");
  } else {
    text_.Line(line + place + " = " + value.text + ";");
  }
}

void StatementPrinter::Do(const ir::Prefetch& prefetch) {
  const ir::Scope scope = scope_.BufferOf(prefetch.buffer).scope;
  if (scope != ir::Scope::kIn && scope != ir::Scope::kOut && scope != ir::Scope::kWorkspace) return;
  expressions_.Begin({prefetch.index});
  const auto function = scope_.functions.Use(prefetch.level == 1 ? "PrefetchL1" : "PrefetchL2");
  text_.Line(Call(function, expressions_.scalars.Place(prefetch.buffer, prefetch.index)).text +
             ";");
}

void StatementPrinter::StoreVector(const ir::Store& store) {
  const ir::Buffer& buffer = scope_.BufferOf(store.buffer);
  const bool global = buffer.scope == ir::Scope::kOut || buffer.scope == ir::Scope::kWorkspace;
  const Access access = store.streaming && global ? Access::kStoreStreaming : Access::kStore;
  expressions_.lanes.Prepare(store.value);
  const int lanes = store.value->type.lanes;
  const Pieces pieces =
      expressions_.memory.Cut(store.buffer, store.index, lanes, store.stride, store.mask, access);
  if (pieces.packed()) {
    return expressions_.memory.Move(pieces, expressions_.lanes.StorageArray(store.value),
                                    LaneArray::Of(buffer.dtype, lanes));
  }
  const Text base = pieces.index;
  expressions_.lanes.Loop(0, lanes, [&] {
    const Text offset = store.stride == 1
                            ? Text{"L"}
                            : Infix(IntText(store.stride, false), "*", Text{"L"}, Precedence::kMul);
    const Text at = Infix(base, "+", offset, Precedence::kAdd);
    std::string text;
    if (store.mask != nullptr) text = "if (L < " + pieces.mask.text + ") ";
    return text + pieces.name + "[" + at.text + "] = " +
           expressions_.operators.ToStorage(buffer.dtype, expressions_.lanes.Lane(store.value))
               .text +
           ";";
  });
}

}  // namespace mlc::codegen
