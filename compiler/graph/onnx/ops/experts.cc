// Mixtures of experts (domain com.microsoft). Every expert sees every token and the router's
// weights, most of them zero, choose afterwards: shapes stay static, at the cost of the experts
// that are not chosen.
#include <algorithm>
#include <limits>

#include "compiler/graph/onnx/ops/gelu.h"
#include "compiler/graph/onnx/ops/packed_rows.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxExperts = 1 << 12;

// One layer of all experts: weights [experts, outputs, inputs], a bias [experts, outputs].
struct Layer {
  ValueId weights = kNoValue;
  ValueId bias = kNoValue;  // kNoValue: none
};

// A layer at x [1 or experts, tokens, inputs].
ValueId Applied(OpContext& c, const Layer& layer, ValueId x) {
  Builder& b = c.b;
  const Dims dims = b.DimsOf(layer.weights);
  if (c.ok() && (dims.size() != 3 || dims[2] != b.Dim(x, 2))) {
    c.Fail("an expert's weights do not fit its operand of " + std::to_string(b.Dim(x, 2)) +
           " elements");
  }
  if (!c.ok()) return kNoValue;
  const ValueId y = b.MatMul(x, b.Transpose(layer.weights, {0, 2, 1}));
  if (layer.bias == kNoValue) return y;
  if (b.DimsOf(layer.bias) != Dims{dims[0], dims[1]}) {
    c.Fail("the experts' bias must be [experts, outputs]");
    return kNoValue;
  }
  return b.Plus(y, b.Reshape(layer.bias, {dims[0], 1, dims[1]}));
}

// Of tokens [tokens, experts]: the share of each expert, 0 for all but the k largest.
ValueId Shares(OpContext& c, ValueId router, int64_t k, bool normalise) {
  Builder& b = c.b;
  const int64_t tokens = b.Dim(router, 0);
  const int64_t experts = b.Dim(router, 1);
  if (!c.ok()) return kNoValue;
  // An expert's rank is the number of experts before it; among equal ones the first wins.
  const ValueId own = b.Reshape(router, {tokens, experts, 1});
  const ValueId other = b.Reshape(router, {tokens, 1, experts});
  Dims numbers(static_cast<size_t>(experts));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  const ValueId place = b.IntVector(numbers);
  const ValueId earlier = b.Apply(ScalarOp::kLess, {place, b.Reshape(place, {experts, 1})});
  const ValueId ties = b.Apply(ScalarOp::kAnd, {b.Apply(ScalarOp::kEqual, {other, own}), earlier});
  const ValueId before = b.Apply(ScalarOp::kOr, {b.Apply(ScalarOp::kLess, {own, other}), ties});
  const ValueId rank = b.Reduce("sum", b.Cast(before, DType::kF32), {2}, false);
  const ValueId chosen =
      b.Apply(ScalarOp::kLess, {rank, b.Scalar(DType::kF32, static_cast<double>(k))});
  const ValueId shares = b.Softmax(b.Cast(router, DType::kF32), 1);
  const ValueId kept = b.Select(chosen, shares, b.Scalar(DType::kF32, 0));
  return normalise ? b.Over(kept, b.Reduce("sum", kept, {1}, true)) : kept;
}

struct Gate {
  std::string activation;
  double alpha = 1;
  double beta = 0;
  double limit = std::numeric_limits<double>::infinity();
};

ValueId Activated(OpContext& c, const std::string& name, ValueId x) {
  Builder& b = c.b;
  if (name == "identity") return x;
  if (name == "relu") return b.Max(x, b.ScalarLike(x, 0));
  if (name == "gelu") return TanhGelu(b, x);
  if (name == "silu") return b.Times(x, b.Apply(ScalarOp::kSigmoid, {x}));
  if (c.ok()) c.Unsupported("activation_type " + Quote(name));
  return kNoValue;
}

