// Every operator against values worked out by hand, in the graph's own text.
#include "compiler/graph/evaluate/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/graph/tensor_io.h"

namespace mlc::graph {
namespace {

struct Case {
  const char* name;
  const char* body;  // returns its last line
  std::vector<double> expected;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

class EvaluateOps : public testing::TestWithParam<Case> {};

TEST_P(EvaluateOps, GiveTheValues) {
  std::string text = "graph v1 {" + std::string(GetParam().body);
  int lines = 0;
  for (size_t at = 0; (at = text.find(" = ", at)) != std::string::npos; ++at) ++lines;
  text += " return %" + std::to_string(lines - 1) + " }";
  const Result<Graph> graph = Graph::Parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Result<std::vector<TensorDataRef>> outputs = Evaluate(*graph, {});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const std::vector<double> actual = ReadDoubles(*outputs->front());
  ASSERT_EQ(actual.size(), GetParam().expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(GetParam().expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i;
    } else {
      EXPECT_NEAR(actual[i], GetParam().expected[i], 1e-6) << i;
    }
  }
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A column is a row of bytes; the low bits of a byte come first, the last block may be short.
INSTANTIATE_TEST_SUITE_P(
    PackedMatrices, EvaluateOps,
    testing::Values(
        Case{"dequantize_four_bits",
             "%0 = constant() {values=[33,67,5,16,50,6]} : u8[2,3] "
             "%1 = constant() {values=[1.0,10.0,100.0,1000.0]} : f32[2,2] "
             "%2 = dequantize(%0, %1) {bits=4, block=4, depth=5, zero=1} : f32[5,2]",
             {0, -100, 1, 0, 2, 100, 3, 200, 40, 5000}},
        Case{"dequantize_two_bits_with_zeros",
             "%0 = constant() {values=[228]} : u8[1,1] "
             "%1 = constant() {values=[2.0]} : f32[1,1] %2 = constant() {values=[3]} : u8[1,1] "
             "%3 = dequantize(%0, %1, %2) {bits=2, block=4, depth=4, zero=7} : f32[4,1]",
             {-6, -4, -2, 0}},
        Case{"dequantize_float8",
             "%0 = constant() {values=[0.5,-448.0,0.001953125]} : f8e4m3fn[1,3] "
             "%1 = constant() {values=[2.0,0.5]} : f16[1,2] "
             "%2 = dequantize(%0, %1) {bits=8, block=2, depth=3} : f16[3,1]",
             {1, -896, 0.0009765625}},
        Case{"dequantize_eight_bits_with_a_scale_that_is_no_number",
             "%0 = constant() {values=[130,127]} : u8[2,1] "
             "%1 = constant() {values=[0.5,nan]} : f32[2,1] "
             "%2 = dequantize(%0, %1) {bits=8, block=1, depth=1, zero=128} : f32[1,2]",
             {1, kNan}}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Pointwise, EvaluateOps,
    testing::Values(
        Case{"broadcast_sub",
             "%0 = constant() {values=[1.0,2.0]} : f32[2,1] "
             "%1 = constant() {values=[10.0,20.0,30.0]} : f32[3] %2 = sub(%1, %0) : f32[2,3]",
             {9, 19, 29, 8, 18, 28}},
        Case{"integer_div_towards_zero",
             "%0 = constant() {values=[7,-7]} : i32[2] %1 = constant() {values=[2,2]} : i32[2] "
             "%2 = div(%0, %1) : i32[2]",
             {3, -3}},
        Case{"integer_mod_has_divisors_sign",
             "%0 = constant() {values=[7,-7]} : i64[2] %1 = constant() {values=[-3,3]} : i64[2] "
             "%2 = mod(%0, %1) : i64[2]",
             {-2, 2}},
        Case{"integers_wrap",
             "%0 = constant() {values=[200]} : u8[1] %1 = add(%0, %0) : u8[1]",
             {144}},
        Case{"max_keeps_nan",
             "%0 = constant() {values=[nan,1.0]} : f32[2] %1 = constant() {value=0.0} : f32[] "
             "%2 = max(%0, %1) : f32[2]",
             {kNan, 1}},
        Case{"select",
             "%0 = constant() {values=[1,0]} : bool[2] %1 = constant() {value=3.0} : f32[] "
             "%2 = constant() {values=[5.0,6.0]} : f32[2] %3 = select(%0, %1, %2) : f32[2]",
             {3, 6}},
        Case{"round_half_to_even",
             "%0 = constant() {values=[0.5,1.5,-2.5]} : f32[3] %1 = round(%0) : f32[3]",
             {0, 2, -2}},
        Case{"sigmoid", "%0 = constant() {value=0.0} : f32[] %1 = sigmoid(%0) : f32[]", {0.5}},
        Case{"less",
             "%0 = constant() {values=[1.0,2.0]} : f32[2] %1 = constant() {value=2.0} : f32[] "
             "%2 = less(%0, %1) : bool[2]",
             {1, 0}},
        Case{"cast_truncates",
             "%0 = constant() {values=[1.9,-1.9]} : f32[2] %1 = cast(%0) : i8[2]",
             {1, -1}}));

INSTANTIATE_TEST_SUITE_P(
    Contraction, EvaluateOps,
    testing::Values(
        Case{"matmul_broadcasts_batch",
             "%0 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[2,1,2] "
             "%1 = constant() {values=[1.0,0.0,2.0,1.0]} : f32[2,2] %2 = matmul(%0, %1) : "
             "f32[2,1,2]",
             {5, 2, 11, 4}},
        Case{"matmul_of_scaled_blocks",
             "%0 = constant() {values=[1.0,2.0,3.0,4.0]} : f8e4m3fn[1,4] "
             "%1 = constant() {values=[1.0,1.0,1.0,2.0,2.0,1.0,1.0,1.0]} : f8e4m3fn[4,2] "
             "%2 = constant() {values=[1.0,2.0]} : f32[1,2] "
             "%3 = constant() {values=[1.0,0.5,2.0,1.0]} : f32[2,2] "
             "%4 = matmul(%0, %1, %2, %3) {across=1, block=2} : f32[1,2]",
             {43, 16.5}},
        Case{"conv_strided_padded",
             "%0 = constant() {values=[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0]} : f32[1,1,3,3] "
             "%1 = constant() {values=[1.0,1.0,1.0,1.0]} : f32[1,1,2,2] "
             "%2 = conv(%0, %1) {pads=[1,1,0,0], strides=[2,2]} : f32[1,1,2,2]",
             {1, 5, 11, 28}},
        Case{"conv_grouped_dilated",
             "%0 = constant() {values=[1.0,2.0,3.0,4.0,5.0,6.0]} : f32[1,2,3] "
             "%1 = constant() {values=[1.0,10.0,1.0,100.0]} : f32[2,1,2] "
             "%2 = conv(%0, %1) {dilations=[2], group=2} : f32[1,2,1]",
             {31, 604}},
        Case{"attention",
             "%0 = constant() {values=[1.0,0.0]} : f32[1,1,1,2] "
             "%1 = constant() {values=[0.0,0.0,0.0,5.0]} : f32[1,1,2,2] "
             "%2 = constant() {values=[1.0,3.0]} : f32[1,1,2,1] "
             "%3 = attention(%0, %1, %2) {scale=1.0} : f32[1,1,1,1]",
             {2}},
        Case{"attention_masked",
             "%0 = constant() {values=[1.0,0.0]} : f32[1,1,1,2] "
             "%1 = constant() {values=[0.0,0.0,0.0,5.0]} : f32[1,1,2,2] "
             "%2 = constant() {values=[1.0,3.0]} : f32[1,1,2,1] "
             "%3 = constant() {values=[-inf,0.0]} : f32[2] "
             "%4 = attention(%0, %1, %2, %3) {scale=1.0} : f32[1,1,1,1]",
             {3}},
        Case{"max_pool",
             "%0 = constant() {values=[1.0,5.0,3.0,4.0]} : f32[1,1,4] "
             "%1 = pool(%0) {kernel=[3], kind=max, pads=[1,1], strides=[2]} : f32[1,1,2]",
             {5, 5}},
        Case{"avg_pool_leaves_padding_out",
             "%0 = constant() {values=[1.0,5.0,3.0,4.0]} : f32[1,1,4] "
             "%1 = pool(%0) {kernel=[3], kind=avg, pads=[1,1], strides=[3]} : f32[1,1,2]",
             {3, 3.5}},
        Case{"avg_pool_counts_padding",
             "%0 = constant() {values=[1.0,5.0,3.0,4.0]} : f32[1,1,4] "
             "%1 = pool(%0) {count_include_pad=1, kernel=[3], kind=avg, pads=[1,1], strides=[3]} "
             ": f32[1,1,2]",
             {2, 7.0 / 3}}));

INSTANTIATE_TEST_SUITE_P(
    Reduction, EvaluateOps,
    testing::Values(
        Case{"mean",
             "%0 = constant() {values=[1.0,2.0,3.0,6.0]} : f32[2,2] "
             "%1 = reduce(%0) {axes=[0], kind=mean, keepdims=0} : f32[2]",
             {2, 4}},
        Case{"log_sum_exp_of_large",
             "%0 = constant() {values=[1000.0,1000.0]} : f32[2] "
             "%1 = reduce(%0) {axes=[0], kind=log_sum_exp} : f32[1]",
             {1000.6931762695312}},
        Case{"l2",
             "%0 = constant() {values=[3.0,-4.0]} : f32[2] %1 = reduce(%0) {axes=[0], kind=l2} : "
             "f32[1]",
             {5}},
        Case{"integer_prod",
             "%0 = constant() {values=[3,-4]} : i32[2] %1 = reduce(%0) {axes=[0], kind=prod} : "
             "i32[1]",
             {-12}},
        Case{"arg_max_last",
             "%0 = constant() {values=[3,7,7,1]} : i32[4] "
             "%1 = arg(%0) {axis=0, kind=max, select_last=1} : i64[1]",
             {2}},
        Case{"arg_min_first",
             "%0 = constant() {values=[3.0,1.0,1.0]} : f32[3] "
             "%1 = arg(%0) {axis=0, kind=min, keepdims=0} : i64[]",
             {1}},
        Case{"softmax_over_axis_0",
             "%0 = constant() {values=[0.0,1.0,0.0,1.0]} : f32[2,2] "
             "%1 = softmax(%0) {axis=0} : f32[2,2]",
             {0.5, 0.5, 0.5, 0.5}},
        Case{"log_softmax",
             "%0 = constant() {values=[7.0,7.0]} : f32[2] %1 = log_softmax(%0) {axis=0} : f32[2]",
             {-0.693147, -0.693147}},
        Case{"layer_norm",
             "%0 = constant() {values=[1.0,3.0]} : f32[1,2] "
             "%1 = constant() {values=[2.0,2.0]} : f32[2] %2 = constant() {values=[1.0,0.0]} : "
             "f32[2] %3 = layer_norm(%0, %1, %2) {axis=1, epsilon=0.0} : f32[1,2]",
             {-1, 2}},
        Case{"nonzero",
             "%0 = constant() {values=[0,1,1,0,1]} : bool[5] %1 = nonzero(%0) : i64[6]",
             {1, 2, 4, 0, 0, 0}},
        Case{"suppress",
             "%0 = constant() {values=[0,0,4,4,0,0,4,3,5,0,6,1]} : f32[1,3,4] "
             "%1 = constant() {values=[0.5,0.75,0.25]} : f32[1,1,3] "
             "%2 = constant() {value=3} : i64[1] %3 = constant() {value=0.5} : f32[1] "
             "%4 = constant() {value=0} : f32[1] "
             "%5 = suppress(%0, %1, %2, %3, %4) {center=0} : i64[1,1,3]",
             {1, 2, -1}},
        Case{"cum_sum_exclusive_reverse",
             "%0 = constant() {values=[1,2,3]} : i64[3] "
             "%1 = cum_sum(%0) {axis=0, exclusive=1, reverse=1} : i64[3]",
             {5, 3, 0}}));

INSTANTIATE_TEST_SUITE_P(
    Movement, EvaluateOps,
    testing::Values(
        Case{"transpose",
             "%0 = constant() {values=[1,2,3,4,5,6]} : i32[2,3] "
             "%1 = transpose(%0) {perm=[1,0]} : i32[3,2]",
             {1, 4, 2, 5, 3, 6}},
        Case{"slice_backwards",
             "%0 = constant() {values=[1,2,3,4]} : i32[4] "
             "%1 = slice(%0) {starts=[3], steps=[-2]} : i32[2]",
             {4, 2}},
        Case{"concat",
             "%0 = constant() {values=[1,2]} : u8[2,1] %1 = constant() {values=[3,4,5,6]} : u8[2,2]"
             " %2 = concat(%0, %1) {axis=1} : u8[2,3]",
             {1, 3, 4, 2, 5, 6}},
        Case{"pad_reflect",
             "%0 = constant() {values=[1,2,3]} : i32[3] "
             "%1 = pad(%0) {mode=reflect, pads=[2,1]} : i32[6]",
             {3, 2, 1, 2, 3, 2}},
        Case{"pad_constant_and_crop",
             "%0 = constant() {values=[1.0,2.0,3.0]} : f16[3] "
             "%1 = pad(%0) {pads=[1,-2], value=0.5} : f16[2]",
             {0.5, 1}},
        Case{"pad_wrap",
             "%0 = constant() {values=[1,2,3]} : i32[3] "
             "%1 = pad(%0) {mode=wrap, pads=[1,1]} : i32[5]",
             {3, 1, 2, 3, 1}},
        Case{"tile",
             "%0 = constant() {values=[1,2]} : i16[2] %1 = tile(%0) {repeats=[2]} : i16[4]",
             {1, 2, 1, 2}},
        Case{"expand",
             "%0 = constant() {values=[1,2]} : i16[2,1] %1 = expand(%0) : i16[2,2]",
             {1, 1, 2, 2}},
        Case{"trilu_lower",
             "%0 = constant() {values=[1,2,3,4]} : i64[2,2] "
             "%1 = trilu(%0) {upper=0} : i64[2,2]",
             {1, 0, 3, 4}},
        Case{"view_of_strided_storage",
             "%0 = constant() {values=[1,2,3,4,5,6]} : i32[2,3] %1 = copy(%0) : i32[2,3]{1,2} "
             "%2 = view(%1) {offset=1} : i32[5]{1}",
             {4, 2, 5, 3, 6}}));

INSTANTIATE_TEST_SUITE_P(
    Indexed, EvaluateOps,
    testing::Values(
        Case{"gather_negative",
             "%0 = constant() {values=[1,2,3,4]} : i32[2,2] %1 = constant() {values=[-1]} : i64[1] "
             "%2 = gather(%0, %1) {axis=1} : i32[2,1]",
             {2, 4}},
        Case{"gather_elements",
             "%0 = constant() {values=[1,2,3,4]} : i32[2,2] %1 = constant() {values=[1,0]} : "
             "i64[1,2] %2 = gather_elements(%0, %1) {axis=0} : i32[1,2]",
             {3, 2}},
        Case{"gather_nd_batched",
             "%0 = constant() {values=[1,2,3,4]} : i32[2,2] %1 = constant() {values=[1,0]} : "
             "i64[2,1] %2 = gather_nd(%0, %1) {batch_dims=1} : i32[2]",
             {2, 3}},
        Case{"scatter_elements_add",
             "%0 = constant() {values=[1,2]} : i32[2] %1 = constant() {values=[1,1]} : i64[2] "
             "%2 = constant() {values=[10,20]} : i32[2] "
             "%3 = scatter_elements(%0, %1, %2) {reduction=add} : i32[2]",
             {1, 32}},
        Case{"scatter_nd",
             "%0 = constant() {values=[1.0,2.0,3.0]} : f32[3] %1 = constant() {values=[2]} : "
             "i64[1,1] %2 = constant() {values=[9.0]} : f32[1] %3 = scatter_nd(%0, %1, %2) : "
             "f32[3]",
             {1, 2, 9}},
        Case{"resize_nearest",
             "%0 = constant() {values=[1.0,2.0]} : f32[2] "
             "%1 = resize(%0) {mode=nearest, scales=[2.0]} : f32[4]",
             {1, 1, 2, 2}},
        Case{"resize_linear_half_pixel",
             "%0 = constant() {values=[0.0,4.0]} : f32[2] "
             "%1 = resize(%0) {mode=linear, scales=[2.0]} : f32[4]",
             {0, 1, 3, 4}},
        Case{"resize_linear_align_corners",
             "%0 = constant() {values=[0.0,3.0]} : f32[2] "
             "%1 = resize(%0) {coordinate_mode=align_corners, mode=linear, scales=[2.0]} : f32[4]",
             {0, 1, 2, 3}}));

TEST(Evaluate, ChecksSourcesAndIndices) {
  const Graph graph = *Graph::Parse(
      "graph v1 { %0 = input() : f32[2] %1 = input() : i64[1] %2 = gather(%0, %1) : f32[1] return "
      "%2 }");
  const std::vector<double> data = {1, 2};
  const std::vector<int64_t> index = {2};
  const TensorDataRef x = WriteDoubles(DType::kF32, {2}, data);
  EXPECT_EQ(Evaluate(graph, {x}).status().message(), "there are fewer values than sources");
  EXPECT_EQ(Evaluate(graph, {x, x}).status().message(), "source 1 is to be i64[1]");
  const TensorDataRef at = WriteInts(DType::kI64, {1}, index);
  EXPECT_EQ(Evaluate(graph, {x, at, at}).status().message(), "there are more values than sources");
  EXPECT_EQ(Evaluate(graph, {x, at}).status().message(),
            "gather: index 2 is outside a dimension of 2");
}

TEST(Evaluate, RefusesWhatItCannotHold) {
  const Graph graph = *Graph::Parse(
      "graph v1 { %0 = constant() {value=1.0} : f32[] %1 = expand(%0) : f32[1048576,1048576] "
      "return %1 }");
  EXPECT_EQ(Evaluate(graph, {}).status().code(), StatusCode::kResourceExhausted);
}

// Whatever the parts, which end within rows: operands that are broadcast and that are not, and a
// result of another type.
TEST(Evaluate, ManyElementsAreTheSameOnAnyNumberOfThreads) {
  constexpr int64_t kRows = 41, kColumns = 5003;
  const Graph graph = *Graph::Parse(
      "graph v1 { %0 = input() : f32[41,5003] %1 = input() : f32[5003] %2 = input() : f32[41,1] "
      "%3 = mul(%0, %1) : f32[41,5003] %4 = add(%2, %3) : f32[41,5003] "
      "%5 = less(%4, %0) : bool[41,5003] %6 = select(%5, %0, %4) : f32[41,5003] "
      "return %4, %6 }");
  std::vector<double> x, y, z;
  for (int64_t i = 0; i < kRows * kColumns; ++i) x.push_back(static_cast<double>(i % 97));
  for (int64_t i = 0; i < kColumns; ++i) y.push_back(static_cast<double>(i % 5));
  for (int64_t i = 0; i < kRows; ++i) z.push_back(static_cast<double>(i) - 100);
  const std::vector<TensorDataRef> sources = {WriteDoubles(DType::kF32, {kRows, kColumns}, x),
                                              WriteDoubles(DType::kF32, {kColumns}, y),
                                              WriteDoubles(DType::kF32, {kRows, 1}, z)};
  for (const int threads : {1, 3}) {
    const auto found = Evaluate(graph, sources, threads);
    ASSERT_TRUE(found.ok()) << found.status().message();
    const std::vector<double> sums = ReadDoubles(*(*found)[0]), chosen = ReadDoubles(*(*found)[1]);
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      const auto at = static_cast<size_t>(i), row = static_cast<size_t>(i / kColumns),
                 column = static_cast<size_t>(i % kColumns);
      const double sum = z[row] + x[at] * y[column];
      ASSERT_EQ(sums[at], sum) << i;
      ASSERT_EQ(chosen[at], sum < x[at] ? x[at] : sum) << i;
    }
  }
}

TEST(Evaluate, RefusesDivisionByZero) {
  const Graph graph = *Graph::Parse(
      "graph v1 { %0 = constant() {values=[0]} : i32[1] %1 = div(%0, %0) : i32[1] return %1 }");
  EXPECT_EQ(Evaluate(graph, {}).status().message(), "div: division of an integer by zero");
}

}  // namespace
}  // namespace mlc::graph
