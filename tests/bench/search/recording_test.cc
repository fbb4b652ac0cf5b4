// What is recorded of a task's space, and what a replay makes of it. Needs no GPU: the space is of
// the CPU.
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/schedule/space/check_config.h"
#include "tests/bench/search/kernel_space.h"
#include "tests/bench/search/recording.h"
#include "tests/bench/search/searches.h"
#include "tests/temporary_folder.h"

namespace mlc::bench {
namespace {

constexpr char kWorkload[] =
    "workload v1 tolerance=1e-04 {\n%0 = input() : f32[64,64]\n%1 = weight() : f32[64,64]\n"
    "%2 = matmul(%0, %1) : f32[64,64]\nreturn %2\n}\n";
constexpr char kTarget[] =
    "target v1 cpu arch=x86_64 isa=avx2 threads=2 l1=32768 l2=1048576 l3=33554432 "
    "fma_gflops=50 copy_gbps=10";

graph::Workload TheWorkload() { return *graph::Workload::Parse(kWorkload); }
target::Target TheTarget() { return *target::Target::Parse(kTarget); }

Measurement Took(double ns) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns = ns;
  return m;
}

TEST(SelectionTest, ItHasTheDefaultsTheBestAndRandomOnesOnce) {
  const Selection all = SelectConfigs(TheWorkload(), TheTarget(), {4, 30, 10}, 1);
  EXPECT_GE(all.configs.size(), 40U);
  EXPECT_GT(all.legal, 1000);
  EXPECT_LE(all.pruned, all.legal);
  EXPECT_EQ(std::set<std::string>(all.configs.begin(), all.configs.end()).size(),
            all.configs.size());
  for (const std::string& text : all.configs) {
    EXPECT_TRUE(
        schedule::CheckConfig(TheWorkload(), TheTarget(), *schedule::Config::Parse(text)).ok())
        << text;
  }
  EXPECT_EQ(SelectConfigs(TheWorkload(), TheTarget(), {4, 30, 10}, 1).configs, all.configs);
  EXPECT_NE(SelectConfigs(TheWorkload(), TheTarget(), {4, 30, 10}, 2).configs, all.configs);
  // Nothing is nearer the least estimate than itself.
  EXPECT_LT(SelectConfigs(TheWorkload(), TheTarget(), {1, 30, 0}, 1).pruned, all.pruned);
}

class RecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Selection selection;
    selection.configs = {"a/1 x=1", "a/1 x=2", "a/1 x=3"};
    for (const char* name : {"one", "two"}) {
      ASSERT_TRUE(
          WriteSelection(folder_.path(""), name, kWorkload, kTarget, {}, 1, selection).ok());
    }
  }
  Result<Recording> Open() { return Recording::Open(folder_.path("")); }

  tests::TemporaryFolder folder_;
};

TEST_F(RecordingTest, TasksTakeTurnsAndACutRecordingGoesOn) {
  {
    auto recording = Open();
    ASSERT_TRUE(recording.ok()) << recording.status().message();
    for (size_t i = 0; i < 3; ++i) {
      const auto next = recording->TakeFirst();
      ASSERT_TRUE(next.has_value());
      EXPECT_EQ(next->task, i % 2);
      EXPECT_TRUE(recording->Add(next->task, next->config, kTarget, Took(100)).ok());
    }
    Measurement lost;
    lost.outcome = Outcome::kInfra;
    EXPECT_TRUE(recording->Add(1, "a/1 x=2", kTarget, lost).ok());
  }
  std::ofstream(folder_.path("one.times.jsonl"), std::ios::app) << "{\"config\":\"a/1 x=3\",\"ns";
  auto recording = Open();
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  std::multiset<std::string> left;
  while (const auto next = recording->TakeFirst()) {
    left.insert(std::to_string(next->task) + " " + next->config);
    EXPECT_GT(next->early_stop_ns, 100);
  }
  EXPECT_EQ(left, (std::multiset<std::string>{"0 a/1 x=3", "1 a/1 x=2", "1 a/1 x=3"}));
}

TEST_F(RecordingTest, TheFastestAreMeasuredAgain) {
  auto recording = Open();
  ASSERT_TRUE(recording.ok()) << recording.status().message();
  double ns = 300;
  while (const auto next = recording->TakeFirst()) {
    EXPECT_TRUE(recording->Add(next->task, next->config, kTarget, Took(ns -= 10)).ok());
  }
  std::multiset<std::string> again;
  while (const auto next = recording->TakeAgain(2, 3)) {
    if (next->task == 0) again.insert(next->config);
    EXPECT_TRUE(recording->Add(next->task, next->config, kTarget, Took(ns)).ok());
  }
  EXPECT_EQ(again, (std::multiset<std::string>{"a/1 x=2", "a/1 x=2", "a/1 x=3", "a/1 x=3"}));
}