// The gate's activation times what it lets through, both within the limit.
ValueId Gated(Builder& b, const Gate& gate, ValueId x, ValueId linear) {
  if (gate.limit < std::numeric_limits<double>::infinity()) {
    x = b.Min(x, b.ScalarLike(x, gate.limit));
    linear =
        b.Min(b.Max(linear, b.ScalarLike(linear, -gate.limit)), b.ScalarLike(linear, gate.limit));
  }
  const ValueId open = b.Apply(ScalarOp::kSigmoid, {b.TimesNumber(x, gate.alpha)});
  return b.Times(b.Times(x, open), b.PlusNumber(linear, gate.beta));
}

// What the first layer gives, and the third if there is one, as the second takes it.
ValueId Hidden(OpContext& c, const Gate& gate, ValueId first, ValueId third) {
  Builder& b = c.b;
  if (gate.activation != "swiglu") {
    const ValueId y = Activated(c, gate.activation, first);
    return third == kNoValue ? y : b.Times(y, third);
  }
  const int64_t fusion = c.Int("swiglu_fusion", 0);
  if (fusion == 0 && third != kNoValue) return Gated(b, gate, first, third);
  const Dims dims = b.DimsOf(first);
  if (c.ok() && (fusion < 1 || fusion > 2 || third != kNoValue || dims[2] % 2 != 0)) {
    c.Fail("swiglu needs third weights with swiglu_fusion=0, or twice the outputs with 1 or 2");
  }
  if (!c.ok()) return kNoValue;
  const Dims half = {dims[0], dims[1], dims[2] / 2};
  const Dims steps = {1, 1, fusion == 1 ? 2 : 1};
  const ValueId x = b.Slice(first, {0, 0, 0}, steps, half);
  const ValueId linear = b.Slice(first, {0, 0, fusion == 1 ? 1 : half[2]}, steps, half);
  return Gated(b, gate, x, linear);
}

void OutMixed(OpContext& c, const Layer& first, const Layer& second, const Layer& third) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId router = c.In(1);
  const Dims dims = b.DimsOf(x);
  const int64_t k = c.Int("k", 1);
  Gate gate{c.Text("activation_type", "relu"), c.Float("activation_alpha", 1),
            c.Float("activation_beta", 0),
            c.Float("swiglu_limit", std::numeric_limits<double>::infinity())};
  if (c.Flag("use_sparse_mixer", false)) return c.Unsupported("use_sparse_mixer=1");
  if (c.Flag("swiglu_limit_after_activation", false)) {
    return c.Unsupported("swiglu_limit_after_activation=1");
  }
  if (!c.ok()) return;
  if (dims.size() < 2) return c.Fail("operand 0 must have rank 2 or more");
  const int64_t tokens = b.TypeOf(x).NumElements() / std::max<int64_t>(dims.back(), 1);
  const int64_t experts = b.Dim(first.weights, 0);
  if (b.DimsOf(router) != Dims{tokens, experts}) {
    return c.Fail("the router must give each of " + std::to_string(tokens) + " tokens " +
                  std::to_string(experts) + " numbers, one an expert");
  }
  if (k < 1 || k > experts || experts > kMaxExperts) {
    return c.Fail("k=" + std::to_string(k) + " experts of " + std::to_string(experts) +
                  " cannot be chosen");
  }
  const ValueId rows = b.Reshape(x, {1, tokens, dims.back()});
  const ValueId linear = third.weights == kNoValue ? kNoValue : Applied(c, third, rows);
  const ValueId hidden = Hidden(c, gate, Applied(c, first, rows), linear);
  const ValueId all = Applied(c, second, hidden);
  const ValueId shares = Shares(c, router, k, c.Flag("normalize_routing_weights", false));
  const ValueId by_expert = b.Reshape(b.Transpose(shares, {1, 0}), {experts, tokens, 1});
  const ValueId mixed = b.Reduce("sum", b.Times(b.Cast(all, DType::kF32), by_expert), {0}, false);
  c.Out(b.Reshape(b.Cast(mixed, b.DTypeOf(x)), dims));
}

