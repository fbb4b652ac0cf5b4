// The speed that probes of a machine are compared with: the best one seen, as long as the machine
// mostly reaches it. A machine with many CPUs whose neighbours use the same cores hardly ever does:
// all of them are free at once for moments only, and times taken in such moments are not what a
// model will meet. There the reference is the usual speed. A value; not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "base/process/bytes.h"

namespace mlc::worker {

class ReferenceSpeed {
 public:
  // `best`: known before; 0 if not.
  explicit ReferenceSpeed(double best = 0) : best_(best) {}

  // Adds a probe to the usual speed; it has to be taken at a moment that was not chosen for its
  // speed.
  void Record(double gflops);
  // How close `gflops` is, from below or above, to the best speed or, on a shared machine, to the
  // usual one. In (0, 1]; 1 without a speed.
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
  double usual_ = 0;  // the median of the probes
  bool shared_ = false;
  std::vector<double> probes_;  // the newest, as a ring
  size_t next_ = 0;
};

}  // namespace mlc::worker
