// Kernel to text, the inverse of parse.cc.
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "base/text.h"
#include "compiler/ir/ir.h"
#include "compiler/ir/statement_forms.h"

namespace mlc::ir {

namespace {

// The shortest text that reads back as the same value of the type.
std::string ConstantText(DType dtype, double value) {
  if (dtype == DType::kF64 || !std::isfinite(value)) return FloatToText(value);
  char buffer[32];
  const float narrow = static_cast<float>(value);
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), narrow).ptr;
  double read = 0;
  std::from_chars(buffer, end, read);
  if (static_cast<double>(static_cast<float>(read)) != value) return FloatToText(value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

const SyncForm& FormOf(SyncKind kind) { return kSyncForms[static_cast<size_t>(kind)]; }

// Prints expressions into a text.
class ExpressionPrinter {
 public:
  ExpressionPrinter(const Kernel& kernel, std::string& text) : kernel_(kernel), text_(text) {}

  const std::string& NameOf(BufferId id) const {
    return kernel_.buffers[static_cast<size_t>(id)].name;
  }
  const std::string& VarName(VarId id) const { return kernel_.vars[static_cast<size_t>(id)]; }

  void Print(const Expr& e) {
    std::visit([&](const auto& node) { Node(e.type, node); }, e.node);
  }

  // What follows the index of an access.
  void Access(int64_t stride, const ExprRef& mask) {
    if (stride != 1) {
      text_ += ", stride=";
      text_ += std::to_string(stride);
    }
    if (mask == nullptr) return;
    text_ += ", mask=";
    Print(*mask);
  }

 private:
  void Typed(DType dtype, const std::string& value) {
    text_ += ToText(dtype);
    text_ += "(" + value + ")";
  }
  void Node(const Type& type, const IntImm& constant) {
    const std::string value = std::to_string(constant.value);
    if (type.dtype == DType::kI64) {
      text_ += value;
    } else {
      Typed(type.dtype, value);
    }
  }
  void Node(const Type& type, const FloatImm& constant) {
    Typed(type.dtype, ConstantText(type.dtype, constant.value));
  }
  void Node(const Type&, const VarRef& ref) { text_ += VarName(ref.var); }
  void Node(const Type& type, const Load& load) {
    const Buffer& buffer = kernel_.buffers[static_cast<size_t>(load.buffer)];
    text_ += buffer.name + "[";
    Print(*load.index);
    if (type.lanes > 1 && buffer.scope != Scope::kRegister) {
      text_ += ", lanes=";
      text_ += std::to_string(type.lanes);
    }
    Access(load.stride, load.mask);
    text_ += ']';
  }
  void Node(const Type&, const Apply& apply) {
    text_ += InfoOf(apply.op).name;
    text_ += '(';
    for (size_t i = 0; i < apply.args.size(); ++i) {
      if (i > 0) text_ += ", ";
      Print(*apply.args[i]);
    }
    text_ += ')';
  }
  void Node(const Type& type, const Cast& cast) {
    text_ += "cast(";
    text_ += ToText(type.dtype);
    text_ += ", ";
    Print(*cast.value);
    text_ += ')';
  }
  void Node(const Type& type, const Broadcast& broadcast) {
    text_ += "broadcast(";
    Print(*broadcast.value);
    text_ += ", ";
    text_ += std::to_string(type.lanes);
    text_ += ')';
  }
  void Node(const Type&, const ReduceLanes& reduce) {
    text_ += "reduce_";
    text_ += InfoOf(reduce.op).name;
    text_ += '(';
    Print(*reduce.value);
    text_ += ')';
  }
  void Node(const Type& type, const LaneMask& mask) {
    text_ += "lane_mask(";
    Print(*mask.active);
    text_ += ", ";
    text_ += std::to_string(type.lanes);
    text_ += ')';
  }
  void Node(const Type& type, const LaneIndex&) {
    text_ += "lane_index(";
    text_ += ToText(type.dtype);
    text_ += ", ";
    text_ += std::to_string(type.lanes);
    text_ += ')';
  }

  void Node(const Type&, const ShuffleXor& shuffle) {
    text_ += "shuffle_xor(";
    Print(*shuffle.value);
    text_ += ", " + std::to_string(shuffle.lane_mask) + ")";
  }

  const Kernel& kernel_;
  std::string& text_;
};

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), expressions_(kernel, text_) {}
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  std::string Run() {
    text_ = "kernel " + kernel_.name;
    if (kernel_.approximate) text_ += " approximate";
    if (kernel_.limit >= 0) text_ += " limit " + kernel_.vars[static_cast<size_t>(kernel_.limit)];
    text_ += " {\n";
    for (const Buffer& buffer : kernel_.buffers) {
      text_ += "  ";
      text_ += ToText(buffer.scope);
      text_ += " " + buffer.name + ": ";
      text_ += ToText(buffer.dtype);
      if (buffer.lanes > 1) {
        text_ += 'x';
        text_ += std::to_string(buffer.lanes);
      }
      text_ += '[';
      text_ += std::to_string(buffer.size);
      text_ += ']';
      if (buffer.overlays >= 0) text_ += " overlays " + expressions_.NameOf(buffer.overlays);
      text_ += '\n';
    }
    for (const StmtRef& phase : kernel_.phases) Print(*phase, 1);
    return text_ + "}\n";
  }

