#include "compiler/graph/physical/layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/image_convolution.h"
#include "compiler/graph/physical/layout_cost.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

using Order = std::vector<int>;

constexpr int kRounds = 6;

class LayoutSearch {
 public:
  LayoutSearch(const Graph& graph, const PlaceRules& rules)
      : graph_(graph),
        orders_(static_cast<size_t>(graph.size())),
        users_(graph.Users()),
        keeps_order_(rules.keeps_order),
        cost_(graph, orders_, rules) {}

  const std::vector<Order>& Run() {
    Start();
    for (int round = 0; round < kRounds; ++round) {
      bool changed = false;
      for (ValueId id = 0; id < graph_.size(); ++id) {
        if (Chosen(id)) changed |= Improve(id);
      }
      if (!changed) break;
    }
    return orders_;
  }

 private:
  bool Chosen(ValueId id) const { return !IsSource(graph_[id]) && !IsViewOp(graph_[id]); }

  // Whether a value starts with the order of a view.
  bool Follows(const Value& node, ValueId view) const {
    if (!IsViewOp(graph_[view])) return false;
    if (NormalisesImage(node)) return true;
    return keeps_order_ && graph_[view].type.dims == node.type.dims && cost_.IsWhole(view);
  }

  // Windows start channels-last, pointwise values like their first full operand, norms of images
  // like theirs even if it is a view, others dense.
  void Start() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (!Chosen(id)) continue;
      const Value& node = graph_[id];
      Order order = DenseOrder(node.type.rank());
      const bool window = node.op == Op::kConv || node.op == Op::kPool;
      if (window && node.type.rank() >= 3) order = ChannelsLastOrder(node.type.rank());
      if (!window) {
        for (ValueId operand : node.operands) {
          if (operand == kNoValue || graph_[operand].type.rank() != node.type.rank()) continue;
          const Order& theirs = orders_[static_cast<size_t>(operand)];
          const bool seen = Follows(node, operand);
          if (theirs.empty() && !seen) continue;
          order = seen ? cost_.OrderOf(operand) : theirs;
          break;
        }
      }
      orders_[static_cast<size_t>(id)] = std::move(order);
    }
  }

  std::vector<Order> Candidates(ValueId id) const {
    const Value& node = graph_[id];
    const int rank = node.type.rank();
    std::vector<Order> result = {orders_[static_cast<size_t>(id)], DenseOrder(rank)};
    const auto add = [&](Order order) {
      if (std::find(result.begin(), result.end(), order) == result.end()) {
        result.push_back(std::move(order));
      }
    };
    if (rank >= 3) add(ChannelsLastOrder(rank));
    // The heads of a token together: as channels, if the reader is a convolution.
    if (node.op == Op::kAttention && rank == 4) add({0, 2, 1, 3});
    for (ValueId operand : node.operands) {
      if (operand != kNoValue && graph_[operand].type.rank() == rank) {
        if (!orders_[static_cast<size_t>(operand)].empty()) {
          add(orders_[static_cast<size_t>(operand)]);
        }
      }
    }
    for (ValueId user : users_[static_cast<size_t>(id)]) {
      const Value& reader = graph_[user];
      if (reader.op == Op::kTranspose) {
        // The transposed value row-major, or channels-last.
        const std::vector<int64_t>& perm = reader.Ints("perm");
        add(Order(perm.begin(), perm.end()));
        Order channels_last;
        for (int dim : ChannelsLastOrder(rank)) {
          channels_last.push_back(static_cast<int>(perm[static_cast<size_t>(dim)]));
        }
        add(std::move(channels_last));
      } else if (reader.type.rank() == rank && !orders_[static_cast<size_t>(user)].empty()) {
        add(orders_[static_cast<size_t>(user)]);
      }
    }
    return result;
  }

  bool Improve(ValueId id) {
    const std::vector<Order> candidates = Candidates(id);
    size_t best = 0;
    double best_cost = cost_.Of(id, candidates[0]);
    for (size_t i = 1; i < candidates.size(); ++i) {
      const double cost = cost_.Of(id, candidates[i]);
      if (cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    if (best == 0) return false;
    orders_[static_cast<size_t>(id)] = candidates[best];
    return true;
  }

  const Graph& graph_;
  std::vector<Order> orders_;
  std::vector<std::vector<ValueId>> users_;
  const bool keeps_order_;
  LayoutCost cost_;
};

}  // namespace

bool ReadsAnyLayout(const Graph& graph, const Value& conv, const PlaceRules& rules) {
  const TensorType& image = graph[conv.operands[0]].type;
  if (rules.reads_images && IsImageConvolution(conv, image, graph[conv.operands[1]].type)) {
    return true;
  }
  return image.dims[1] <= rules.few_channels && image.dtype != DType::kU8;
}

Result<Graph> ChooseLayouts(Graph graph, const PlaceRules& rules) {
  LayoutSearch search(graph, rules);
  const std::vector<Order> orders = search.Run();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Order& order = orders[static_cast<size_t>(id)];
    if (order.empty()) continue;
    TensorType& type = graph[id].type;
    type.strides = StridesOfOrder(type.dims, order);
    type = Canonical(type);
  }
  return graph;
}

}  // namespace mlc::graph
