// Which values are computed when a model is read. A large value stays a node, so at another size
// the same model could have other nodes. Reads with one object all compute what the first one did.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

namespace mlc::graph::onnx {

class Folds {
 public:
  // A read begins.
  void Begin() {
    is_first_ = !was_read_;
    was_read_ = true;
    next_ = 0;
  }
  // Whether the next value in the order of the file may be computed. `is_small`: by its own size.
  bool May(bool is_small) {
    if (is_first_) small_.push_back(is_small);
    const size_t at = next_++;
    return at < small_.size() ? small_[at] : is_small;
  }

 private:
  bool was_read_ = false;
  bool is_first_ = false;
  size_t next_ = 0;
  std::vector<bool> small_;
};

}  // namespace mlc::graph::onnx