 private:
  void Indent(int depth) { text_.append(static_cast<size_t>(depth) * 2, ' '); }
  void Print(const Stmt& stmt, int depth) {
    if (const Block* block = std::get_if<Block>(&stmt.node)) {
      for (const StmtRef& s : block->body) Print(*s, depth);
      return;
    }
    Indent(depth);
    std::visit([&](const auto& node) { Line(node, depth); }, stmt.node);
    text_ += '\n';
  }

  void Braced(const StmtRef& body, int depth) {
    text_ += " {\n";
    Print(*body, depth + 1);
    Indent(depth);
    text_ += '}';
  }

  void Line(const Block&, int) {}
  void Line(const For& loop, int depth) {
    if (loop.kind == LoopKind::kParallel) text_ += "parallel ";
    if (loop.kind == LoopKind::kUnrolled) text_ += "unrolled ";
    if (loop.kind == LoopKind::kThreads) text_ += "threads ";
    text_ += "for " + expressions_.VarName(loop.var) + " in ";
    expressions_.Print(*loop.begin);
    text_ += " .. ";
    expressions_.Print(*loop.end);
    if (loop.step != 1) {
      text_ += " step ";
      text_ += std::to_string(loop.step);
    }
    if (loop.per_sm != 0) text_ += " per_sm " + std::to_string(loop.per_sm);
    if (loop.cluster != 1) text_ += " cluster " + std::to_string(loop.cluster);
    Braced(loop.body, depth);
  }
  void Line(const If& branch, int depth) {
    text_ += branch.roles ? "roles if " : "if ";
    expressions_.Print(*branch.condition);
    Braced(branch.then_body, depth);
    if (branch.else_body == nullptr) return;
    text_ += " else";
    Braced(branch.else_body, depth);
  }
  void Line(const Let& let, int) {
    text_ += "let " + expressions_.VarName(let.var) + " = ";
    expressions_.Print(*let.value);
  }
  void Line(const Store& store, int) {
    text_ += expressions_.NameOf(store.buffer) + "[";
    expressions_.Print(*store.index);
    expressions_.Access(store.stride, store.mask);
    text_ += "] = ";
    expressions_.Print(*store.value);
    if (store.streaming) text_ += " streaming";
  }
  void Line(const Sync& sync, int) {
    const SyncForm& form = FormOf(sync.kind);
    text_ += form.keyword;
    if (form.counted != nullptr) text_ += " " + std::to_string(sync.pending);
  }
  template <HasForm Statement>
  void Line(const Statement& statement, int);

