// What a text form of a statement is; statement_forms.h says what visits one. No state.
#pragma once

namespace mlc::ir {

// Specialised for each such statement: kKeyword, and Parts, for const nodes and others.
template <typename Node>
struct Form {};

template <typename Node>
concept HasForm = requires {
  Form<Node>::kKeyword;
};

}  // namespace mlc::ir
