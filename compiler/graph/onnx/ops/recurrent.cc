// LSTM, GRU and RNN, unrolled over the steps of the sequence: the operand is multiplied by its
// weights for all steps at once; what depends on the state is one product a step and direction.
#include <algorithm>

#include "compiler/graph/onnx/ops/gate_activation.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxSteps = 4096;
constexpr int64_t kMaxHidden = int64_t{1} << 20;

// A matrix that rows are multiplied by, transposed.
struct Weights {
  ValueId values = kNoValue;  // [outputs, inputs]
  // If they are of 8 bits: [outputs] or scalar, and the rows are quantised, too.
  ValueId scale = kNoValue;
};

// What the cells have in common. The sequence comes first, then the batch.
struct Sequence {
  ValueId x = kNoValue;        // [steps, batch, input]
  ValueId w = kNoValue;        // [directions, gates * hidden, input]
  ValueId r = kNoValue;        // [directions, gates * hidden, hidden]
  bool quantised = false;      // w and r are of 8 bits
  ValueId lengths = kNoValue;  // [batch, 1] of i64, if sequences end early
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  int64_t gates = 1;
  bool batch_first = false;
  bool reverse = false;  // of the only direction
  std::vector<GateActivation> activations;
};

// The cell's weights in one direction.
struct Direction {
  ValueId input_part = kNoValue;      // [steps, batch, gates * hidden]: x W^T and its bias
  Weights recurrent;                  // [gates * hidden, hidden]
  ValueId recurrent_bias = kNoValue;  // [gates * hidden], added to input_part unless kept apart
  ValueId peephole = kNoValue;        // [3 * hidden]
  std::span<const GateActivation> activations;
};

struct State {
  ValueId h = kNoValue;
  ValueId c = kNoValue;  // LSTM
};

using Cell = State (*)(OpContext& c, const Sequence& s, const Direction& d, ValueId input,
                       const State& state);

// One direction's slice of a packed operand, without the dimension of directions.
ValueId OfDirection(Builder& b, ValueId x, int64_t direction) {
  Dims dims = b.DimsOf(x);
  dims.erase(dims.begin());
  return b.Reshape(b.SliceAxis(x, 0, direction, 1), dims);
}

ValueId Gate(Builder& b, ValueId x, int64_t gate, int64_t hidden) {
  return b.SliceAxis(x, b.RankOf(x) - 1, gate * hidden, hidden);
}

ValueId TimesTransposed(Builder& b, ValueId x, ValueId w) {
  return b.MatMul(x, b.Transpose(w, {1, 0}));
}

ValueId Product(OpContext& c, ValueId rows, const Weights& w) {
  if (w.scale == kNoValue) return TimesTransposed(c.b, rows, w.values);
  return DynamicProduct(c, rows, c.b.Transpose(w.values, {1, 0}), w.scale);
}

State RnnCell(OpContext& c, const Sequence&, const Direction& d, ValueId input,
              const State& state) {
  const ValueId sum = c.b.Plus(input, Product(c, state.h, d.recurrent));
  return {d.activations[0].Apply(c.b, sum), kNoValue};
}

// Gates: update, reset, candidate.
State GruCell(OpContext& c, const Sequence& s, const Direction& d, ValueId input,
              const State& state) {
  Builder& b = c.b;
  const int64_t n = s.hidden;
  const bool linear_first = c.Flag("linear_before_reset", false);
  const ValueId all_weights = d.recurrent.values;
  const ValueId gate_weights = b.SliceAxis(all_weights, 0, 0, 2 * n);
  const ValueId last_weights = b.SliceAxis(all_weights, 0, 2 * n, n);
  const ValueId last_bias =
      d.recurrent_bias == kNoValue ? kNoValue : Gate(b, d.recurrent_bias, 2, n);
  const auto with_bias = [&](ValueId x) {
    return last_bias == kNoValue ? x : b.Plus(x, last_bias);
  };
  const ValueId product = TimesTransposed(b, state.h, linear_first ? all_weights : gate_weights);
  const auto part = [&](int64_t gate) {
    ValueId sum = b.Plus(Gate(b, input, gate, n), Gate(b, product, gate, n));
    if (d.recurrent_bias != kNoValue) sum = b.Plus(sum, Gate(b, d.recurrent_bias, gate, n));
    return d.activations[0].Apply(b, sum);
  };
  const ValueId update = part(0);
  const ValueId reset = part(1);
  const ValueId recalled =
      linear_first ? b.Times(reset, with_bias(Gate(b, product, 2, n)))
                   : with_bias(TimesTransposed(b, b.Times(reset, state.h), last_weights));
  const ValueId candidate = d.activations[1].Apply(b, b.Plus(Gate(b, input, 2, n), recalled));
  const ValueId kept = b.Times(update, b.Minus(state.h, candidate));
  return {b.Plus(candidate, kept), kNoValue};
}

