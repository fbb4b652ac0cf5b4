// The cost model of layouts: what one value's order of dimensions costs its producer and its users,
// in bytes moved. Shared by the search in layout.cc. Borrows the graph; not thread-safe.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

class LayoutCost {
 public:
  // `orders[v]`: dimensions of computed value v from outermost to innermost; empty means dense. The
  // caller changes it between calls.
  LayoutCost(const Graph& graph, const std::vector<std::vector<int>>& orders,
             const PlaceRules& rules);

  // The cost, in bytes, of the order for the value's producer and for its users, direct or through
  // views.
  double Of(ValueId value, const std::vector<int>& order) const;
  // The cost, in bytes, for the users of a value with this view.
  double OfSeen(ValueId value, const StridedView& view) const { return UsersCost(value, view); }
  // The memory order of a view under the current orders.
  std::vector<int> OrderOf(ValueId view) const;
  // Whether a view of a computed value repeats no element.
  bool IsWhole(ValueId view) const;

 private:
  double ProducerCost(const Value& node, const StridedView& result) const;
  double UsersCost(ValueId value, const StridedView& view) const;
  double UserCost(const Value& user, size_t slot, const StridedView& operand) const;
  // The storage of a value under the current orders; a reshape that must copy starts new storage.
  StridedView Locate(ValueId value) const;
  TensorType Stored(ValueId value) const;

  const Graph& graph_;
  const PlaceRules rules_;
  const std::vector<std::vector<int>>& orders_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<bool> is_output_;
};

// True for a layer norm over several dimensions without parameters, which accepts any order of
// them.
bool NormalisesImage(const Value& node);

// The dimension of size above one with the smallest stride; -1 if there is none.
int InnermostDim(const TensorType& type);

}  // namespace mlc::graph
