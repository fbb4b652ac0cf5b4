// Text to kernel, the inverse of print.cc. Nothing is folded: the tree is the text's. Hostile text
// ends in INVALID_ARGUMENT: size and nesting are bounded, types are checked as they are met.
// Buffers and blocks stand in parse.cc, statements with keywords in parse_forms.cc, expressions in
// parse_expr.cc. Not thread-safe; borrows its text; serves for one kernel.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<Kernel> Run();

 private:
  class FormReader;

  template <typename Node>
  static ExprRef MakeExpr(Type type, Node node) {
    return std::make_shared<const Expr>(Expr{type, std::move(node)});
  }
  template <typename Node>
  static StmtRef MakeStmt(Node node) {
    return std::make_shared<const Stmt>(Stmt{std::move(node)});
  }
  // Long hostile words are cut.
  static std::string Quoted(const std::string& word);

  Result<std::string> Name(const char* what);
  Result<bool> ParseBuffer();  // false where the buffers end
  Status ParseElement(Buffer& buffer);
  Result<BufferId> Find(const std::string& name);

  Result<StmtRef> ParseBlock(int depth);
  Result<StmtRef> ParseStmt(int depth);
  Result<StmtRef> ParseFor(LoopKind kind, int depth);
  Result<StmtRef> ParseForBody(LoopKind kind, int depth);
  Result<StmtRef> ParseIf(int depth);
  Result<StmtRef> ParseLet(int depth);
  Result<StmtRef> ParseStore(int depth);
  Status ParseStrideAndMask(int depth, int64_t* stride, ExprRef* mask);

  // A statement that begins with a keyword of statement_forms.h; null where the text goes on with
  // another one.
  Result<StmtRef> ParseForm(int depth);
  Result<int> ParseSmall(const char* what);  // 0 .. 2^31-1

  Result<VarId> Bind(std::string name);
  void CloseTo(size_t mark);

  Result<ExprRef> ParseIndex(int depth);
  Result<ExprRef> ParseExpr(int depth);
  Result<ExprRef> ParseLoad(const std::string& name, int depth);
  Result<int> ParseLanes();
  Result<DType> ParseType();
  Result<ExprRef> ParseCall(const std::string& word, int depth);
  Result<ExprRef> ParseConstant(DType dtype);
  Result<ExprRef> ParseCast(int depth);
  Result<ExprRef> ParseWiden(bool is_mask, int depth);
  Result<ExprRef> ParseLaneIndex();
  Result<ExprRef> ParseReduce(const std::string& name, int depth);
  Result<ExprRef> ParseShuffle(int depth);
  Result<ExprRef> ParseApply(const std::string& name, int depth);

  Lexer lexer_;
  Kernel kernel_;
  std::map<std::string, BufferId> buffers_;
  std::map<std::string, VarId> vars_;
  std::vector<bool> in_scope_;
  std::vector<VarId> scope_;  // bound in open blocks, innermost last
};

}  // namespace mlc::ir
