// Text to kernel, the inverse of print.cc. Nothing is folded: the tree is the text's. Hostile text
// ends in INVALID_ARGUMENT: size and nesting are bounded, types are checked as they are met.
#include <array>
#include <map>
#include <string>
#include <utility>

#include "compiler/base/text.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

constexpr size_t kMaxText = size_t{64} << 20;
constexpr size_t kMaxBuffers = 4096;
constexpr std::array kScopes = {Scope::kIn, Scope::kOut, Scope::kShared, Scope::kThread,
                                Scope::kRegister};
constexpr Type kIndex{DType::kI64, 1};
constexpr Type kCondition{DType::kBool, 1};

template <typename Node>
ExprRef MakeExpr(Type type, Node node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}
template <typename Node>
StmtRef MakeStmt(Node node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

// Long hostile words are cut.
std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  quoted.append(word, 0, 40);
  quoted += '\'';
  return quoted;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<Kernel> Run() {
    MLC_TRY(lexer_.Expect("kernel"));
    kernel_.name = MLC_TRY(Name("a kernel"));
    MLC_TRY(lexer_.Expect("{"));
    for (bool more = true; more;) more = MLC_TRY(ParseBuffer());
    while (!lexer_.Accept("}")) {
      MLC_TRY(lexer_.Expect("parallel"));
      kernel_.phases.push_back(MLC_TRY(ParseFor(LoopKind::kParallel, 0)));
    }
    if (!lexer_.AtEnd()) return lexer_.Error("expected the end of the text");
    MLC_TRY(kernel_.Verify());
    return std::move(kernel_);
  }

 private:
  Result<std::string> Name(const char* what) {
    std::string name = MLC_TRY(lexer_.Word());
    if (IsName(name)) return name;
    return lexer_.Error(Quoted(name).append(" cannot name ").append(what));
  }

  // ---- buffers -----------------------------------------------------------------------------

  // False where the buffers end.
  Result<bool> ParseBuffer() {
    for (const Scope scope : kScopes) {
      if (!lexer_.Accept(ir::ToText(scope))) continue;
      if (kernel_.buffers.size() == kMaxBuffers) return lexer_.Error("too many buffers");
      Buffer buffer;
      buffer.scope = scope;
      buffer.name = MLC_TRY(Name("a buffer"));
      MLC_TRY(lexer_.Expect(":"));
      MLC_TRY(ParseElement(buffer));
      MLC_TRY(lexer_.Expect("["));
      buffer.size = MLC_TRY(lexer_.Int());
      MLC_TRY(lexer_.Expect("]"));
      const auto id = static_cast<BufferId>(kernel_.buffers.size());
      if (!buffers_.emplace(buffer.name, id).second) {
        return lexer_.Error("buffer '" + buffer.name + "' is declared twice");
      }
      kernel_.buffers.push_back(std::move(buffer));
      return true;
    }
    return false;
  }

  // "f32" or "f32x16"
  Status ParseElement(Buffer& buffer) {
    const std::string word = MLC_TRY(lexer_.Word());
    const size_t cross = word.find('x');
    const Result<DType> dtype = ParseDType(word.substr(0, cross));
    if (!dtype.ok()) return lexer_.Error(dtype.status().message());
    buffer.dtype = *dtype;
    if (cross == std::string::npos) return {};
    const std::string digits = word.substr(cross + 1);
    Lexer number(digits);
    const Result<int64_t> lanes = number.Int();
    if (!lanes.ok() || !number.AtEnd() || !IsLanes(*lanes)) return lexer_.Error("bad lanes");
    buffer.lanes = static_cast<int>(*lanes);
    return {};
  }

  Result<BufferId> Find(const std::string& name) {
    const auto found = buffers_.find(name);
    if (found != buffers_.end()) return found->second;
    return lexer_.Error("unknown buffer " + Quoted(name));
  }

  // ---- statements --------------------------------------------------------------------------

  Result<StmtRef> ParseBlock(int depth) {
    if (depth > kMaxDepth) return lexer_.Error("nested too deeply");
    MLC_TRY(lexer_.Expect("{"));
    Block block;
    const size_t mark = scope_.size();
    while (!lexer_.Accept("}")) block.body.push_back(MLC_TRY(ParseStmt(depth)));
    CloseTo(mark);
    return MakeStmt(std::move(block));
  }

  Result<StmtRef> ParseStmt(int depth) {
    if (lexer_.Accept("for")) return ParseForBody(LoopKind::kSerial, depth);
    if (lexer_.Accept("unrolled")) return ParseFor(LoopKind::kUnrolled, depth);
    if (lexer_.Accept("if")) return ParseIf(depth);
    if (lexer_.Accept("let")) return ParseLet(depth);
    if (lexer_.Accept("prefetch")) return ParsePrefetch(depth);
    return ParseStore(depth);
  }

  Result<StmtRef> ParseFor(LoopKind kind, int depth) {
    MLC_TRY(lexer_.Expect("for"));
    return ParseForBody(kind, depth);
  }

  Result<StmtRef> ParseForBody(LoopKind kind, int depth) {
    For loop{};
    loop.kind = kind;
    loop.step = 1;
    std::string name = MLC_TRY(Name("a variable"));
    MLC_TRY(lexer_.Expect("in"));
    loop.begin = MLC_TRY(ParseIndex(depth));
    MLC_TRY(lexer_.Expect(".."));
    loop.end = MLC_TRY(ParseIndex(depth));
    if (lexer_.Accept("step")) loop.step = MLC_TRY(lexer_.Int());
    const size_t mark = scope_.size();
    loop.var = MLC_TRY(Bind(std::move(name)));
    loop.body = MLC_TRY(ParseBlock(depth + 1));
    CloseTo(mark);
    return MakeStmt(std::move(loop));
  }

  Result<StmtRef> ParseIf(int depth) {
    If branch;
    branch.condition = MLC_TRY(ParseExpr(depth));
    if (branch.condition->type != kCondition) return lexer_.Error("a condition must be a bool");
    branch.then_body = MLC_TRY(ParseBlock(depth + 1));
    if (lexer_.Accept("else")) branch.else_body = MLC_TRY(ParseBlock(depth + 1));
    return MakeStmt(std::move(branch));
  }

  Result<StmtRef> ParseLet(int depth) {
    std::string name = MLC_TRY(Name("a variable"));
    MLC_TRY(lexer_.Expect("="));
    ExprRef value = MLC_TRY(ParseIndex(depth));
    const VarId var = MLC_TRY(Bind(std::move(name)));
    return MakeStmt(Let{var, std::move(value)});
  }

  Result<StmtRef> ParsePrefetch(int depth) {
    Prefetch prefetch;
    const std::string name = MLC_TRY(lexer_.Word());
    prefetch.buffer = MLC_TRY(Find(name));
    MLC_TRY(lexer_.Expect("["));
    prefetch.index = MLC_TRY(ParseIndex(depth));
    MLC_TRY(lexer_.Expect(","));
    MLC_TRY(lexer_.Expect("level"));
    MLC_TRY(lexer_.Expect("="));
    const int64_t level = MLC_TRY(lexer_.Int());
    if (level < 1 || level > 2) return lexer_.Error("a prefetch level is 1 or 2");
    prefetch.level = static_cast<int>(level);
    MLC_TRY(lexer_.Expect("]"));
    return MakeStmt(std::move(prefetch));
  }

  Result<StmtRef> ParseStore(int depth) {
    const std::string name = MLC_TRY(lexer_.Word());
    Store store;
    store.buffer = MLC_TRY(Find(name));
    MLC_TRY(lexer_.Expect("["));
    store.index = MLC_TRY(ParseIndex(depth));
    MLC_TRY(ParseStrideAndMask(depth, &store.stride, &store.mask));
    MLC_TRY(lexer_.Expect("="));
    store.value = MLC_TRY(ParseExpr(depth));
    store.streaming = lexer_.Accept("streaming");
    return MakeStmt(std::move(store));
  }

  // [", stride=" int] [", mask=" expr] "]"
  Status ParseStrideAndMask(int depth, int64_t* stride, ExprRef* mask) {
    bool comma = lexer_.Accept(",");
    if (comma && lexer_.Accept("stride")) {
      MLC_TRY(lexer_.Expect("="));
      *stride = MLC_TRY(lexer_.Int());
      comma = lexer_.Accept(",");
    }
    if (comma) {
      MLC_TRY(lexer_.Expect("mask"));
      MLC_TRY(lexer_.Expect("="));
      *mask = MLC_TRY(ParseIndex(depth));
    }
    return lexer_.Expect("]");
  }

  // ---- variables ---------------------------------------------------------------------------

  Result<VarId> Bind(std::string name) {
    const auto id = static_cast<VarId>(kernel_.vars.size());
    if (buffers_.count(name) != 0 || !vars_.emplace(name, id).second) {
      return lexer_.Error(Quoted(name) + " is declared twice");
    }
    in_scope_.push_back(true);
    scope_.push_back(id);
    kernel_.vars.push_back(std::move(name));
    return id;
  }

  void CloseTo(size_t mark) {
    for (; scope_.size() > mark; scope_.pop_back()) {
      in_scope_[static_cast<size_t>(scope_.back())] = false;
    }
  }

  // ---- expressions -------------------------------------------------------------------------

  Result<ExprRef> ParseIndex(int depth) {
    ExprRef e = MLC_TRY(ParseExpr(depth));
    if (e->type != kIndex) return lexer_.Error("expected an i64 scalar before this");
    return e;
  }

  Result<ExprRef> ParseExpr(int depth) {
    if (depth > kMaxDepth) return lexer_.Error("nested too deeply");
    if (lexer_.PeekNumber()) {
      const int64_t value = MLC_TRY(lexer_.Int());
      return MakeExpr(kIndex, IntImm{value});
    }
    const std::string word = MLC_TRY(lexer_.Word());
    if (lexer_.Accept("(")) return ParseCall(word, depth + 1);
    if (lexer_.Accept("[")) return ParseLoad(word, depth + 1);
    const auto found = vars_.find(word);
    if (found == vars_.end() || !in_scope_[static_cast<size_t>(found->second)]) {
      return lexer_.Error("no variable " + Quoted(word) + " in scope");
    }
    return MakeExpr(kIndex, VarRef{found->second});
  }

  Result<ExprRef> ParseLoad(const std::string& name, int depth) {
    Load load;
    load.buffer = MLC_TRY(Find(name));
    const Buffer& buffer = kernel_.buffers[static_cast<size_t>(load.buffer)];
    Type type{buffer.dtype, buffer.lanes};
    load.index = MLC_TRY(ParseIndex(depth));
    Lexer before = lexer_;
    if (lexer_.Accept(",") && lexer_.Accept("lanes")) {
      MLC_TRY(lexer_.Expect("="));
      type.lanes = MLC_TRY(ParseLanes());
    } else {
      lexer_ = before;
    }
    MLC_TRY(ParseStrideAndMask(depth, &load.stride, &load.mask));
    return MakeExpr(type, std::move(load));
  }

  Result<int> ParseLanes() {
    const int64_t lanes = MLC_TRY(lexer_.Int());
    if (!IsLanes(lanes)) return lexer_.Error("lanes must be 1 to 64");
    return static_cast<int>(lanes);
  }

  Result<DType> ParseType() {
    Result<DType> dtype = ParseDType(MLC_TRY(lexer_.Word()));
    if (!dtype.ok()) return lexer_.Error(dtype.status().message());
    return dtype;
  }

  // After `word` and "(".
  Result<ExprRef> ParseCall(const std::string& word, int depth) {
    if (word == "cast") return ParseCast(depth);
    if (word == "broadcast" || word == "lane_mask") return ParseWiden(word == "lane_mask", depth);
    if (word == "lane_index") return ParseLaneIndex();
    if (word.starts_with("reduce_")) return ParseReduce(word.substr(7), depth);
    if (const Result<DType> dtype = ParseDType(word); dtype.ok()) return ParseConstant(*dtype);
    return ParseApply(word, depth);
  }

  Result<ExprRef> ParseConstant(DType dtype) {
    ExprRef constant;
    if (IsFloat(dtype)) {
      const double value = MLC_TRY(lexer_.Float());
      constant = MakeExpr({dtype, 1}, FloatImm{RoundTo(dtype, value)});
    } else {
      const int64_t value = MLC_TRY(lexer_.Int());
      if (WrapTo(dtype, value) != value) return lexer_.Error("the number before does not fit");
      constant = MakeExpr({dtype, 1}, IntImm{value});
    }
    MLC_TRY(lexer_.Expect(")"));
    return constant;
  }

  Result<ExprRef> ParseCast(int depth) {
    const DType dtype = MLC_TRY(ParseType());
    MLC_TRY(lexer_.Expect(","));
    ExprRef value = MLC_TRY(ParseExpr(depth));
    MLC_TRY(lexer_.Expect(")"));
    const int lanes = value->type.lanes;
    return MakeExpr({dtype, lanes}, Cast{std::move(value)});
  }

  Result<ExprRef> ParseWiden(bool is_mask, int depth) {
    ExprRef value = MLC_TRY(ParseExpr(depth));
    MLC_TRY(lexer_.Expect(","));
    const int lanes = MLC_TRY(ParseLanes());
    MLC_TRY(lexer_.Expect(")"));
    if (value->type.lanes != 1) return lexer_.Error("expected a scalar before this");
    const DType dtype = value->type.dtype;
    if (!is_mask) return MakeExpr({dtype, lanes}, Broadcast{std::move(value)});
    if (dtype != DType::kI64) return lexer_.Error("lane_mask needs an i64");
    return MakeExpr({DType::kBool, lanes}, LaneMask{std::move(value)});
  }

  Result<ExprRef> ParseLaneIndex() {
    const DType dtype = MLC_TRY(ParseType());
    MLC_TRY(lexer_.Expect(","));
    const int lanes = MLC_TRY(ParseLanes());
    MLC_TRY(lexer_.Expect(")"));
    return MakeExpr({dtype, lanes}, LaneIndex{});
  }

  Result<ExprRef> ParseReduce(const std::string& name, int depth) {
    const Result<ScalarOp> op = ParseScalarOp(name);
    if (!op.ok()) return lexer_.Error("unknown reduction");
    ExprRef value = MLC_TRY(ParseExpr(depth));
    MLC_TRY(lexer_.Expect(")"));
    const Result<Type> type = TypeOfReduce(*op, value);
    if (!type.ok()) return lexer_.Error(type.status().message());
    return MakeExpr(*type, ReduceLanes{*op, std::move(value)});
  }

  Result<ExprRef> ParseApply(const std::string& name, int depth) {
    const Result<ScalarOp> op = ParseScalarOp(name);
    if (!op.ok()) return lexer_.Error("unknown operator " + Quoted(name));
    Apply apply{*op, {}};
    const int arity = InfoOf(*op).arity;
    for (int i = 0; i < arity; ++i) {
      if (i > 0) MLC_TRY(lexer_.Expect(","));
      apply.args.push_back(MLC_TRY(ParseExpr(depth)));
    }
    MLC_TRY(lexer_.Expect(")"));
    const Result<Type> type = TypeOfApply(*op, apply.args);
    if (!type.ok()) return lexer_.Error(type.status().message());
    return MakeExpr(*type, std::move(apply));
  }

  Lexer lexer_;
  Kernel kernel_;
  std::map<std::string, BufferId> buffers_;
  std::map<std::string, VarId> vars_;
  std::vector<bool> in_scope_;
  std::vector<VarId> scope_;  // bound in open blocks, innermost last
};

}  // namespace

Result<Kernel> Kernel::Parse(std::string_view text) {
  if (text.size() > kMaxText) return InvalidArgument("the kernel's text is longer than 64 MiB");
  return Parser(text).Run();
}

}  // namespace mlc::ir
