// Jobs of models in variants: what the search and others hear of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

class TunerVariantsTest : public TunerTest {
 protected:
  // Task 0 once or task 1 three times.
  static proto::SubmitJobRequest InVariants(int64_t trials) {
    proto::SubmitJobRequest request = Request(trials);
    request.add_variants()->set_name("merged");
    request.add_variants()->set_name("apart");
    for (const int uses : {1, 0}) request.mutable_tasks(0)->add_uses(uses);
    for (const int uses : {0, 3}) request.mutable_tasks(1)->add_uses(uses);
    return request;
  }
};

TEST_F(TunerVariantsTest, TheSearchKnowsThemAlsoAfterARestart) {
  const std::string job = tuner_->Submit(InVariants(40), Caller::Local())->job();
  Work(job, 9);
  const std::string known = "used 1\nused 0\nused 0\nused 3\n";
  EXPECT_EQ(knowledge_, known);
  Restart();
  Work(job);
  EXPECT_EQ(knowledge_, known);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  EXPECT_EQ(log_->Stats()->records, 40);
}

TEST_F(TunerVariantsTest, OthersAreToldOfThem) {
  const proto::SubmitJobRequest request = InVariants(4);
  const auto described = tuner_->Describe(tuner_->Submit(request, Caller::Local())->job());
  ASSERT_TRUE(described.ok()) << described.status().ToString();
  ASSERT_EQ(described->variants_size(), 2);
  EXPECT_EQ(described->variants(1).name(), "apart");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(described->tasks(i).SerializeAsString(), request.tasks(i).SerializeAsString());
  }
}

TEST_F(TunerVariantsTest, AnOldClientsJobHasNone) {
  const std::string job = Submit(4);
  Work(job);
  EXPECT_EQ(knowledge_, "");
  EXPECT_EQ(tuner_->Describe(job)->variants_size(), 0);
  EXPECT_FALSE(tuner_->Submit(InVariants(4), Caller::Local())->resumed())
      << "the same tasks in variants are another job";
  EXPECT_TRUE(tuner_->Submit(InVariants(4), Caller::Local())->resumed());
}

TEST_F(TunerVariantsTest, RefusesBadOnesInWords) {
  const auto refused = [this](const std::function<void(proto::SubmitJobRequest&)>& change) {
    proto::SubmitJobRequest request = InVariants(5);
    change(request);
    const Status status = tuner_->Submit(request, Caller::Local()).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(1)->add_uses(1); }),
              HasSubstr("task 1: as many uses are needed"));
  EXPECT_THAT(refused([](auto& r) { r.clear_variants(); }), HasSubstr("task 0: as many uses"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(0)->set_uses(1, -1); }),
              HasSubstr("out of range"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(1)->set_uses(1, 0); }),
              HasSubstr("task 1: no variant uses it"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_variants(1)->set_name("merged"); }),
              HasSubstr("variant 1: a name used before"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_variants(0)->clear_name(); }),
              HasSubstr("variant 0: a name"));
  EXPECT_THAT(refused([](auto& r) {
                for (int i = 0; i < 15; ++i) r.add_variants()->set_name(std::to_string(i));
              }),
              HasSubstr("more than 16 variants"));
}

}  // namespace
}  // namespace mlc::server
