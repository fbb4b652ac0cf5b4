#include "client/model/model_variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace mlc::client {
namespace {

using ::testing::ElementsAre;

front::Model Parsed(const std::string& body) {
  Result<graph::Graph> graph = graph::Graph::Parse("graph v1 {\n" + body + "\n}\n");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return {graph.ok() ? *std::move(graph) : graph::Graph(), {}};
}

constexpr char kSiblings[] =
    "%0 = input() : f32[3,2] %1 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[2,2] "
    "%2 = constant() {values=[5.0,6.0,7.0,8.0]} : f32[2,2] %3 = matmul(%0, %1) : f32[3,2] "
    "%4 = matmul(%0, %2) : f32[3,2] %5 = softmax(%3) {axis=1} : f32[3,2] "
    "%6 = softmax(%4) {axis=1} : f32[3,2] %7 = input() : f32[9,9] "
    "%8 = softmax(%7) {axis=1} : f32[9,9] return %5, %6, %8";

// Executions by what is executed; tasks differ in their operands' places, too.
std::map<std::string, std::vector<int>> UsesByKind(const ModelTasks& model) {
  std::map<std::string, std::vector<int>> uses;
  for (const ModelTask& task : model.tasks) {
    const std::string text = task.workload.ToText();
    const bool product = text.find("matmul") != std::string::npos;
    std::vector<int>& sum = uses[product                                   ? "product"
                                 : text.find("[9,9]") != std::string::npos ? "other"
                                                                           : "softmax"];
    sum.resize(task.uses.size());
    for (size_t v = 0; v < sum.size(); ++v) sum[v] += task.uses[v];
  }
  return uses;
}

TEST(ModelVariantsTest, ProductsOfOneValueAreMergedOrApart) {
  const Result<ModelTasks> model = TasksOfModel(Parsed(kSiblings), {}, target::Target());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(model->variants, ElementsAre("fused", "products apart"));
  EXPECT_GT(model->tasks[0].uses[0], 0) << "the usual variant's tasks come first";
  std::map<std::string, std::vector<int>> uses = UsesByKind(*model);
  EXPECT_THAT(uses["product"], ElementsAre(1, 2));
  EXPECT_THAT(uses["softmax"], ElementsAre(2, 2));
  EXPECT_THAT(uses["other"], ElementsAre(1, 1));
  std::set<Digest> digests;
  for (const ModelTask& task : model->tasks) {
    EXPECT_TRUE(digests.insert(task.workload.digest()).second) << "equal workloads are one task";
    EXPECT_EQ(task.uses.size(), 2u);
  }
}

TEST(ModelVariantsTest, AModelWithoutAChoiceHasOneVariant) {
  const auto alone =
      TasksOfModel(Parsed("%0 = input() : f32[9,9] %1 = softmax(%0) {axis=1} : f32[9,9] return %1"),
                   {}, target::Target());
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_THAT(alone->variants, ElementsAre("fused"));
  front::FrontOptions options;
  options.skip = {"merge_siblings"};
  const Result<ModelTasks> chosen = TasksOfModel(Parsed(kSiblings), options, target::Target());
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_THAT(chosen->variants, ElementsAre("fused")) << "the user has chosen";
}

TEST(ModelVariantsTest, TasksOfSeveralSizesAreCountedTogether) {
  const auto model = [](const std::string& rows) {
    const Result<ModelTasks> tasks = TasksOfModel(
        Parsed("%0 = input() : f32[" + rows + ",9] %1 = softmax(%0) {axis=1} : f32[" + rows +
               ",9] %2 = input() : f32[5,5] %3 = softmax(%2) {axis=1} : f32[5,5] return %1, %3"),
        {}, target::Target());
    EXPECT_TRUE(tasks.ok()) << tasks.status().message();
    return tasks.ok() ? *tasks : ModelTasks();
  };
  const ModelTasks all = TasksOfAll({model("4"), model("8")});
  EXPECT_THAT(all.variants, ElementsAre("fused"));
  ASSERT_EQ(all.tasks.size(), 3u) << "the task that both sizes have is one";
  std::vector<int> uses;
  for (const ModelTask& task : all.tasks) uses.push_back(task.uses.front());
  EXPECT_THAT(uses, ::testing::UnorderedElementsAre(1, 2, 1));
}

TEST(ModelVariantsTest, ASizeWithoutAVariantCountsAsUsualInIt) {
  const Result<ModelTasks> with = TasksOfModel(Parsed(kSiblings), {}, target::Target());
  const Result<ModelTasks> without =
      TasksOfModel(Parsed("%0 = input() : f32[9,9] %1 = softmax(%0) {axis=1} : f32[9,9] return %1"),
                   {}, target::Target());
  ASSERT_TRUE(with.ok() && without.ok());
  const ModelTasks all = TasksOfAll({*without, *with});
  EXPECT_THAT(all.variants, ElementsAre("fused", "products apart"));
  std::map<std::string, std::vector<int>> uses = UsesByKind(all);
  EXPECT_THAT(uses["product"], ElementsAre(1, 2));
  EXPECT_THAT(uses["other"], ElementsAre(2, 2)) << "the size without the variant has it in both";
  EXPECT_GT(all.tasks[0].uses[0], 0) << "the usual variant's tasks come first";
}

std::vector<std::string> NamesOf(const std::vector<ModelVariant>& variants) {
  std::vector<std::string> names;
  for (const ModelVariant& variant : variants) names.push_back(variant.name);
  return names;
}

TEST(ModelVariantsTest, ChoicesAreCombined) {
  front::PassTrace trace;
  trace.entries = {{"merge_siblings", true, 0, 1}, {"fuse_residuals", true, 0, 1}};
  target::Target gpu;
  gpu.device = target::GpuTarget();
  const std::vector<ModelVariant> variants = VariantsOf(trace, gpu);
  EXPECT_THAT(NamesOf(variants),
              ElementsAre("fused", "products apart", "sums apart", "sums and products apart"));
  EXPECT_EQ(variants[3].difference, "residual sums and products of one value stay apart");
  EXPECT_THAT(variants[3].skip, ElementsAre("fuse_residuals", "merge_siblings"));
  EXPECT_THAT(NamesOf(VariantsOf(trace, target::Target())), ElementsAre("fused", "products apart"));
  trace.entries[0].changed = false;
  EXPECT_THAT(NamesOf(VariantsOf(trace, gpu)), ElementsAre("fused", "sums apart"));
}

TEST(ModelVariantsTest, OtherVariantsPrintNoStages) {
  front::FrontOptions options;
  options.skip = {"cse"};
  options.print = [](std::string_view, const graph::Graph&) { FAIL(); };
  const front::FrontOptions apart = OptionsFor(options, {"apart", "", {"merge_siblings"}});
  EXPECT_FALSE(apart.print);
  EXPECT_THAT(apart.skip, ElementsAre("cse", "merge_siblings"));
}

}  // namespace
}  // namespace mlc::client
