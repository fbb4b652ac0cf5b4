#include "server/security/caller.h"

#include <gtest/gtest.h>

namespace mlc::server {
namespace {

TEST(CallerTest, RolesHaveTheirTexts) {
  for (int i = 0; i < kRoles; ++i) {
    const auto role = static_cast<Role>(i);
    EXPECT_EQ(ParseRole(ToText(role)), role);
  }
  EXPECT_FALSE(ParseRole("root"));
  EXPECT_FALSE(ParseRole(""));
}

TEST(CallerTest, ARoleGivesWhatItIsFor) {
  const auto has = [](Role role, Role wanted) { return Caller{"x", role}.Has(wanted); };
  EXPECT_TRUE(has(Role::kSubmit, Role::kRead));
  EXPECT_TRUE(has(Role::kAdmin, Role::kRead));
  EXPECT_TRUE(has(Role::kAdmin, Role::kSubmit));
  EXPECT_FALSE(has(Role::kAdmin, Role::kWork));
  EXPECT_FALSE(has(Role::kWork, Role::kRead));
  EXPECT_FALSE(has(Role::kRead, Role::kSubmit));
  EXPECT_FALSE(has(Role::kSubmit, Role::kAdmin));
  for (int i = 0; i < kRoles; ++i) {
    EXPECT_TRUE(has(static_cast<Role>(i), static_cast<Role>(i)));
    EXPECT_TRUE(Caller::Local().Has(static_cast<Role>(i)));
  }
}

TEST(CallerTest, OwnsItsOwnJobsAlone) {
  const Caller alice{"alice", Role::kSubmit};
  EXPECT_TRUE(alice.Owns("alice"));
  EXPECT_FALSE(alice.Owns("bob"));
  EXPECT_FALSE((Caller{"alice", Role::kRead}.Owns("alice")));
  EXPECT_TRUE((Caller{"root", Role::kAdmin}.Owns("bob")));
  EXPECT_TRUE(Caller::Local().Owns("bob"));
}

TEST(CallerTest, AWorkerRunsUnderItsOwnName) {
  const Caller worker{"gpu-1", Role::kWork};
  EXPECT_TRUE(worker.RunsWorker("gpu-1"));
  EXPECT_TRUE(worker.RunsWorker("gpu-1-cpu"));
  EXPECT_TRUE(worker.RunsWorker("gpu-1.2"));
  EXPECT_FALSE(worker.RunsWorker("gpu-10"));
  EXPECT_FALSE(worker.RunsWorker("gpu-2"));
  EXPECT_FALSE(worker.RunsWorker(""));
  EXPECT_FALSE((Caller{"gpu-1", Role::kAdmin}.RunsWorker("gpu-1")));
}

TEST(CallerTest, IdentitiesAreRoleAndName) {
  const Result<Caller> caller = ParseIdentity("submit/alice@lab");
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->ToText(), "submit alice@lab");
  EXPECT_FALSE(caller->local);
  for (const char* bad : {"", "submit", "submit/", "/alice", "root/alice", "submit/a b",
                          "submit/a/b", "submit/a\nb", "Submit/alice"}) {
    EXPECT_EQ(ParseIdentity(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(ParseIdentity("read/" + std::string(65, 'a')).ok());
}

}  // namespace
}  // namespace mlc::server