std::string Write(const tests::TemporaryFolder& folder, const nlohmann::json& root) {
  const std::string path = folder.path("small_here.json.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  const std::string text = root.dump();
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

// A space of which all but one config take 1000 ns or fail.
std::string WriteSpace(const tests::TemporaryFolder& folder, const Selection& selection,
                       const std::string& best) {
  nlohmann::json configs = nlohmann::json::array();
  for (const std::string& text : selection.configs) {
    configs.push_back({text, nlohmann::json::array({1000.0})});
  }
  configs.push_back({best, {100.0, 90.0, 110.0}});
  configs.push_back({"contraction/1 of_an_earlier_version=1", nlohmann::json::array({1.0})});
  configs[1][1] = "build_error";
  const nlohmann::json root = {{"workload", kWorkload}, {"target", kTarget}, {"configs", configs}};
  return Write(folder, root);
}

TEST(KernelSpaceTest, TheSearchSeesWhatWasMeasured) {
  const tests::TemporaryFolder folder;
  Selection selection = SelectConfigs(TheWorkload(), TheTarget(), {4, 40, 20}, 1);
  const std::string best = selection.configs.back();
  selection.configs.pop_back();
  const auto space = ReadSpace(WriteSpace(folder, selection, best));
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ((*space)->problem() + "/" + (*space)->device(), "small/here");
  EXPECT_EQ((*space)->rows().size(), selection.configs.size() + 1);
  EXPECT_EQ((*space)->best_ns(), 100);
  const auto source = (*space)->Source({});
  std::vector<float> features(source->columns());
  double estimate_ns = 0;
  for (const server::PointRef& one : source->Defaults()) {
    EXPECT_TRUE(source->Describe(one.family, one.point, estimate_ns, features));
    EXPECT_TRUE((*space)->Has((*space)->KeyOf(one)));
  }
  Trials trials(*space, 100, true, Rng(1));
  RunPortfolio(*space, {}, {}, 100, 1, trials);
  EXPECT_GT(trials.Reached(0.98), 1);
}

// A kernel whose sizes are given by value, as Kernel Tuner's caches give them.
nlohmann::json TunedRoot() {
  const nlohmann::json specification = {
      {"General", {{"FormatVersion", 1}}},
      {"ConfigurationSpace",
       {{"TuningParameters",
         {{{"Name", "block"}, {"Type", "int"}, {"Values", "[32, 64, 128]"}, {"Default", 64}},
          {{"Name", "tile"}, {"Type", "int"}, {"Values", "[1, 2]"}, {"Default", 1}}}}}},
      {"KernelSpecification",
       {{"Language", "CUDA"},
        {"KernelName", "twice"},
        {"Source", "extern \"C\" __global__ void twice(const float* in, float* out) {}"},
        {"ProblemSize", {1024}},
        {"GridDivX", {"tile"}},
        {"LocalSize", {{"X", "block"}}},
        {"Arguments",
         {{{"Name", "in"},
           {"Type", "float"},
           {"MemoryType", "Vector"},
           {"AccessType", "ReadOnly"},
           {"Size", 1024}},
          {{"Name", "out"},
           {"Type", "float"},
           {"MemoryType", "Vector"},
           {"AccessType", "WriteOnly"},
           {"Size", 1024}}}}}}};
  nlohmann::json cache = nlohmann::json::object();
  for (const int block : {32, 64, 128}) {
    for (const int tile : {1, 2}) {
      const double ms = 1e-3 * block * tile;
      nlohmann::json row = {
          {"block", block}, {"tile", tile}, {"time", ms}, {"times", {ms, 1.1 * ms}}};
      if (block == 128 && tile == 2) row["time"] = "RuntimeFailedConfig";
      cache[std::to_string(block) + "," + std::to_string(tile)] = row;
    }
  }
  return {{"kernel", specification}, {"target", kTarget}, {"cache", cache}};
}

TEST(TunedSpaceTest, TheSearchSeesAUsersKernelAsInAJob) {
  const tests::TemporaryFolder folder;
  const auto space = ReadSpace(Write(folder, TunedRoot()));
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ((*space)->rows().size(), 6u);
  EXPECT_EQ((*space)->best_ns(), 32e3);
  EXPECT_EQ((*space)->At({2, 1}).ns, 0) << "it failed";
  const auto source = (*space)->Source({});
  ASSERT_EQ(source->Defaults().size(), 1u);
  EXPECT_EQ(source->Defaults().front().point, (server::Point{1, 0}));
  Trials trials(*space, 6, true, Rng(1));
  RunPortfolio(*space, {}, {}, 6, 1, trials);
  EXPECT_GT(trials.Reached(0.98), 0);
}

TEST(TunedSpaceTest, ValuesThatAreNoneOfTheKernelsAreAnError) {
  const tests::TemporaryFolder folder;
  nlohmann::json root = TunedRoot();
  root["cache"]["32,1"]["block"] = 33;
  EXPECT_EQ(ReadSpace(Write(folder, root)).status().code(), StatusCode::kDataLoss);
  root["kernel"] = 1;
  EXPECT_EQ(ReadSpace(Write(folder, root)).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace mlc::bench
