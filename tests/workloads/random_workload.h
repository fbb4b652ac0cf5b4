// What a generator of random workloads gives: a text, and what its check has to know. A value.
#pragma once

#include <string>

namespace mlc::schedule {

struct RandomWorkload {
  std::string text;
  double tolerance = 1e-5;  // of f32 outputs, relative to the largest reference value
  int masked_operand = -1;  // the operand that mask_share is about
  double mask_share = 0;    // of its elements that are -infinity
  int count_operand = -1;   // that holds `count`
  int64_t count = 0;        // of keys, operands 1 and 2, behind which these are NaN
};

}  // namespace mlc::schedule
