// The text form of every statement that begins with a keyword of its own: its words, operands and
// attributes, once, in the order of the text. The printer, the parser, the reserved words and the
// grammar (grammar.h) are visitors of it. Loops, branches, lets and stores, whose forms nest, are
// in parse.cc and print.cc. No state.
//
// A visitor has Place: name "[" expr "]". Open and Close: the same in two parts, around what stands
// inside the brackets: Level and Lanes, "," word "=" int, and Mask, ["," "mask" "=" expr]. Index:
// expr. Optional: [word expr]. Variable: a name, bound where the statement ends. Word, Flag: a
// word, an optional one. Either: one of two words. Int: int. Attribute: word "=" int, with what
// errors call the number. Part: an attribute that is absent where it is 0. Each: {word parts}.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "compiler/ir/async_forms.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

template <>
struct Form<Prefetch> {
  static constexpr std::string_view kKeyword = "prefetch";
  static void Parts(auto& v, auto& n) {
    v.Open(n.buffer, n.index);
    v.Level(n.level);
    v.Close();
  }
};

template <>
struct Form<RegisterTranspose> {
  static constexpr std::string_view kKeyword = "turn_square";
  static void Parts(auto& v, auto& n) { v.Place(n.registers, n.index); }
};

template <>
struct Form<CopyAsync> {
  static constexpr std::string_view kKeyword = "copy_async";
  static void Parts(auto& v, auto& n) {
    v.Place(n.to, n.to_index);
    v.Word("=");
    v.Open(n.from, n.from_index);
    v.Lanes(n.lanes);
    v.Mask(n.mask);
    v.Close();
  }
};

template <>
struct Form<LoadMatrix> {
  static constexpr std::string_view kKeyword = "load_matrix";
  static void Parts(auto& v, auto& n) {
    v.Flag("transposed", n.transposed);
    v.Place(n.to, n.to_index);
    v.Word("=");
    v.Place(n.from, n.from_index);
  }
};

template <>
struct Form<LoadPeer> {
  static constexpr std::string_view kKeyword = "load_peer";
  static void Parts(auto& v, auto& n) {
    v.Place(n.to, n.to_index);
    v.Word("=");
    v.Place(n.from, n.from_index);
    v.Word("of");
    v.Index(n.rank);
  }
};

template <>
struct Form<Mma> {
  static constexpr std::string_view kKeyword = "mma";
  static void Parts(auto& v, auto& n) {
    v.Place(n.c, n.c_index);
    v.Word("+=");
    v.Place(n.a, n.a_index);
    v.Word("*");
    v.Place(n.b, n.b_index);
    v.Part("part", n.part);
  }
};

template <>
struct Form<WarpgroupMma> {
  static constexpr std::string_view kKeyword = "warpgroup_mma";
  static void Parts(auto& v, auto& n) {
    v.Place(n.c, n.c_index);
    v.Either("+=", "=", n.adds);
    v.Place(n.a, n.a_index);
    v.Word("*");
    v.Place(n.b, n.b_index);
    v.Attribute("columns", n.columns, "number of columns");
    v.Part("across", n.across);
  }
};

template <>
struct Form<Arrive> {
  static constexpr std::string_view kKeyword = "arrive";
  static void Parts(auto& v, auto& n) {
    v.Variable(n.var);
    v.Word("=");
    v.Place(n.counter, n.index);
    v.Word("of");
    v.Int(n.of);
  }
};

// Each kind of Sync, in the order of the enumerators. Its keyword is followed by a count if
// `counted` names one.
struct SyncForm {
  SyncKind kind;
  std::string_view keyword;
  const char* counted = nullptr;
};
inline constexpr std::array kSyncForms = std::to_array<SyncForm>({
    {SyncKind::kBarrier, "barrier"},
    {SyncKind::kWarpBarrier, "warp_barrier"},
    {SyncKind::kCommitCopies, "commit_copies"},
    {SyncKind::kWaitCopies, "wait_copies", "number of groups"},
    {SyncKind::kFenceTiles, "fence_tiles"},
    {SyncKind::kWaitProducts, "wait_products", "number of products"},
    {SyncKind::kAwaitInputs, "await_inputs"},
    {SyncKind::kReleaseDependents, "release_dependents"},
    {SyncKind::kClusterBarrier, "cluster_barrier"},
    {SyncKind::kMakeTensorMaps, "make_tensor_maps"},
    {SyncKind::kSetRegisters, "set_registers", "number of registers"},
});

// Calls visit.operator()<Node>() for every statement with a form until one returns true.
bool AnyForm(auto visit) {
  const auto one = [&]<typename Node>() {
    if constexpr (HasForm<Node>) return visit.template operator()<Node>();
    return false;
  };
  return [&]<typename... Nodes>(const std::variant<Nodes...>* /*all*/) {
    return (one.template operator()<Nodes>() || ...);
  }(static_cast<const decltype(Stmt::node)*>(nullptr));
}

}  // namespace mlc::ir
