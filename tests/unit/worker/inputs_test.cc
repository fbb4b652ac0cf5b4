#include "worker/check/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/tensor_io.h"
#include "worker/check/reference.h"

namespace mlc::worker {
namespace {

graph::Workload Parse(const std::string& body) {
  auto workload = graph::Workload::Parse("workload v1 tolerance=1e-04 {\n" + body + "}\n");
  EXPECT_TRUE(workload.ok()) << workload.status().ToString();
  return *workload;
}

TEST(Inputs, IndicesLieInRange) {
  const graph::Workload workload = Parse(
      "%0 = weight() : f32[50,4]\n%1 = input() : i64[2,30]\n"
      "%2 = gather(%0, %1){axis=0} : f32[2,30,4]\nreturn %2\n");
  const std::vector<InputDomain> domains = InputDomains(workload);
  EXPECT_EQ(domains[1].below, 50);
  Rng rng(1);
  const auto values = graph::ReadInts(
      *RandomTensor(rng, workload.graph()[workload.operands()[1]].type, domains[1]));
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 50);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 25);
}

TEST(Inputs, ANumberOfKeysIsThatOfAll) {
  const graph::Workload workload = Parse(
      "%0 = input() : f32[1,2,5,4]\n%1 = input() : f32[1,2,9,4]\n%2 = input() : i32[1]\n"
      "%3 = attention(%0, %1, %1, _, %2){scale=1.0} : f32[1,2,5,4]\nreturn %3\n");
  const std::vector<InputDomain> domains = InputDomains(workload);
  Rng rng(1);
  EXPECT_EQ(graph::ReadInts(*RandomTensor(rng, {DType::kI32, {1}, {}}, domains[2])),
            std::vector<int64_t>{9});
}

TEST(Inputs, RootsAndDivisorsGetPositiveArguments) {
  const graph::Workload workload = Parse(
      "%0 = input() : f32[64]\n%1 = weight() : f32[64]\n%2 = constant(){value=1e-05} : f32[]\n"
      "%3 = add(%1, %2) : f32[64]\n%4 = sqrt(%3) : f32[64]\n%5 = div(%0, %4) : f32[64]\n"
      "return %5\n");
  const std::vector<InputDomain> domains = InputDomains(workload);
  EXPECT_FALSE(domains[0].positive);
  EXPECT_TRUE(domains[1].positive);
  Rng rng(1);
  const auto tensor = RandomTensor(rng, workload.graph()[1].type, domains[1]);
  for (double value : graph::ReadDoubles(*tensor)) {
    EXPECT_GE(value, 0.5);
    EXPECT_LT(value, 1.5);
  }
}

TEST(Inputs, BooleansAreZeroOrOne) {
  Rng rng(1);
  const auto tensor = RandomTensor(rng, {DType::kBool, {100}, {}}, {});
  for (std::byte value : tensor->bytes) EXPECT_LE(static_cast<int>(value), 1);
}

TEST(Reference, IsTheSameOnAnyNumberOfThreads) {
  const graph::Workload workload = Parse(
      "%0 = input() : f32[512,640]\n%1 = weight() : f32[640,512]\n"
      "%2 = matmul(%0, %1) : f32[512,512]\nreturn %2\n");
  std::vector<std::byte> one(static_cast<size_t>(ReferenceLayoutOf(workload).bytes));
  std::vector<std::byte> many = one;
  ASSERT_TRUE(MakeReference(workload, 5, one, 1).ok());
  ASSERT_TRUE(MakeReference(workload, 5, many, 7).ok());
  EXPECT_EQ(one, many);
}

TEST(Reference, SameSeedSameBytesAndBroadcastsShareTheirPlace) {
  const graph::Workload workload = Parse(
      "%0 = input() : f32[4,8]{0,1}\n%1 = input() : f32[4,8]{16,1}\n"
      "%2 = add(%0, %1) : f32[4,8]\nreturn %2\n");
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  std::vector<std::byte> one(static_cast<size_t>(layout.bytes));
  std::vector<std::byte> two = one;
  ASSERT_TRUE(MakeReference(workload, 5, one).ok());
  ASSERT_TRUE(MakeReference(workload, 5, two).ok());
  EXPECT_EQ(one, two);
  ASSERT_TRUE(MakeReference(workload, 6, two).ok());
  EXPECT_NE(one, two);
  const auto floats = [&](int64_t offset) {
    return reinterpret_cast<const float*>(one.data() + offset);
  };
  const float* a = floats(layout.operands[0]);
  const float* b = floats(layout.operands[1]);
  const float* sum = floats(layout.results[0]);
  for (int row = 0; row < 4; ++row) {
    for (int col = 0; col < 8; ++col) {
      EXPECT_FLOAT_EQ(sum[row * 8 + col], a[col] + b[row * 16 + col]);
    }
  }
  EXPECT_NE(b[8], b[8]) << "what lies between strides is NaN";
}

}  // namespace
}  // namespace mlc::worker