// Operands: x, router, weights and bias of the first, second and third layer.
void MoE(OpContext& c) {
  const auto layer = [&](int at) {
    return Layer{c.Has(at) ? c.In(at) : kNoValue, c.Has(at + 1) ? c.In(at + 1) : kNoValue};
  };
  if (!c.Has(2) || !c.Has(4)) return c.Fail("the weights of two layers are needed");
  OutMixed(c, layer(2), layer(4), layer(6));
}

// The layer whose packed weights, scales and bias are operands from `at` on, zero points at
// `zeros`: [experts, outputs, inputs].
Layer QuantisedLayer(OpContext& c, int at, int zeros, int64_t bits) {
  Builder& b = c.b;
  const Dims packed = b.DimsOf(c.In(at));
  const bool is_empty = std::find(packed.begin(), packed.end(), 0) != packed.end();
  if (c.ok() && (packed.size() != 3 || is_empty)) {
    c.Fail("packed weights of experts must have rank 3 and not be empty");
  }
  if (!c.ok()) return {};
  PackedRows rows;
  rows.packed = at;
  rows.scales = at + 1;
  rows.zeros = zeros;
  rows.bits = static_cast<int>(bits);
  rows.rows = packed[0] * packed[1];
  rows.inner = packed[2] * (8 / bits);
  rows.block = c.Int("block_size", 0) > 0 ? c.Int("block_size", 0) : rows.inner;
  if (rows.inner % std::max<int64_t>(rows.block, 1) != 0) {
    c.Fail("block_size does not divide the inputs of the experts");
  }
  // Without blocks, zero points are packed along the outputs.
  rows.zero_rows = c.Int("block_size", 0) > 0 ? rows.rows : packed[0];
  const ValueId weights = DecodedRows(c, rows);
  if (!c.ok()) return {};
  return {b.Reshape(b.Cast(weights, b.DTypeOf(c.In(0))), {packed[0], packed[1], rows.inner}),
          c.Has(at + 2) ? c.In(at + 2) : kNoValue};
}

// Operands: x, router, then packed weights, scales and bias of each layer, their zero points, and
// what other kinds of quantisation need.
void QMoE(OpContext& c) {
  const int64_t bits = c.Int("expert_weight_bits", 4);
  if (c.Text("quant_type", "int") != "int") return c.Unsupported("a quant_type other than int");
  if (bits != 2 && bits != 4 && bits != 8) {
    return c.Unsupported("expert_weight_bits other than 2, 4 and 8");
  }
  for (int i = 14; i < c.OperandCount(); ++i) {
    if (c.Has(i)) return c.Unsupported("operand " + std::to_string(i));
  }
  if (c.Int("weights_prepacked", -1) != 0) {
    return c.Fail(
        "weights_prepacked leaves the layout of the weights to a device: set it to 0 and "
        "give the weights as [experts, outputs, packed inputs]");
  }
  if (!c.Flag("normalize_routing_weights", false)) {
    return c.Unsupported("normalize_routing_weights=0, which runtimes take in different ways,");
  }
  const auto bits_of = [&](const char* name) { return c.Int(name, bits); };
  if (bits_of("fc1_expert_weight_bits") != bits || bits_of("fc2_expert_weight_bits") != bits ||
      bits_of("fc3_expert_weight_bits") != bits) {
    return c.Unsupported("a layer of another width");
  }
  const Layer first = QuantisedLayer(c, 2, 11, bits);
  const Layer second = QuantisedLayer(c, 5, 12, bits);
  const Layer third = c.Has(8) ? QuantisedLayer(c, 8, 13, bits) : Layer{};
  OutMixed(c, first, second, third);
}

constexpr OpRow kExpertsRows[] = {
    {"MoE", MoE, 8, 1, "all experts are evaluated"},
    {"QMoE", QMoE, 21, 1,
     "all experts are evaluated; integers, weights_prepacked=0, normalize_routing_weights=1"},
};

}  // namespace

std::span<const OpRow> ExpertOps() { return kExpertsRows; }

}  // namespace mlc::graph::onnx
