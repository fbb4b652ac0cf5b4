#include "client/run/run_report.h"

#include <gtest/gtest.h>

#include <limits>

#include "client/model/dims.h"
#include "client/model/tensor_files.h"
#include "client/run/run_page.h"
#include "compiler/graph/tensor_io.h"
#include "tests/temporary_folder.h"

namespace mlc::client {
namespace {

graph::TensorDataRef Floats(const std::vector<double>& values) {
  return graph::WriteDoubles(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

OutputCheck CheckOne(const std::vector<double>& actual, const std::vector<double>& expected,
                     double rtol, double atol) {
  const auto checks = CheckOutputs({Floats(actual)}, {Floats(expected)}, {"y"}, rtol, atol);
  EXPECT_TRUE(checks.ok());
  return checks->at(0);
}

TEST(RunReport, QuantilesAreInterpolated) {
  const LatencyStatistics l = Summarize({5, 1, 2, 4, 3});
  EXPECT_DOUBLE_EQ(l.median, 3);
  EXPECT_DOUBLE_EQ(l.p10, 1.4);
  EXPECT_DOUBLE_EQ(l.p90, 4.6);
  EXPECT_EQ(l.runs, 5);
  EXPECT_DOUBLE_EQ(Summarize({2}).p90, 2);
}

TEST(RunPage, HasEveryKernelAndTheTimeBetweenThem) {
  RunReport report;
  report.threads = 2;
  report.steps = {{"conv <a>", 30, 29, 31}, {"pool", 10, 9, 11}, {"conv <a>", 40, 39, 41}};
  report.profile = {{"conv <a>", 70, 2}, {"pool", 10, 1}};
  report.run_us = 100;
  const std::string html = RunPage(report, "lib \"x\"");
  EXPECT_NE(html.find("Profile of lib &quot;x&quot;"), std::string::npos);
  EXPECT_NE(html.find("conv &lt;a&gt;: 40.0 µs"), std::string::npos);
  EXPECT_EQ(html.find("<a>"), std::string::npos);
  EXPECT_NE(html.find("<data value=\"20000.0\">20.0 µs</data></b><span>between the kernels"),
            std::string::npos);
  EXPECT_NE(html.find("87.5 %"), std::string::npos);
}

TEST(RunReport, DifferencesAreOverTheLargestMagnitude) {
  const OutputCheck check = CheckOne({1, -200, 3}, {1, -200, 5}, 0.02, 0);
  EXPECT_DOUBLE_EQ(check.max_relative, 0.01);
  EXPECT_TRUE(check.passed);
  EXPECT_FALSE(CheckOne({1, -200, 3}, {1, -200, 5}, 0.009, 0).passed);
  EXPECT_TRUE(CheckOne({1, -200, 3}, {1, -200, 5}, 0, 2).passed);
}

TEST(RunReport, NumbersThatAreNoneFailWhereTheReferenceHasSome) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(CheckOne({nan, 1}, {1, 1}, 1, 1).passed);
  EXPECT_FALSE(CheckOne({inf, 1}, {1, 1}, 1, 1).passed);
  EXPECT_FALSE(CheckOne({1, 1}, {nan, 1}, 1, 1).passed);
  EXPECT_TRUE(CheckOne({nan, inf, 1}, {nan, inf, 1}, 0, 0).passed);
  EXPECT_FALSE(CheckOne({1e-30}, {0}, 1, 0).passed);
}

TEST(RunReport, OutputsOfAnotherShapeAreRefused) {
  EXPECT_EQ(CheckOutputs({Floats({1})}, {}, {"y"}, 1, 1).status(),
            InvalidArgument("the model has 1 outputs, the reference 0"));
  EXPECT_EQ(CheckOutputs({Floats({1})}, {Floats({1, 2})}, {"y"}, 1, 1).status(),
            InvalidArgument("output 0 and its reference differ in type or shape"));
}

TEST(TensorFiles, WhatIsWrittenReadsBack) {
  const tests::TemporaryFolder temporary;
  const std::string folder = temporary.path("tensors");
  const std::vector<int64_t> ints = {1, -2, int64_t{1} << 40};
  const std::vector<graph::TensorDataRef> tensors = {
      Floats({1.5, -2}), graph::WriteInts(DType::kI64, {3, 1}, ints),
      graph::WriteDoubles(DType::kF32, {}, std::vector<double>{4})};
  ASSERT_TRUE(WriteTensors(folder, "output", tensors, {"a", "b", ""}).ok());
  const auto read = ReadTensors(folder, "output");
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*read)[i]->dtype, tensors[i]->dtype);
    EXPECT_EQ((*read)[i]->dims, tensors[i]->dims);
    EXPECT_TRUE(std::equal((*read)[i]->bytes.begin(), (*read)[i]->bytes.end(),
                           tensors[i]->bytes.begin(), tensors[i]->bytes.end()));
  }
  EXPECT_EQ(ReadTensors(folder, "input").status(),
            NotFound("no 'input_0.pb' or 'input_0.npy' in '" + folder + "'"));
}

TEST(Dims, AreParsedAndChecked) {
  const auto dims = ParseDims({"batch=4", "a=b=2"});
  ASSERT_TRUE(dims.ok());
  EXPECT_EQ(dims->at("batch"), 4);
  EXPECT_EQ(dims->at("a=b"), 2);
  for (const char* bad : {"batch", "=3", "batch=", "batch=-1", "batch=3x"}) {
    EXPECT_EQ(ParseDims({bad}).status().code(), StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ParseDims({"n=1", "n=2"}).status(), InvalidArgument("--dim n is given twice"));
}

}  // namespace
}  // namespace mlc::client
