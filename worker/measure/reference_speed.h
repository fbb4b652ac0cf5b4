// What the speed of a machine is compared with while kernels are timed: the best that was seen, as
// long as the machine mostly is that fast. A machine with many processors whose neighbours use the
// same cores hardly ever is: all of them are free at once for moments only, and times taken in such
// moments are not what a model will meet. There the usual speed is the measure. A value; not
// thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "base/process/bytes.h"

namespace mlc::worker {

class ReferenceSpeed {
 public:
  // `best`: known before; 0 if not.
  explicit ReferenceSpeed(double best = 0) : best_(best) {}

  // Takes part in the usual speed: a look at a moment that was not chosen for its speed.
  void Note(double gflops);
  // Of the usual speed or, on a machine that mostly is that fast, of the best: how close `gflops`
  // is to it from below or above. In (0, 1]; 1 without a speed.
  double Closeness(double gflops);
  // Whether the usual speed is far below the best.
  bool IsShared() const { return shared_; }
  double best() const { return best_; }

  void PutInto(ByteWriter& out) const;
  // False if no process of ours can have written it: `in` comes from one that ran generated code.
  bool GetFrom(ByteReader& in);

 private:
  void FindUsual();

  double best_;
  double usual_ = 0;  // the median of the looks
  bool shared_ = false;
  std::vector<double> looks_;  // the newest, as a ring
  size_t next_ = 0;
};

}  // namespace mlc::worker
