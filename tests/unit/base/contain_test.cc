#include "base/contain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "base/check.h"

namespace mlc {
namespace {

using ::testing::HasSubstr;

struct Counted {
  explicit Counted(int& alive) : alive_(alive) { ++alive_; }
  ~Counted() { --alive_; }
  int& alive_;
};

TEST(Contain, AFailedCheckEndsTheWorkAndNotTheProcess) {
  int alive = 0;
  const Status status = Contain([&] {
    const Counted built(alive);
    MLC_CHECK(alive == 2) << "there is " << alive;
    return Status();
  });
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("check failed: alive == 2 there is 1"));
  EXPECT_EQ(alive, 0) << "what was built is gone";
}

TEST(Contain, PassesOnWhatTheWorkSays) {
  EXPECT_TRUE(Contain([] { return Status(); }).ok());
  EXPECT_EQ(Contain([] { return NotFound("it"); }).code(), StatusCode::kNotFound);
}

TEST(Contain, ExhaustedMemoryEndsTheWorkAlone) {
  const Status status = Contain([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("memory"));
}

TEST(Contain, MayBeNested) {
  const Status outer = Contain([] {
    const Status inner = Contain([] {
      MLC_CHECK(false) << "inner";
      return Status();
    });
    EXPECT_THAT(inner.message(), HasSubstr("inner"));
    MLC_CHECK(false) << "outer";
    return Status();
  });
  EXPECT_THAT(outer.message(), HasSubstr("outer"));
}

TEST(ContainDeathTest, OutsideAFailedCheckEndsTheProcess) {
  (void)Contain([] { return Status(); });
  EXPECT_DEATH(MLC_CHECK(1 == 2) << "a bug", "check failed: 1 == 2 a bug");
}

}  // namespace
}  // namespace mlc
