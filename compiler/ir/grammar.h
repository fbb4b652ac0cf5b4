// The grammar of the statements of kernel IR that begin with a keyword, as
// docs/reference/text-forms.md shows it. Derived from statement_forms.h; no state.
#pragma once

#include <string>

namespace mlc::ir {

// Rules, `name := ...`, the kinds of `sync` in one; lines after the first of a rule are indented.
std::string StatementGrammar();

}  // namespace mlc::ir
