#include "costmodel/forest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <string>

#include "base/check.h"

namespace mlc::costmodel {
namespace {

constexpr uint32_t kDeepest = 12;
// Rows that walk down a tree together: their loads overlap.
constexpr size_t kTogether = 16;

struct Node {
  bool leaf = false;
  float value = 0;  // of the leaf, or what the feature is compared with
  uint32_t feature = 0;
  int yes = 0, no = 0;
};
using Nodes = std::map<int, Node>;

// Reads one dumped tree.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool Read(Nodes& nodes) {
    while (Skip(), !text_.empty()) {
      int number = 0;
      Node node;
      if (!Number(number) || !Accept(":")) return false;
      if (Accept("leaf=")) {
        node.leaf = true;
        if (!Number(node.value)) return false;
      } else if (!Split(node)) {
        return false;
      }
      nodes[number] = node;
    }
    return !nodes.empty();
  }

 private:
  bool Split(Node& node) {
    int missing = 0;
    return Accept("[f") && Number(node.feature) && Accept("<") && Number(node.value) &&
           Accept("] yes=") && Number(node.yes) && Accept(",no=") && Number(node.no) &&
           Accept(",missing=") && Number(missing);
  }
  void Skip() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size())); }
  bool Accept(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  template <typename T>
  bool Number(T& value) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return true;
  }

  std::string_view text_;
};

// The depth of the tree below `number`, or more than kDeepest if it is no tree.
uint32_t DepthOf(const Nodes& nodes, int number, uint32_t above = 0) {
  const auto found = nodes.find(number);
  if (found == nodes.end() || above > kDeepest) return kDeepest + 1;
  if (found->second.leaf) return above;
  return std::max(DepthOf(nodes, found->second.yes, above + 1),
                  DepthOf(nodes, found->second.no, above + 1));
}

}  // namespace

Result<Forest> Forest::Parse(std::span<const char* const> trees, size_t columns) {
  std::vector<Nodes> parsed(trees.size());
  Forest forest;
  forest.columns_ = columns;
  forest.trees_ = trees.size();
  for (size_t t = 0; t < trees.size(); ++t) {
    const bool read = Reader(trees[t]).Read(parsed[t]);
    const uint32_t depth = read ? DepthOf(parsed[t], 0) : kDeepest + 1;
    const bool known = std::all_of(parsed[t].begin(), parsed[t].end(), [&](const auto& entry) {
      return entry.second.leaf || entry.second.feature < columns;
    });
    if (depth > kDeepest || !known) {
      return InvalidArgument("not a dumped tree of " + std::to_string(columns) + " columns: '" +
                             std::string(trees[t]).substr(0, 80) + "'");
    }
    forest.depth_ = std::max(forest.depth_, depth);
  }
  const size_t width = size_t{1} << forest.depth_;
  forest.splits_.resize(trees.size() * (width - 1));
  forest.leaves_.resize(trees.size() * width);
  for (size_t t = 0; t < trees.size(); ++t) {
    const std::span<Split> splits = std::span(forest.splits_).subspan(t * (width - 1), width - 1);
    const std::span<float> leaves = std::span(forest.leaves_).subspan(t * width, width);
    // By place, the node that stands there; a leaf above the last level stands for all below it.
    std::vector<const Node*> places(2 * width - 1);
    places[0] = &parsed[t].at(0);
    for (size_t i = 0; i + 1 < width; ++i) {
      const Node& node = *places[i];
      splits[i] = node.leaf ? Split{std::numeric_limits<float>::infinity(), 0}
                            : Split{node.value, node.feature};
      places[2 * i + 1] = node.leaf ? &node : &parsed[t].at(node.yes);
      places[2 * i + 2] = node.leaf ? &node : &parsed[t].at(node.no);
    }
    for (size_t i = 0; i < width; ++i) leaves[i] = places[width - 1 + i]->value;
  }
  return forest;
}

void Forest::Predict(std::span<const float> features, std::span<float> out) const {
  MLC_CHECK(features.size() == columns_ * out.size()) << "rows of features and results";
  const size_t width = size_t{1} << depth_;
  for (size_t first = 0; first < out.size(); first += kTogether) {
    const size_t rows = std::min(kTogether, out.size() - first);
    const float* row = features.data() + first * columns_;
    std::array<float, kTogether> sum{};
    for (size_t t = 0; t < trees_; ++t) {
      const Split* splits = splits_.data() + t * (width - 1);
      const float* leaves = leaves_.data() + t * width;
      std::array<uint32_t, kTogether> place{};
      for (uint32_t level = 0; level < depth_; ++level) {
        for (size_t r = 0; r < rows; ++r) {
          const Split& split = splits[place[r]];
          const bool left = row[r * columns_ + split.feature] < split.below;
          place[r] = 2 * place[r] + 2 - static_cast<uint32_t>(left);
        }
      }
      for (size_t r = 0; r < rows; ++r) sum[r] += leaves[place[r] - (width - 1)];
    }
    std::copy_n(sum.begin(), rows, out.begin() + static_cast<int64_t>(first));
  }
}

}  // namespace mlc::costmodel
