// The speed that probes of a machine are compared with. It is the best speed seen, if the machine
// reaches it most of the time. A machine with many CPUs that shares its cores with other guests
// rarely does: all cores are free at once only for moments, and a model will not run at that speed.
// There, the reference is the usual speed. A value; not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "base/process/bytes.h"

namespace mlc::worker {

class ReferenceSpeed {
 public:
  // `best`: the best speed known before, in GFLOP/s; 0 if unknown.
  explicit ReferenceSpeed(double best = 0) : best_(best) {}

  // Adds a probe to the usual speed. The moment of the probe must not be chosen for its speed.
  void Record(double gflops);
  // The ratio of `gflops` to the best speed or, on a shared machine, to the usual speed (or its
  // inverse if that is below 1). In (0, 1]; 1 without a reference.
  double Closeness(double gflops);
  // True if the usual speed is far below the best one.
  bool IsShared() const { return shared_; }
  double best() const { return best_; }

  void PutInto(ByteWriter& out) const;
  // False if the bytes are not those of a valid value: `in` comes from a process that ran generated
  // code.
  bool GetFrom(ByteReader& in);

 private:
  void FindUsual();

  double best_;
  double usual_ = 0;  // the median of the probes
  bool shared_ = false;
  std::vector<double> probes_;  // ring of the newest probes
  size_t next_ = 0;
};

}  // namespace mlc::worker
