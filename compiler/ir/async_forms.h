// The text forms of the statements of async.h; statement_forms.h says what visits them. No state.
#pragma once

#include <string_view>

#include "compiler/ir/async.h"
#include "compiler/ir/form.h"

namespace mlc::ir {

template <>
struct Form<MbarrierInit> {
  static constexpr std::string_view kKeyword = "mbarrier_init";
  static void Parts(auto& v, auto& n) {
    v.Place(n.barrier, n.index);
    v.Word("of");
    v.Int(n.arrivals);
  }
};

template <>
struct Form<MbarrierArrive> {
  static constexpr std::string_view kKeyword = "mbarrier_arrive";
  static void Parts(auto& v, auto& n) {
    v.Place(n.barrier, n.index);
    v.Optional("of", n.rank);
    v.Part("bytes", n.bytes);
  }
};

template <>
struct Form<MbarrierWait> {
  static constexpr std::string_view kKeyword = "mbarrier_wait";
  static void Parts(auto& v, auto& n) {
    v.Place(n.barrier, n.index);
    v.Word("parity");
    v.Index(n.parity);
  }
};

template <>
struct Form<CopyBulk> {
  static constexpr std::string_view kKeyword = "copy_bulk";
  static void Parts(auto& v, auto& n) {
    v.Place(n.to, n.to_index);
    v.Word("=");
    v.Place(n.from, n.from_index);
    v.Attribute("elements", n.elements, "number of elements");
    v.Word("signals");
    v.Place(n.barrier, n.barrier_index);
    v.Optional("ranks", n.ranks);
  }
};

template <>
struct Form<CopyTensor> {
  static constexpr std::string_view kKeyword = "copy_tensor";
  static void Parts(auto& v, auto& n) {
    v.Place(n.to, n.to_index);
    v.Word("=");
    v.Place(n.from, n.row);
    v.Word("along");
    v.Index(n.k);
    v.Attribute("box", n.box, "number of rows");
    v.Word("of");
    v.Int(n.rows);
    v.Word("by");
    v.Int(n.depth);
    v.Word("pitch");
    v.Int(n.pitch);
    v.Part("step", n.step);
    v.Each("over", n.outer, [&](auto& axis) {
      v.Index(axis.at);
      v.Attribute("box", axis.box, "number of rows");
      v.Word("of");
      v.Int(axis.extent);
      v.Word("pitch");
      v.Int(axis.pitch);
      v.Part("step", axis.step);
    });
    v.Word("signals");
    v.Place(n.barrier, n.barrier_index);
    v.Optional("ranks", n.ranks);
  }
};

}  // namespace mlc::ir
