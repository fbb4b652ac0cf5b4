#include "db/untuned/untuned_list.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UntunedListTest : public LogFixture {
 protected:
  UntunedWorkload Wanted(const std::string& text, int64_t now) {
    return {text, "summary of " + text, "cpu", 1, now, now};
  }
  void Note(std::vector<UntunedWorkload> wanted) {
    const Status status = NoteUntuned(log_, wanted);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<std::string> Listed() {
    std::vector<std::string> lines;
    const auto list = ReadUntuned(log_);
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    for (const UntunedWorkload& entry : *list) {
      lines.push_back(entry.text + " " + entry.target + " " + std::to_string(entry.builds) + " " +
                      std::to_string(entry.first_us) + ".." + std::to_string(entry.last_us));
    }
    return lines;
  }

  const std::string log_ = Path("a.db");
};

TEST_F(UntunedListTest, WithoutAFileThereIsNothing) {
  EXPECT_THAT(Listed(), IsEmpty());
  Note({});
  EXPECT_FALSE(std::filesystem::exists(UntunedPath(log_))) << "nothing to note makes no file";
}

TEST_F(UntunedListTest, CountsBuildsAndKnowsWhenTheyWere) {
  Note({Wanted("one", 10), Wanted("two", 10)});
  Note({Wanted("two", 20)});
  UntunedWorkload other = Wanted("two", 30);
  other.target = "gpu";
  Note({other});
  EXPECT_THAT(Listed(), ElementsAre("two cpu 2 10..20", "two gpu 1 30..30", "one cpu 1 10..10"));
  EXPECT_EQ(ReadUntuned(log_)->front().summary, "summary of two");
}

TEST_F(UntunedListTest, ForgetsWhatIsTuned) {
  Note({Wanted("one", 10), Wanted("two", 10)});
  const std::vector<UntunedWorkload> tuned = {Wanted("one", 0), Wanted("three", 0)};
  EXPECT_TRUE(ForgetUntuned(log_, tuned).ok());
  EXPECT_THAT(Listed(), ElementsAre("two cpu 1 10..10"));
}

TEST_F(UntunedListTest, OfTooManyTheOnesWantedLastStay) {
  std::vector<UntunedWorkload> many;
  for (int n = 0; n < static_cast<int>(kMostUntuned) + 5; ++n) {
    many.push_back(Wanted("w" + std::to_string(n), n));
  }
  Note(many);
  const auto list = *ReadUntuned(log_);
  ASSERT_EQ(list.size(), kMostUntuned);
  EXPECT_EQ(list.back().text, "w5");
}

TEST_F(UntunedListTest, DamagedLinesAreLeftOut) {
  Note({Wanted("one", 10)});
  {
    std::ofstream out(UntunedPath(log_), std::ios::app);
    out << "no json\n"
        << R"({"v": 2, "text": "of another version"})"
        << "\n"
        << R"({"v": 1, "text": 7, "summary": "", "target": "", "builds": 1})"
        << "\n"
        << R"({"v": 1, "text": "two", "summary": "", "target": "cpu", "builds": -1, )"
        << R"("first_us": 1, "last_us": 1})"
        << "\n"
        << R"({"v": 1, "text": "cut of)";
  }
  EXPECT_THAT(Listed(), ElementsAre("one cpu 1 10..10"));
  Note({Wanted("one", 20)});
  EXPECT_THAT(Listed(), ElementsAre("one cpu 2 10..20"));
}

TEST_F(UntunedListTest, WritersTakeTurns) {
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < 4; ++t) {
      writers.emplace_back([&] {
        for (int n = 0; n < 25; ++n) {
          while (!NoteUntuned(log_, std::vector{Wanted("one", n)}).ok()) std::this_thread::yield();
        }
      });
    }
  }
  EXPECT_THAT(Listed(), ElementsAre("one cpu 100 0..24"));
}

TEST_F(UntunedListTest, SaysWhatItCannotWriteOrWhoHoldsIt) {
  EXPECT_EQ(NoteUntuned(Path("none/a.db"), std::vector{Wanted("one", 1)}).code(),
            StatusCode::kPermissionDenied);
  // Not through a link, which may lead anywhere.
  std::filesystem::create_symlink(Path("elsewhere"), UntunedPath(Path("b.db")));
  EXPECT_EQ(NoteUntuned(Path("b.db"), std::vector{Wanted("one", 1)}).code(),
            StatusCode::kPermissionDenied);
  EXPECT_FALSE(std::filesystem::exists(Path("elsewhere")));
  Note({Wanted("one", 1)});
  const int fd = open(UntunedPath(log_).c_str(), O_RDWR);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_EQ(NoteUntuned(log_, std::vector{Wanted("one", 1)}).code(), StatusCode::kAborted);
  close(fd);
}

}  // namespace
}  // namespace mlc::db
