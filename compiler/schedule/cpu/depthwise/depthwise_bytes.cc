#include "compiler/schedule/cpu/depthwise/depthwise_bytes.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/depthwise/depthwise_pack.h"

namespace mlc::schedule {

using ir::ExprRef;

namespace {

ExprRef Splat(int64_t value, int lanes) {
  const auto one = std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
  return ir::MakeBroadcast(one, lanes);
}

int64_t Parts(const RowAxis& axis) { return CeilDiv(axis.taps, kTapsOfWord); }

int TapsOfPart(const RowAxis& axis, int64_t part) {
  return static_cast<int>(std::min<int64_t>(kTapsOfWord, axis.taps - part * kTapsOfWord));
}

// The word of `words` that has the inputs of `taps` taps from `first` on, a new one if none has.
size_t WordWith(std::vector<TapWord>& words, const RowAxis& axis, int64_t first, int taps) {
  const auto holds = [&](const TapWord& word) {
    const int64_t begin = first - word.first;
    return begin >= 0 && begin % axis.dilation == 0 && begin / axis.dilation + taps <= kTapsOfWord;
  };
  const auto found = std::find_if(words.begin(), words.end(), holds);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  words.push_back({first, {}});
  return words.size() - 1;
}

}  // namespace

int TapWord::Bytes() const {
  return static_cast<int>(std::count(inside.begin(), inside.end(), true));
}

TapWords WordsOf(const RowAxis& axis, int rows, const std::vector<TapRun>& runs) {
  std::set<int64_t> inputs;
  for (const TapRun& run : runs) {
    for (int64_t tap = run.tap_begin; tap < run.tap_end; ++tap) {
      for (int row = run.row_begin; row < run.row_end; ++row) {
        inputs.insert(row * axis.stride + tap * axis.dilation);
      }
    }
  }
  TapWords result;
  for (int row = 0; row < rows; ++row) {
    for (int part = 0; part < Parts(axis); ++part) {
      const int64_t first = row * axis.stride + int64_t{part} * kTapsOfWord * axis.dilation;
      const int taps = TapsOfPart(axis, part);
      bool meets = false;
      for (int tap = 0; tap < taps; ++tap) {
        meets = meets || inputs.contains(first + tap * axis.dilation);
      }
      if (!meets) continue;
      const size_t word = WordWith(result.words, axis, first, taps);
      const auto begin = static_cast<int>((first - result.words[word].first) / axis.dilation);
      result.uses.push_back({row, part, begin, word});
      for (int tap = 0; tap < taps; ++tap) {
        if (!inputs.contains(first + tap * axis.dilation)) continue;
        result.words[word].inside[static_cast<size_t>(begin + tap)] = true;
      }
    }
  }
  return result;
}

TapWords WordsInside(const RowAxis& axis, int rows) {
  return WordsOf(axis, rows, {{0, axis.taps, 0, rows}});
}

int64_t ColumnWords(const ContractionProblem& p) { return Parts(p.outer[1]) * kTapsOfWord; }

int64_t FilterWords(const ContractionProblem& p, const DepthwisePlan& plan) {
  return plan.blocks * p.outer[0].taps * p.inner.taps * ColumnWords(p) * plan.width();
}

ExprRef JoinBytes(const std::array<ExprRef, kTapsOfWord>& bytes, int lanes) {
  ExprRef word;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!bytes[i]) continue;
    const int64_t weight = static_cast<int32_t>(1u << (8 * i));
    const ExprRef placed =
        i == 0 ? bytes[i] : ir::MakeApply(ScalarOp::kMul, {bytes[i], Splat(weight, lanes)});
    word = word ? ir::MakeApply(ScalarOp::kOr, {word, placed}) : placed;
  }
  return word ? word : Splat(0, lanes);
}

void EmitPackWords(const ContractionProblem& p, const DepthwisePlan& plan, ir::BufferId source,
                   ir::BufferId packed, ir::KernelBuilder& b) {
  const RowAxis& height = p.outer[1];
  const auto tap_at = [&](const ExprRef& at, const ExprRef& channel, int64_t tap) {
    const ExprRef from = at + channel * p.column_stride + tap * height.tap_stride;
    const ExprRef value = b.Load(source, from, plan.lanes, std::max<int64_t>(1, p.column_stride),
                                 ActiveFrom(plan, channel, plan.lanes));
    return ir::MakeApply(ScalarOp::kAnd,
                         {ir::MakeCast(DType::kI32, value), Splat(255, plan.lanes)});
  };
  const auto column = [&](const ExprRef& at, const ExprRef& to, const ExprRef& channel) {
    for (int64_t part = 0; part < Parts(height); ++part) {
      for (int begin = 0; begin < kTapsOfWord; ++begin) {
        std::array<ExprRef, kTapsOfWord> bytes;
        for (int tap = 0; tap < TapsOfPart(height, part) && begin + tap < kTapsOfWord; ++tap) {
          bytes[static_cast<size_t>(begin + tap)] = tap_at(at, channel, part * kTapsOfWord + tap);
        }
        b.Store(packed, to + (part * kTapsOfWord + begin) * plan.width(),
                JoinBytes(bytes, plan.lanes));
      }
    }
  };
  b.Parallel("block", plan.blocks, [&](const ExprRef& block) {
    b.For("kd", p.outer[0].taps, [&](const ExprRef& kd) {
      b.For("kw", p.inner.taps, [&](const ExprRef& kw) {
        const ExprRef at = kd * p.outer[0].tap_stride + kw * p.inner.tap_stride;
        const ExprRef tap = (block * p.outer[0].taps + kd) * p.inner.taps + kw;
        b.Unrolled("v", plan.vectors, [&](const ExprRef& v) {
          const ExprRef lane = v * int64_t{plan.lanes};
          column(at, tap * (ColumnWords(p) * plan.width()) + lane, block * plan.width() + lane);
        });
      });
    });
  });
}

}  // namespace mlc::schedule
