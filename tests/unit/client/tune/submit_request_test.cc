#include "client/tune/submit_request.h"

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <vector>

#include "client/progress/model_info.h"
#include "client/tune/options/tune_flags.h"
#include "server/state/job_figures.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::client {
namespace {

using ::testing::ElementsAre;

graph::Task TaskOf(int channels, int occurrences) {
  return {costmodel::MakeConv(64, 28, channels, 3), occurrences,
          "conv of " + std::to_string(channels)};
}

proto::SubmitJobRequest Request(const ModelTasks& model) {
  TuneOptions options;
  options.model = "m.onnx";
  options.trials = 77;
  return SubmitRequestOf(options, model, target::Target(), "ada");
}

TEST(TuneRequestTest, AModelInOneVariantIsAskedForAsEver) {
  ModelTasks model;
  model.Add("fused", {TaskOf(8, 3), TaskOf(16, 1)});
  const proto::SubmitJobRequest request = Request(model);
  EXPECT_EQ(request.variants_size(), 0);
  ASSERT_EQ(request.tasks_size(), 2);
  EXPECT_EQ(request.tasks(0).occurrences(), 3);
  EXPECT_EQ(request.tasks(0).uses_size(), 0);
  EXPECT_EQ(request.tasks(0).label(), "conv of 8");
  EXPECT_EQ(request.options().trials(), 77);
  EXPECT_EQ(request.user(), "ada");
}

TEST(TuneRequestTest, EqualTasksOfSeveralVariantsAreOne) {
  ModelTasks model;
  model.Add("fused", {TaskOf(8, 3), TaskOf(16, 1)});
  model.Add("apart", {TaskOf(24, 6), TaskOf(16, 2)});
  const proto::SubmitJobRequest request = Request(model);
  ASSERT_EQ(request.variants_size(), 2);
  EXPECT_EQ(request.variants(1).name(), "apart");
  ASSERT_EQ(request.tasks_size(), 3);
  EXPECT_THAT(request.tasks(0).uses(), ElementsAre(3, 0));
  EXPECT_THAT(request.tasks(1).uses(), ElementsAre(1, 2));
  EXPECT_THAT(request.tasks(2).uses(), ElementsAre(0, 6));
  EXPECT_EQ(request.tasks(1).occurrences(), 1) << "those of the usual variant";
  EXPECT_EQ(request.tasks(2).occurrences(), 6) << "for servers that know no variants";
  // A client that watches the job shows the same as the one that submitted it.
  proto::JobDescription description;
  *description.mutable_tasks() = request.tasks();
  *description.mutable_variants() = request.variants();
  const Result<server::ModelInfo> watched = server::InfoOf(description);
  ASSERT_TRUE(watched.ok());
  const server::ModelInfo own = InfoOf(model);
  EXPECT_EQ(watched->variants, own.variants);
  for (size_t i = 0; i < own.tasks.size(); ++i) {
    EXPECT_EQ(watched->tasks[i].uses, own.tasks[i].uses);
    EXPECT_EQ(watched->tasks[i].workload, own.tasks[i].workload);
  }
  description.mutable_tasks(0)->clear_uses();
  EXPECT_EQ(server::InfoOf(description).status().code(), StatusCode::kDataLoss);
}

TEST(TuneRequestTest, AJobIsCalledByItsLabelOrElseByItsFile) {
  TuneOptions options;
  options.model = "m.onnx";
  EXPECT_EQ(SubmitRequestOf(options, {}, target::Target(), "ada").label(), "m.onnx");
  options.label = "nightly resnet";
  EXPECT_EQ(SubmitRequestOf(options, {}, target::Target(), "ada").label(), "nightly resnet");
}

TEST(TuneRequestTest, EachFlagOfAJobIsSent) {
  TuneOptions options;
  int sent = 0;
  ForEachFlag([&](const auto& flag) {
    if (flag.info.sent == nullptr) return;
    ++sent;
    using Value = std::decay_t<decltype(options.*(flag.member))>;
    if constexpr (std::is_arithmetic_v<Value>) {
      options.*(flag.member) = static_cast<Value>(std::same_as<Value, bool> ? 1 : sent);
    }
  });
  const proto::JobOptions job = SubmitRequestOf(options, {}, target::Target(), "ada").options();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  job.GetReflection()->ListFields(job, &fields);
  EXPECT_EQ(fields.size(), static_cast<size_t>(sent));
  EXPECT_EQ(job.trials(), options.trials);
  EXPECT_EQ(job.priority(), options.priority);
  EXPECT_TRUE(job.fresh());
}

}  // namespace
}  // namespace mlc::client
