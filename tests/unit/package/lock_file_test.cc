#include "compiler/package/lock_file.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace mlc::package {
namespace {

const std::string kDigest = DigestOf(std::string_view("a workload")).ToText();
const std::string kText = "mlc lock v1\ntarget target v1 cpu arch=x86_64\ntask " + kDigest +
                          " 00ff 1250.5 contraction/3 mr=14 nr=2\n";

TEST(LockFile, TextReadsBack) {
  const Result<LockFile> lock = LockFile::Parse(kText);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  EXPECT_EQ(lock->target_class, "target v1 cpu arch=x86_64");
  ASSERT_EQ(lock->choices.size(), 1u);
  const Choice& choice = lock->choices.begin()->second;
  EXPECT_EQ(choice.origin, Origin(FromRecord{"00ff"}));
  EXPECT_EQ(choice.expected_ns, 1250.5);
  EXPECT_EQ(choice.config.ToText(), "contraction/3 mr=14 nr=2");
  EXPECT_EQ(lock->ToText(), kText);
}

TEST(Origin, TextReadsBack) {
  for (const auto& [origin, text] : {std::pair<Origin, std::string>{FromDefault(), "default"},
                                     {FromRecord{"00ff"}, "00ff"},
                                     {FromSimilar{"00ff"}, "transfer:00ff"}}) {
    EXPECT_EQ(ToText(origin), text);
    EXPECT_EQ(ParseOrigin(text), origin);
  }
}

TEST(LockFile, ALockWithoutTasksReadsBack) {
  const std::string text = "mlc lock v1\ntarget t\n";
  const Result<LockFile> lock = LockFile::Parse(text);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  EXPECT_EQ(lock->ToText(), text);
}

TEST(LockFile, SubstitutesFollowTheirTasks) {
  const std::string other = DigestOf(std::string_view("another")).ToText();
  const std::string text = "mlc lock v1\ntarget t\ntask " + std::min(kDigest, other) +
                           " default 0.0 a/1 x=1\ntask " + std::max(kDigest, other) +
                           " default 0.0 b/1\nnewer " + std::max(kDigest, other) + " c/2 y=3\n";
  const Result<LockFile> lock = LockFile::Parse(text);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  EXPECT_FALSE(lock->choices.begin()->second.substitute);
  ASSERT_TRUE(lock->choices.rbegin()->second.substitute);
  EXPECT_EQ(lock->choices.rbegin()->second.substitute->ToText(), "c/2 y=3");
  EXPECT_EQ(lock->ToText(), text);
}

TEST(LockFile, BadTextIsExplained) {
  const auto error = [](const std::string& text) { return LockFile::Parse(text).status(); };
  const std::string head = "mlc lock v1\ntarget t\n";
  EXPECT_EQ(error(""), InvalidArgument("not a lock file: the first line must be 'mlc lock v1'"));
  EXPECT_EQ(
      error("mlc lock v2\n"),
      FailedPrecondition("the lock file is from a newer mlc-compile: upgrade, or lock again"));
  EXPECT_EQ(error("mlc lock v1\n"), InvalidArgument("the lock file has no 'target' line"));
  EXPECT_EQ(error(head + "target u\n"), InvalidArgument("line 3: 'target' is not expected here"));
  EXPECT_EQ(error(head + "tusk\n"), InvalidArgument("line 3: 'tusk' is not expected here"));
  EXPECT_EQ(error(head + "task " + kDigest + " default 0\n"),
            InvalidArgument("line 3: expected: task DIGEST ORIGIN NANOSECONDS CONFIG"));
  EXPECT_EQ(error(head + "task " + kDigest + " default 1x copy/1\n"),
            InvalidArgument("line 3: '1x' is not a number of nanoseconds"));
  EXPECT_EQ(error(head + "task " + kDigest + " default -1 copy/1\n"),
            InvalidArgument("line 3: '-1' is not a valid time"));
  EXPECT_EQ(error(head + "task " + kDigest + " default nan copy/1\n"),
            InvalidArgument("line 3: 'nan' is not a valid time"));
  const std::string task = "task " + kDigest + " default 0 copy/1\n";
  EXPECT_EQ(error(head + task + task), InvalidArgument("line 4: the task is pinned twice"));
  const std::string newer = "newer " + kDigest + " copy/1\n";
  EXPECT_EQ(error(head + newer), InvalidArgument("line 3: the task is not pinned above"));
  EXPECT_EQ(error(head + task + newer + newer),
            InvalidArgument("line 5: the task is pinned twice"));
  EXPECT_EQ(error(head + task + "newer " + kDigest + "\n"),
            InvalidArgument("line 4: expected: newer DIGEST CONFIG"));
  EXPECT_EQ(error(head + "task 12 default 0 copy/1\n").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(error(head + "task " + kDigest + " default 0 copy\n").code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::package
