#include "server/jobs/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "server/jobs/quotas_file.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

TEST(QuotasTest, UsersInheritWhatTheyDoNotSay) {
  const auto quotas = Quotas::Parse(
      R"({"users": {"ada": {"weight": 2.5, "running_jobs": 3}}, "default": {"tasks_per_job": 7}})");
  ASSERT_TRUE(quotas.ok()) << quotas.status().ToString();
  EXPECT_EQ(quotas->LimitsOf("ada").weight, 2.5);
  EXPECT_EQ(quotas->LimitsOf("ada").running_jobs, 3);
  EXPECT_EQ(quotas->LimitsOf("ada").tasks_per_job, 7);
  EXPECT_EQ(quotas->LimitsOf("bob").weight, 1);
  EXPECT_EQ(quotas->LimitsOf("bob").running_jobs, Limits().running_jobs);
  EXPECT_EQ(quotas->LimitsOf("bob").tasks_per_job, 7);
  EXPECT_TRUE(Quotas::Parse("{}").ok());
}

TEST(QuotasTest, NamesTheEntryAtFault) {
  const auto words = [](const std::string& text) {
    const Status status = Quotas::Parse(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    return status.message();
  };
  EXPECT_THAT(words("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(words("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(words(R"({"user": {}})"), HasSubstr("'user' is not default or users"));
  EXPECT_THAT(words(R"({"users": 3})"), HasSubstr("users is not an object"));
  EXPECT_THAT(words(R"({"users": {"ada": 3}})"), HasSubstr("user ada is not an object"));
  EXPECT_THAT(words(R"({"users": {"ada": {"jobs": 3}}})"),
              HasSubstr("user ada: 'jobs' is not one of"));
  EXPECT_THAT(words(R"({"default": {"weight": 0}})"), HasSubstr("default: weight must be above 0"));
  EXPECT_THAT(words(R"({"default": {"weight": "1"}})"), HasSubstr("weight"));
  EXPECT_THAT(words(R"({"default": {"running_jobs": -1}})"), HasSubstr("running_jobs must be"));
  EXPECT_THAT(words(R"({"default": {"running_jobs": 1.5}})"), HasSubstr("running_jobs must be"));
  EXPECT_THAT(words(R"({"default": {"running_jobs": 18446744073709551615}})"),
              HasSubstr("running_jobs must be"));
}

TEST(QuotasTest, TheFileIsFollowedAndABadOneChangesNothing) {
  const std::string path = ::testing::TempDir() + "/quotas.json";
  const auto write = [&](const std::string& text) {
    std::ofstream(path + ".new") << text;
    ASSERT_EQ(rename((path + ".new").c_str(), path.c_str()), 0);
  };
  write(R"({"default": {"running_jobs": 1}})");
  const auto file = QuotasFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  int64_t used = 0;
  const auto use = [&](const Quotas& quotas) { used = quotas.LimitsOf("ada").running_jobs; };
  constexpr auto kLook = transport::Look::kIfChanged;
  EXPECT_TRUE((*file)->Refresh(kLook, use).ok());
  EXPECT_EQ(used, 0) << "nothing has changed";
  write(R"({"default": {"running_jobs": "many"}})");
  EXPECT_THAT((*file)->Refresh(kLook, use).message(), HasSubstr(path));
  EXPECT_FALSE((*file)->Refresh(kLook, use).ok()) << "told until it is mended";
  EXPECT_EQ((*file)->quotas().LimitsOf("ada").running_jobs, 1);
  write(R"({"default": {"running_jobs": 7}})");
  EXPECT_TRUE((*file)->Refresh(kLook, use).ok());
  EXPECT_EQ(used, 7);
  used = 0;
  EXPECT_TRUE((*file)->Refresh(transport::Look::kNow, use).ok());
  EXPECT_EQ(used, 7) << "whoever asks is answered, changed or not";
  EXPECT_EQ((*file)->quotas().LimitsOf("ada").running_jobs, 7);
  EXPECT_EQ(QuotasFile::Open(path + ".absent").status().code(), StatusCode::kNotFound);
  (void)unlink(path.c_str());
}

TEST(QuotasTest, EachLimitIsToldWithItsValueAndAdvice) {
  const Quotas quotas = *Quotas::Parse(
      R"({"default": {"running_jobs": 2, "queued_trials": 100, "tasks_per_job": 5,
                      "request_bytes": 1000}})");
  const auto words = [&](const Usage& usage, const Asked& asked) {
    const Status status = quotas.Admit("ada", usage, asked);
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    return status.message();
  };
  EXPECT_TRUE(quotas.Admit("ada", {1, 60}, {40, 5, 1000}).ok());
  EXPECT_THAT(words({2, 0}, {1, 1, 1}),
              HasSubstr("ada has 2 jobs running; the server's quota is 2: wait for one of them"));
  EXPECT_THAT(words({1, 60}, {41, 5, 1000}),
              HasSubstr("waits for 60 trials and asks for 41 more; the server's quota is 100"));
  EXPECT_THAT(words({0, 0}, {1, 6, 1}), HasSubstr("the job has 6 tasks"));
  EXPECT_THAT(words({0, 0}, {1, 1, 1001}), HasSubstr("1001 bytes"));
}

}  // namespace
}  // namespace mlc::server