  class FormWriter;

  const Kernel& kernel_;
  std::string text_;
  ExpressionPrinter expressions_;
};

// A visitor of forms.
class Printer::FormWriter {
 public:
  explicit FormWriter(Printer& printer)
      : expressions_(printer.expressions_), text_(printer.text_) {}

  void Place(BufferId buffer, const ExprRef& index) {
    Open(buffer, index);
    Close();
  }
  void Open(BufferId buffer, const ExprRef& index) {
    Word(expressions_.NameOf(buffer));
    text_ += '[';
    expressions_.Print(*index);
  }
  void Close() { text_ += ']'; }
  void Level(int value) { text_ += ", level=" + std::to_string(value); }
  void Lanes(int value) { text_ += ", lanes=" + std::to_string(value); }
  void Mask(const ExprRef& index) { expressions_.Access(1, index); }
  void Index(const ExprRef& index) {
    text_ += ' ';
    expressions_.Print(*index);
  }
  void Optional(std::string_view word, const ExprRef& value) {
    if (value == nullptr) return;
    Word(word);
    Index(value);
  }
  void Variable(VarId var) { Word(expressions_.VarName(var)); }
  void Word(std::string_view word) { (text_ += ' ') += word; }
  void Flag(std::string_view word, bool value) {
    if (value) Word(word);
  }
  void Either(std::string_view yes, std::string_view no, bool value) { Word(value ? yes : no); }
  void Int(int64_t value) { Word(std::to_string(value)); }
  void Attribute(std::string_view word, int value, const char* /*what*/) {
    Word(word);
    text_ += "=" + std::to_string(value);
  }
  void Part(std::string_view word, int value) {
    if (value != 0) Attribute(word, value, "");
  }
  template <typename Item, typename Parts>
  void Each(std::string_view word, const std::vector<Item>& items, Parts parts) {
    for (const Item& item : items) {
      Word(word);
      parts(item);
    }
  }

 private:
  ExpressionPrinter& expressions_;
  std::string& text_;
};

template <HasForm Statement>
void Printer::Line(const Statement& statement, int) {
  text_ += Form<Statement>::kKeyword;
  FormWriter writer(*this);
  Form<Statement>::Parts(writer, statement);
}

}  // namespace

// The words for workspace and shared memory are older than the names of the scopes; digests of
// kernels depend on them.
std::string_view ToText(Scope scope) {
  switch (scope) {
    case Scope::kIn:
      return "in";
    case Scope::kOut:
      return "out";
    case Scope::kWorkspace:
      return "shared";
    case Scope::kThread:
      return "thread";
    case Scope::kRegister:
      return "reg";
    case Scope::kCounter:
      return "counter";
    case Scope::kMbarrier:
      return "mbarrier";
    case Scope::kSharedMemory:
      return "block";
  }
  return "?";
}

std::string_view ToText(SyncKind kind) { return FormOf(kind).keyword; }

int Kernel::NumParams() const {
  int count = 0;
  for (const Buffer& buffer : buffers) {
    count += buffer.scope == Scope::kIn || buffer.scope == Scope::kOut;
  }
  return count;
}

bool Kernel::IsGpu() const {
  for (const StmtRef& phase : phases) {
    const For* loop = std::get_if<For>(&phase->node);
    const Block* body =
        loop != nullptr && loop->body != nullptr ? std::get_if<Block>(&loop->body->node) : nullptr;
    if (body == nullptr || body->body.size() != 1 || body->body[0] == nullptr) continue;
    const For* threads = std::get_if<For>(&body->body[0]->node);
    if (threads != nullptr && threads->kind == LoopKind::kThreads) return true;
  }
  return false;
}

std::string Kernel::ToText() const { return Printer(*this).Run(); }

}  // namespace mlc::ir
