// The state of a parser: the rest of the text, the kernel so far, and the variables in scope.
// Errors are INVALID_ARGUMENT. Not thread-safe; borrows its text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

// The word in quotes, truncated if it is long.
std::string Quoted(const std::string& word);

struct ParseScope {
  explicit ParseScope(std::string_view text) : lexer(text) {}

  Result<std::string> Name(const char* what);
  Result<int> ParseSmall(const char* what);  // 0 .. 2^31-1
  Result<int> ParseLanes();
  Result<BufferId> Find(const std::string& name);
  // A variable that is in scope.
  Result<VarId> FindVar(const std::string& name);
  Result<VarId> Bind(std::string name);
  size_t Mark() const { return open.size(); }
  void CloseTo(size_t mark);  // all variables bound since

  Lexer lexer;
  Kernel kernel;
  std::map<std::string, BufferId> buffers;
  std::map<std::string, VarId> vars;
  std::vector<bool> in_scope;
  std::vector<VarId> open;  // bound in open blocks, innermost last
};

}  // namespace mlc::ir
