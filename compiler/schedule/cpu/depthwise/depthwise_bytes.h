// Depthwise convolutions of bytes. A word holds up to four bytes of one channel, from rows of the
// input that lie under each other; a dot product of words (ScalarOp::kDot4) meets all taps of one
// column of a filter, and neighbouring rows of the output share words. Pure; thread-safe.
//
//   filters   [block][depth tap][column][part of a column][first byte of the part][width]   i32
//
// A part is up to four taps of a column. It is stored for each byte of a word that it may begin at.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/cpu/depthwise/depthwise_lower.h"
#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

constexpr int kTapsOfWord = 4;

// Rows of the input, counted from the first tap of a tile's first row; false where a byte is zero.
struct TapWord {
  int64_t first = 0;
  std::array<bool, kTapsOfWord> inside = {};

  int Bytes() const;
};

// Output row `row` of a tile multiplies part `part` of its columns, at byte `begin`, with `word`.
struct TapUse {
  int row = 0;
  int part = 0;
  int begin = 0;
  size_t word = 0;
};

struct TapWords {
  std::vector<TapWord> words;
  std::vector<TapUse> uses;
};

// Of a tile of `rows` outputs along an axis, which meet the taps of `runs`.
TapWords WordsOf(const RowAxis& axis, int rows, const std::vector<TapRun>& runs);
// The same of a tile away from all edges.
TapWords WordsInside(const RowAxis& axis, int rows);

// Words of all filters as they are packed, and of one column of a filter.
int64_t FilterWords(const ContractionProblem& problem, const DepthwisePlan& plan);
int64_t ColumnWords(const ContractionProblem& problem);

// Emits the phase that packs `source` into `packed`.
void EmitPackWords(const ContractionProblem& problem, const DepthwisePlan& plan,
                   ir::BufferId source, ir::BufferId packed, ir::KernelBuilder& builder);

// The word whose byte i is in lanes i of `bytes`; null is zero.
ir::ExprRef JoinBytes(const std::array<ir::ExprRef, kTapsOfWord>& bytes, int lanes);

}  // namespace mlc::schedule