// Gates: input, output, forget, cell.
State LstmCell(OpContext& c, const Sequence& s, const Direction& d, ValueId input,
               const State& state) {
  Builder& b = c.b;
  const int64_t n = s.hidden;
  const ValueId sum = b.Plus(input, Product(c, state.h, d.recurrent));
  const auto gate = [&](int64_t index, int64_t peephole, ValueId cell) {
    ValueId x = Gate(b, sum, index, n);
    if (d.peephole != kNoValue) x = b.Plus(x, b.Times(Gate(b, d.peephole, peephole, n), cell));
    return d.activations[0].Apply(b, x);
  };
  const ValueId in = gate(0, 0, state.c);
  const bool coupled = c.Flag("input_forget", false);
  const ValueId forget = coupled ? b.Minus(b.ScalarLike(in, 1), in) : gate(2, 2, state.c);
  const ValueId candidate = d.activations[1].Apply(b, Gate(b, sum, 3, n));
  const ValueId cell = b.Plus(b.Times(forget, state.c), b.Times(in, candidate));
  const ValueId out = gate(1, 1, cell);
  return {b.Times(out, d.activations[2].Apply(b, cell)), cell};
}

bool ReadActivations(OpContext& c, Sequence& s, std::vector<std::string> standard) {
  std::vector<std::string> names;
  if (const AttributeMessage* given = c.Attr("activations", AttrKind::kStrings)) {
    for (const std::string_view name : given->strings) names.emplace_back(name);
  }
  if (names.empty()) {
    for (int64_t i = 0; i < s.directions; ++i) {
      names.insert(names.end(), standard.begin(), standard.end());
    }
  }
  if (names.size() != standard.size() * static_cast<size_t>(s.directions)) {
    c.Fail("activations must have one entry a gate function and direction");
    return false;
  }
  std::optional<std::vector<GateActivation>> read =
      ReadGateActivations(c, names, c.Float("clip", 0));
  if (!read) return false;
  s.activations = *std::move(read);
  return true;
}

bool ReadSequence(OpContext& c, int64_t gates, std::vector<std::string> standard, Sequence& s) {
  Builder& b = c.b;
  s.x = c.In(0);
  s.w = c.In(1);
  s.r = c.In(2);
  if (!c.ok()) return false;
  if (b.RankOf(s.x) != 3 || b.RankOf(s.w) != 3 || b.RankOf(s.r) != 3) {
    c.Fail("the sequence and its weights must have rank 3");
    return false;
  }
  if (s.quantised) {
    s.w = b.Transpose(s.w, {0, 2, 1});
    s.r = b.Transpose(s.r, {0, 2, 1});
  }
  const std::string direction = c.Text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    c.Fail("the direction must be forward, reverse or bidirectional");
    return false;
  }
  s.reverse = direction == "reverse";
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.batch_first = c.Flag("layout", false);
  if (s.batch_first) s.x = b.Transpose(s.x, {1, 0, 2});
  s.steps = b.Dim(s.x, 0);
  s.batch = b.Dim(s.x, 1);
  s.gates = gates;
  s.hidden = b.Dim(s.r, 2);
  if (s.steps > kMaxSteps) {
    c.Unsupported("a sequence of more than " + std::to_string(kMaxSteps) + " steps");
    return false;
  }
  if (s.steps < 1 || s.batch < 1 || s.hidden < 1 || s.hidden > kMaxHidden) {
    c.Fail("the sequence, the batch or the state is empty or too large");
    return false;
  }
  if (b.DimsOf(s.w) != Dims{s.directions, gates * s.hidden, b.Dim(s.x, 2)} ||
      b.DimsOf(s.r) != Dims{s.directions, gates * s.hidden, s.hidden} ||
      (c.Has(3) && b.DimsOf(c.In(3)) != Dims{s.directions, 2 * gates * s.hidden})) {
    c.Fail("the weights do not fit the sequence and the state");
    return false;
  }
  return c.ok() && ReadActivations(c, s, std::move(standard));
}

