// Dimensions whose length depends on data: a run computes it. In the graph, a value with such a
// dimension has room for the most elements that there may be; those that there are lie first, and a
// slice shows where the room ends. Importing a model with other lengths than the most gives the
// graph of a run with these lengths, by which the compiler proves what it makes of the model.
// Not thread-safe; lives for one import.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

// What the importer says of one of them.
struct CountedDim {
  std::string name;          // of the node that decides it, for messages
  int64_t most = 0;          // elements that there may be
  int64_t length = 0;        // elements in this import
  ValueId count = kNoValue;  // i64[1]: elements in a run
};

class CountedDims {
 public:
  // `lengths`: of the first dimensions; the others have their most. Without `allowed`, adding one
  // fails.
  CountedDims(bool allowed, std::vector<int64_t> lengths)
      : allowed_(allowed), lengths_(std::move(lengths)) {}

  // The node that dimensions are added for from now on: its name, or that of its first result.
  void Enter(std::string_view node) { node_ = node; }

  // The places of what is true in a vector.
  struct Places {
    ValueId places = kNoValue;  // i64, as many as there are
    ValueId room = kNoValue;    // before the cut
    int dim = -1;               // none if the vector is constant
  };
  // Equal vectors share their dimension.
  Places PlacesOf(Builder& b, ValueId condition);
  // Whether x differs from zero, as a vector; one value for each x.
  ValueId ConditionOf(Builder& b, ValueId x);
  // A dimension of `given` elements, a run-time number, at most `most` of them.
  int LimitOf(Builder& b, ValueId given, int64_t most);

  // The first elements of `x` along the axis, as many as the dimension has. LimitOf: `x` has
  // `most`.
  ValueId Cut(Builder& b, ValueId x, int64_t axis, int dim) const;
  ValueId Cut(Builder& b, ValueId x, int64_t axis, const Places& like) const;

  const std::vector<CountedDim>& dims() const { return dims_; }

 private:
  // Room for fewer elements does not tell a length from a constant.
  static constexpr int64_t kLeastRoom = 4;

  // Adds a dimension of `most` elements, kLeastRoom at least, and returns its number. Fails
  // the builder if the import allows none, or if there are too many.
  int Add(Builder& b, ValueId count, int64_t most);

  bool allowed_;
  std::string_view node_;
  std::vector<int64_t> lengths_;
  std::vector<CountedDim> dims_;
  std::map<ValueId, Places> places_;
  std::map<ValueId, ValueId> conditions_;
  std::map<std::pair<ValueId, int64_t>, int> limits_;
};

}  // namespace mlc::graph::onnx
