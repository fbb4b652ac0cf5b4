// Parses the text of a kernel, the inverse of print.cc. It folds nothing. Hostile text gives
// INVALID_ARGUMENT: size and nesting are bounded, and types are checked during parsing. parse.cc
// has buffers and blocks, parse_forms.cc statements with keywords. Not thread-safe; borrows its
// text; one parser parses one kernel.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "compiler/ir/ir.h"
#include "compiler/ir/parse_expr.h"
#include "compiler/ir/parse_scope.h"

namespace mlc::ir {

class Parser {
 public:
  explicit Parser(std::string_view text)
      : scope_(text), lexer_(scope_.lexer), expressions_(scope_) {}
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Result<Kernel> Run();

 private:
  class FormReader;

  template <typename Node>
  static StmtRef MakeStmt(Node node) {
    return std::make_shared<const Stmt>(Stmt{std::move(node)});
  }

  Result<bool> ParseBuffer();  // false where the buffers end
  Status ParseElement(Buffer& buffer);

  Result<StmtRef> ParseBlock(int depth);
  Result<StmtRef> ParseStmt(int depth);
  Result<StmtRef> ParseFor(LoopKind kind, int depth);
  Result<StmtRef> ParseForBody(LoopKind kind, int depth);
  Result<StmtRef> ParseIf(bool roles, int depth);
  Result<StmtRef> ParseLet(int depth);
  Result<StmtRef> ParseStore(int depth);
  // A statement that begins with a keyword of statement_forms.h; null where the text goes on with
  // another one.
  Result<StmtRef> ParseForm(int depth);

  ParseScope scope_;
  Lexer& lexer_;
  ExpressionParser expressions_;
};

}  // namespace mlc::ir
