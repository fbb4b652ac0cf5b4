// Which values are computed when a model is read. A large value stays a node, so at another size
// the same model could have other nodes. Reads with one object all compute what the first one did.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

namespace mlc::graph::onnx {

class Folds {
 public:
  // `keeps_starts`: positions that count from a number stay a sum of it and of 0, 1, ..., and what
  // is computed of them stays nodes. So a length that they count from can be given at run time.
  explicit Folds(bool keeps_starts = false) : keeps_starts_(keeps_starts) {}
  bool keeps_starts() const { return keeps_starts_; }

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
  const bool keeps_starts_;
  bool is_first_ = false;
  size_t next_ = 0;
  std::vector<bool> small_;
};

}  // namespace mlc::graph::onnx
