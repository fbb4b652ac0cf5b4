#include <array>

#include "compiler/ir/parser.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

constexpr size_t kMaxText = size_t{64} << 20;
constexpr size_t kMaxBuffers = 4096;
constexpr std::array kScopes = {Scope::kIn,           Scope::kOut,      Scope::kWorkspace,
                                Scope::kThread,       Scope::kRegister, Scope::kCounter,
                                Scope::kSharedMemory, Scope::kMbarrier};
constexpr Type kCondition{DType::kBool, 1};

}  // namespace

Result<Kernel> Parser::Run() {
  MLC_TRY(lexer_.Expect("kernel"));
  scope_.kernel.name = MLC_TRY(scope_.Name("a kernel"));
  scope_.kernel.approximate = lexer_.Accept("approximate");
  if (lexer_.Accept("limit")) {
    scope_.kernel.limit = MLC_TRY(scope_.Bind(MLC_TRY(scope_.Name("a variable"))));
  }
  MLC_TRY(lexer_.Expect("{"));
  for (bool more = true; more;) more = MLC_TRY(ParseBuffer());
  while (!lexer_.Accept("}")) {
    MLC_TRY(lexer_.Expect("parallel"));
    scope_.kernel.phases.push_back(MLC_TRY(ParseFor(LoopKind::kParallel, 0)));
  }
  if (!lexer_.AtEnd()) return lexer_.Error("expected the end of the text");
  MLC_TRY(scope_.kernel.Verify());
  return std::move(scope_.kernel);
}

Result<bool> Parser::ParseBuffer() {
  for (const Scope scope : kScopes) {
    if (!lexer_.Accept(ir::ToText(scope))) continue;
    if (scope_.kernel.buffers.size() == kMaxBuffers) return lexer_.Error("too many buffers");
    Buffer buffer;
    buffer.scope = scope;
    buffer.name = MLC_TRY(scope_.Name("a buffer"));
    MLC_TRY(lexer_.Expect(":"));
    MLC_TRY(ParseElement(buffer));
    MLC_TRY(lexer_.Expect("["));
    buffer.size = MLC_TRY(lexer_.Int());
    MLC_TRY(lexer_.Expect("]"));
    if (lexer_.Accept("overlays")) {
      const std::string base = MLC_TRY(lexer_.Word());
      buffer.overlays = MLC_TRY(scope_.Find(base));
    }
    const auto id = static_cast<BufferId>(scope_.kernel.buffers.size());
    if (!scope_.buffers.emplace(buffer.name, id).second) {
      return lexer_.Error("buffer '" + buffer.name + "' is declared twice");
    }
    scope_.kernel.buffers.push_back(std::move(buffer));
    return true;
  }
  return false;
}

// "f32" or "f32x16"
Status Parser::ParseElement(Buffer& buffer) {
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

Result<StmtRef> Parser::ParseBlock(int depth) {
  if (depth > kMaxDepth) return lexer_.Error("nested too deeply");
  MLC_TRY(lexer_.Expect("{"));
  Block block;
  const size_t mark = scope_.Mark();
  while (!lexer_.Accept("}")) block.body.push_back(MLC_TRY(ParseStmt(depth)));
  scope_.CloseTo(mark);
  return MakeStmt(std::move(block));
}

Result<StmtRef> Parser::ParseStmt(int depth) {
  if (lexer_.Accept("for")) return ParseForBody(LoopKind::kSerial, depth);
  if (lexer_.Accept("unrolled")) return ParseFor(LoopKind::kUnrolled, depth);
  if (lexer_.Accept("threads")) return ParseFor(LoopKind::kThreads, depth);
  if (lexer_.Accept("if")) return ParseIf(false, depth);
  if (lexer_.Accept("roles")) {
    MLC_TRY(lexer_.Expect("if"));
    return ParseIf(true, depth);
  }
  if (lexer_.Accept("let")) return ParseLet(depth);
  StmtRef form = MLC_TRY(ParseForm(depth));
  if (form != nullptr) return form;
  return ParseStore(depth);
}

Result<StmtRef> Parser::ParseFor(LoopKind kind, int depth) {
  MLC_TRY(lexer_.Expect("for"));
  return ParseForBody(kind, depth);
}

Result<StmtRef> Parser::ParseForBody(LoopKind kind, int depth) {
  For loop{};
  loop.kind = kind;
  loop.step = 1;
  std::string name = MLC_TRY(scope_.Name("a variable"));
  MLC_TRY(lexer_.Expect("in"));
  loop.begin = MLC_TRY(expressions_.ParseIndex(depth));
  MLC_TRY(lexer_.Expect(".."));
  loop.end = MLC_TRY(expressions_.ParseIndex(depth));
  if (lexer_.Accept("step")) loop.step = MLC_TRY(lexer_.Int());
  if (lexer_.Accept("per_sm")) loop.per_sm = MLC_TRY(scope_.ParseSmall("number of blocks"));
  if (lexer_.Accept("cluster")) loop.cluster = MLC_TRY(scope_.ParseSmall("number of blocks"));
  const size_t mark = scope_.Mark();
  loop.var = MLC_TRY(scope_.Bind(std::move(name)));
  loop.body = MLC_TRY(ParseBlock(depth + 1));
  scope_.CloseTo(mark);
  return MakeStmt(std::move(loop));
}

Result<StmtRef> Parser::ParseIf(bool roles, int depth) {
  If branch;
  branch.roles = roles;
  branch.condition = MLC_TRY(expressions_.ParseExpr(depth));
  if (branch.condition->type != kCondition) return lexer_.Error("a condition must be a bool");
  branch.then_body = MLC_TRY(ParseBlock(depth + 1));
  if (lexer_.Accept("else")) branch.else_body = MLC_TRY(ParseBlock(depth + 1));
  return MakeStmt(std::move(branch));
}

Result<StmtRef> Parser::ParseLet(int depth) {
  std::string name = MLC_TRY(scope_.Name("a variable"));
  MLC_TRY(lexer_.Expect("="));
  ExprRef value = MLC_TRY(expressions_.ParseIndex(depth));
  const VarId var = MLC_TRY(scope_.Bind(std::move(name)));
  return MakeStmt(Let{var, std::move(value)});
}

Result<StmtRef> Parser::ParseStore(int depth) {
  const std::string name = MLC_TRY(lexer_.Word());
  Store store;
  store.buffer = MLC_TRY(scope_.Find(name));
  MLC_TRY(lexer_.Expect("["));
  store.index = MLC_TRY(expressions_.ParseIndex(depth));
  MLC_TRY(expressions_.ParseStrideAndMask(depth, &store.stride, &store.mask));
  MLC_TRY(lexer_.Expect("="));
  store.value = MLC_TRY(expressions_.ParseExpr(depth));
  store.streaming = lexer_.Accept("streaming");
  return MakeStmt(std::move(store));
}

Result<Kernel> Kernel::Parse(std::string_view text) {
  if (text.size() > kMaxText) return InvalidArgument("the kernel's text is longer than 64 MiB");
  return Parser(text).Run();
}

}  // namespace mlc::ir
