#include "base/exit_code.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(ExitCode, FollowsTheStatus) {
  EXPECT_EQ(ExitCodeOf({}), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(InvalidArgument("")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(Unimplemented("")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(FailedPrecondition("")), ExitCode::kVersion);
  EXPECT_EQ(ExitCodeOf(Internal("")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(Unwritable("")), ExitCode::kCannotWrite);
  EXPECT_EQ(static_cast<int>(ExitCode::kBadInput), 65);
}

}  // namespace
}  // namespace mlc
