// The decisions of a config of the fixed_point family, and how rows and columns are cut. A value;
// the functions are pure.
//
// A group is the steps of k whose row elements share a factor: 32, or 16 where a block of the
// columns is no multiple of 32. Word w of a group holds in its byte t, part j (bits j * bits and
// up) the code of step t * group / 4 + j * words + w, so that a row's elements are read in order.
#pragma once

#include <cstdint>

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

inline constexpr int kDigitBits = 7;

struct FixedPointPlan {
  int lanes = 16;
  int rows = 1;     // of a tile
  int vectors = 1;  // of a tile's columns
  int64_t column_chunks = 1;
  int64_t prefetch = 0;  // cache lines ahead

  // Of a row's element, seven bits each. With three, 21 bits and a sign, sums err as those of f32
  // do; with one, as those of rows that were rounded to 8 bits.
  int digits = 3;
  int parts = 1;       // codes of a byte
  int64_t group = 32;  // steps of k
  int64_t groups = 1;
  int64_t groups_a_block = 1;
  int64_t panels = 1;

  int64_t width() const { return int64_t{vectors} * lanes; }
  int64_t words() const { return group / (4 * parts); }  // of codes, of a column's group
  int64_t digit_words() const { return group / 4; }      // of each digit of a row's group
  int64_t panel_words() const { return groups * words() * width(); }
  // Vector registers that a tile needs.
  int64_t registers(bool zeros) const {
    const int64_t sums = int64_t{rows} * vectors;
    return sums * (digits + 1) + vectors * (parts > 1 ? 2 : 1) + (parts > 1 ? 1 : 0) +
           (zeros ? vectors : 0);
  }
};

// Whether the product may round its rows to 8 bits: where the model allows it (precision=i8), and
// so does the tolerance.
bool MayRoundRows(const graph::Workload& workload, const ContractionProblem& problem);

// Steps of k of a group; 0 if the columns' blocks cannot be cut into groups.
int64_t GroupOf(const ContractionProblem& problem);

FixedPointPlan MakeFixedPointPlan(const graph::Workload& workload,
                                  const ContractionProblem& problem, const target::Target& target,
                                  const Config& config);

}  // namespace mlc::schedule