// Sequences that all have the full length need no lengths.
void ReadLengths(OpContext& c, Sequence& s) {
  Builder& b = c.b;
  if (!c.Has(4)) return;
  const ValueId lengths = c.In(4);
  if (b.DimsOf(lengths) != Dims{s.batch}) return c.Fail("sequence_lens must have the batch's size");
  if (b.IsConstant(lengths)) {
    const Dims known = b.Ints(lengths, "sequence_lens");
    if (std::all_of(known.begin(), known.end(), [&](int64_t n) { return n == s.steps; })) return;
  }
  s.lengths = b.Reshape(b.Cast(lengths, DType::kI64), {s.batch, 1});
}

// One direction of the weights `packed`. Quantised ones have a scale and a zero point from operand
// `scale` on, one a direction or one an output of each.
Weights ReadWeights(OpContext& c, const Sequence& s, ValueId packed, int scale, int64_t direction) {
  Builder& b = c.b;
  const ValueId values = OfDirection(b, packed, direction);
  if (!s.quantised) return {values, kNoValue};
  const auto parameter = [&](int operand) {
    const ValueId given = c.In(operand);
    const Dims dims = b.DimsOf(given);
    if (dims != Dims{s.directions} && dims != Dims{s.directions, s.gates * s.hidden}) {
      c.Fail("a scale or a zero point does not fit the weights");
    }
    return c.ok() ? b.Cast(OfDirection(b, given, direction), DType::kF32) : kNoValue;
  };
  Weights w;
  w.scale = parameter(scale);
  const ValueId zero = parameter(scale + 1);
  if (!c.ok()) return w;
  const Dims column = {b.TypeOf(zero).NumElements(), 1};
  w.values = b.Minus(b.Cast(values, DType::kF32), b.Reshape(zero, column));
  return w;
}

Direction ReadDirection(OpContext& c, const Sequence& s, int64_t index, bool keeps_bias_apart) {
  Builder& b = c.b;
  Direction d;
  const size_t functions = s.activations.size() / static_cast<size_t>(s.directions);
  d.activations =
      std::span(s.activations).subspan(static_cast<size_t>(index) * functions, functions);
  const ValueId rows = b.Reshape(s.x, {s.steps * s.batch, b.Dim(s.x, 2)});
  ValueId part = Product(c, rows, ReadWeights(c, s, s.w, 8, index));
  d.recurrent = ReadWeights(c, s, s.r, 10, index);
  if (c.Has(3)) {
    const ValueId both = OfDirection(b, c.In(3), index);
    const int64_t size = s.gates * s.hidden;
    part = b.Plus(part, b.SliceAxis(both, 0, 0, size));
    const ValueId bias = b.SliceAxis(both, 0, size, size);
    if (keeps_bias_apart) {
      d.recurrent_bias = bias;
    } else {
      part = b.Plus(part, bias);
    }
  }
  d.input_part = b.Reshape(part, {s.steps, s.batch, s.gates * s.hidden});
  return d;
}

ValueId InitialState(OpContext& c, const Sequence& s, int operand, int64_t direction) {
  Builder& b = c.b;
  const Dims dims = {s.batch, s.hidden};
  if (!c.Has(operand)) return b.Expand(b.ScalarLike(s.x, 0), dims);
  ValueId given = c.In(operand);
  if (b.RankOf(given) == 3 && s.batch_first) given = b.Transpose(given, {1, 0, 2});
  if (b.DimsOf(given) != Dims{s.directions, s.batch, s.hidden}) {
    c.Fail("an initial state does not fit the batch and the state");
    return kNoValue;
  }
  return OfDirection(b, given, direction);
}

struct Walked {
  std::vector<ValueId> outputs;  // [1, batch, hidden], one a step
  State last;
};

