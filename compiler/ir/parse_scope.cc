#include "compiler/ir/parse_scope.h"

#include <limits>
#include <utility>

#include "compiler/ir/types.h"

namespace mlc::ir {

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  quoted.append(word, 0, 40);
  quoted += '\'';
  return quoted;
}

Result<std::string> ParseScope::Name(const char* what) {
  std::string name = MLC_TRY(lexer.Word());
  if (IsName(name)) return name;
  return lexer.Error(Quoted(name).append(" cannot name ").append(what));
}

Result<int> ParseScope::ParseSmall(const char* what) {
  const int64_t value = MLC_TRY(lexer.Int());
  if (value >= 0 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
  return lexer.Error(std::string("bad ") + what);
}

Result<int> ParseScope::ParseLanes() {
  const int64_t lanes = MLC_TRY(lexer.Int());
  if (!IsLanes(lanes)) return lexer.Error("lanes must be 1 to 64");
  return static_cast<int>(lanes);
}

Result<BufferId> ParseScope::Find(const std::string& name) {
  const auto found = buffers.find(name);
  if (found != buffers.end()) return found->second;
  return lexer.Error("unknown buffer " + Quoted(name));
}

Result<VarId> ParseScope::FindVar(const std::string& name) {
  const auto found = vars.find(name);
  if (found == vars.end() || !in_scope[static_cast<size_t>(found->second)]) {
    return lexer.Error("no variable " + Quoted(name) + " in scope");
  }
  return found->second;
}

Result<VarId> ParseScope::Bind(std::string name) {
  const auto id = static_cast<VarId>(kernel.vars.size());
  if (buffers.count(name) != 0 || !vars.emplace(name, id).second) {
    return lexer.Error(Quoted(name) + " is declared twice");
  }
  in_scope.push_back(true);
  open.push_back(id);
  kernel.vars.push_back(std::move(name));
  return id;
}

void ParseScope::CloseTo(size_t mark) {
  for (; open.size() > mark; open.pop_back()) {
    in_scope[static_cast<size_t>(open.back())] = false;
  }
}

}  // namespace mlc::ir
