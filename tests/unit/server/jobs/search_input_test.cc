#include "server/jobs/search_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "server/jobs/job_request.h"
#include "tests/support/db/memory_log.h"

namespace mlc::server {
namespace {

graph::Workload Product(int64_t n) {
  graph::Graph graph;
  graph::TensorType left, right;
  left.dims = {8 + n, 16};
  right.dims = {16, 32};
  graph::Value product;
  product.op = graph::Op::kMatMul;
  product.operands = {graph.Input(left), graph.Input(right)};
  product.type.dims = {8 + n, 32};
  graph.outputs() = {graph.Add(product)};
  return *graph::Workload::Create(std::move(graph), 1e-4);
}

class SearchInputTest : public ::testing::Test {
 protected:
  // A job with so many tasks, the first of which has so many records. The first record is fastest.
  SearchInput Read(int tasks, int records) {
    db::JobRow job;
    job.target = target_.ToText();
    job.options = options_.ToText();
    job.watermark = INT64_MAX;
    for (int n = 0; n < tasks; ++n) {
      const graph::Workload workload = Product(n);
      EXPECT_TRUE(log_->AddWorkload({workload.digest(), workload.ToText(), ""}).ok());
      job.tasks.push_back({workload.digest(), 1, ""});
    }
    for (int n = 0; n < records; ++n) {
      Add(job.tasks[0].workload, backwards_ ? records - 1 - n : n);
    }
    WorkloadIndex index(*log_);
    Result<SearchInput> input = SearchInputOf(*log_, index, job);
    EXPECT_TRUE(input.ok()) << input.status().ToString();
    return *std::move(input);
  }
  void Add(const Digest& workload, int n) {
    db::Record record;
    record.task_uid = DigestOf("record " + std::to_string(n));
    record.workload = workload;
    record.target = target_.ClassText();
    record.config = "fake/1 x=" + std::to_string(n);
    record.measurement.outcome = Outcome::kOk;
    record.measurement.median_ns = 1000 + n;
    record.measurement.p10_ns = record.measurement.p90_ns = 1000 + n;
    record.measurement.runs = 9;
    record.arm = "model";
    record.created_us = n;
    EXPECT_TRUE(AppendAndWait(*log_, record).ok());
  }

  target::Target target_;
  JobOptions options_;
  bool backwards_ = false;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
};

TEST_F(SearchInputTest, AJobOfFewTasksReadsAllOfThem) {
  EXPECT_EQ(Read(2, 600).tasks[0].prior.size(), 600u);
}

// 16,384 records of 100 tasks are 163 of each.
TEST_F(SearchInputTest, AJobOfManyTasksReadsTheNewestAndTheFastestOfEach) {
  const std::vector<PriorTrial> prior = Read(100, 600).tasks[0].prior;
  ASSERT_EQ(prior.size(), 163u + 64u);
  EXPECT_EQ(prior.front().measurement.median_ns, 1000) << "the fastest, which are the oldest";
  EXPECT_EQ(prior[63].measurement.median_ns, 1063);
  EXPECT_EQ(prior[64].measurement.median_ns, 1000 + 600 - 163);
  EXPECT_EQ(prior.back().measurement.median_ns, 1599);
}

// As many records as a job of 100 tasks reads, and more: the order of insertion decides nothing.
TEST_F(SearchInputTest, AReproducibleJobReadsTheSameWhateverTheOrder) {
  options_.reproducible = true;
  for (const int records : {100, 600}) {
    std::vector<double> first;
    for (const bool backwards : {false, true}) {
      log_ = db::MakeMemoryLog();
      backwards_ = backwards;
      std::vector<double> times;
      const SearchInput input = Read(100, records);
      for (const PriorTrial& trial : input.tasks[0].prior) {
        times.push_back(trial.measurement.median_ns);
      }
      ASSERT_EQ(times.size(), records == 100 ? 100u : 163u);
      if (backwards) {
        EXPECT_EQ(times, first);
      }
      first = times;
    }
    EXPECT_EQ(first.front(), 1000);
    EXPECT_EQ(first.back(), 1000 + static_cast<double>(first.size()) - 1) << "the fastest";
  }
}

TEST_F(SearchInputTest, AJobOfVeryManyTasksReadsSomeOfEach) {
  EXPECT_EQ(Read(1000, 600).tasks[0].prior.size(), 64u + 64u);
}

}  // namespace
}  // namespace mlc::server