// A sequence that has ended keeps its state and gives zeros.
Walked Walk(OpContext& c, const Sequence& s, const Direction& d, bool reverse, Cell cell,
            State state) {
  Builder& b = c.b;
  Walked walked;
  walked.outputs.resize(static_cast<size_t>(s.steps));
  const Dims row = {s.batch, s.gates * s.hidden};
  for (int64_t i = 0; i < s.steps && c.ok(); ++i) {
    const int64_t t = reverse ? s.steps - 1 - i : i;
    const ValueId input = b.Reshape(b.SliceAxis(d.input_part, 0, t, 1), row);
    State next = cell(c, s, d, input, state);
    ValueId output = next.h;
    if (s.lengths != kNoValue) {
      const ValueId runs = b.Apply(ScalarOp::kLess, {b.IntScalar(t), s.lengths});
      output = b.Select(runs, next.h, b.ScalarLike(next.h, 0));
      next.h = b.Select(runs, next.h, state.h);
      if (next.c != kNoValue) next.c = b.Select(runs, next.c, state.c);
    }
    state = next;
    walked.outputs[static_cast<size_t>(t)] = b.Reshape(output, {1, s.batch, s.hidden});
  }
  walked.last = state;
  return walked;
}

void Finish(OpContext& c, const Sequence& s, const std::vector<Walked>& walks) {
  Builder& b = c.b;
  std::vector<ValueId> ys;
  std::vector<ValueId> hs;
  std::vector<ValueId> cs;
  const Dims state_dims = {1, s.batch, s.hidden};
  for (const Walked& walked : walks) {
    hs.push_back(b.Reshape(walked.last.h, state_dims));
    if (walked.last.c != kNoValue) cs.push_back(b.Reshape(walked.last.c, state_dims));
    if (!c.IsOutputUsed(0)) continue;
    ys.push_back(b.Reshape(b.Concat(walked.outputs, 0), {s.steps, 1, s.batch, s.hidden}));
  }
  const auto state = [&](const std::vector<ValueId>& parts) {
    const ValueId joined = b.Concat(parts, 0);
    return s.batch_first ? b.Transpose(joined, {1, 0, 2}) : joined;
  };
  if (c.IsOutputUsed(0)) {
    const ValueId y = b.Concat(ys, 1);
    c.Out(s.batch_first ? b.Transpose(y, {2, 0, 1, 3}) : y, 0);
  }
  if (c.IsOutputUsed(1)) c.Out(state(hs), 1);
  if (c.IsOutputUsed(2) && !cs.empty()) c.Out(state(cs), 2);
}

void Recurrent(OpContext& c, int64_t gates, std::vector<std::string> standard, Cell cell,
               bool keeps_bias_apart, bool quantised = false) {
  Sequence s;
  s.quantised = quantised;
  if (!ReadSequence(c, gates, std::move(standard), s)) return;
  ReadLengths(c, s);
  const bool is_lstm = cell == LstmCell;
  std::vector<Walked> walks;
  for (int64_t i = 0; i < s.directions && c.ok(); ++i) {
    Direction d = ReadDirection(c, s, i, keeps_bias_apart);
    State state = {InitialState(c, s, 5, i), kNoValue};
    if (is_lstm) {
      state.c = InitialState(c, s, 6, i);
      if (c.Has(7)) d.peephole = OfDirection(c.b, c.In(7), i);
    }
    walks.push_back(Walk(c, s, d, s.reverse || i == 1, cell, state));
  }
  if (c.ok()) Finish(c, s, walks);
}

void Rnn(OpContext& c) { Recurrent(c, 1, {"Tanh"}, RnnCell, false); }
void Gru(OpContext& c) { Recurrent(c, 3, {"Sigmoid", "Tanh"}, GruCell, true); }
void Lstm(OpContext& c) { Recurrent(c, 4, {"Sigmoid", "Tanh", "Tanh"}, LstmCell, false); }

// The weights are of 8 bits and stand transposed, their scales and zero points behind the rest.
void DynamicQuantizeLstm(OpContext& c) {
  Recurrent(c, 4, {"Sigmoid", "Tanh", "Tanh"}, LstmCell, false, true);
}

constexpr OpRow kRecurrentRows[] = {{"GRU", Gru, 6, 2, "at most 4096 steps"},
                                    {"LSTM", Lstm, 8, 3, "at most 4096 steps"},
                                    {"RNN", Rnn, 6, 2, "at most 4096 steps"}};
constexpr OpRow kFusedRows[] = {
    {"DynamicQuantizeLSTM", DynamicQuantizeLstm, 12, 3, "at most 4096 steps"}};

}  // namespace

std::span<const OpRow> RecurrentOps() { return kRecurrentRows; }
std::span<const OpRow> FusedRecurrentOps() { return kFusedRows; }

}  // namespace mlc::graph::onnx
