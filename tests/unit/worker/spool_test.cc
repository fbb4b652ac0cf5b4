#include "worker/agent/spool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/rng.h"

namespace mlc::worker {
namespace {

using ::testing::HasSubstr;

TrialResult ResultOf(uint64_t number, std::string detail = {}) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns = 100 + static_cast<double>(number);
  m.runs = 7;
  m.detail = std::move(detail);
  return {Digest{1, number}, m};
}

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() { std::filesystem::remove(path_); }
  ~SpoolTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<Spool> Open(int64_t most = Spool::kMaxBytes) {
    auto spool = Spool::Open(path_, most);
    EXPECT_TRUE(spool.ok()) << spool.status().ToString();
    return *std::move(spool);
  }
  std::vector<uint64_t> Kept() {
    std::vector<uint64_t> numbers;
    for (const TrialResult& result : Open()->results()) numbers.push_back(result.uid.low);
    return numbers;
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  const std::string path_ = ::testing::TempDir() + "/mlc-spool-test-" + std::to_string(getpid());
};

TEST_F(SpoolTest, KeepsResultsUntilTheyAreForgotten) {
  {
    auto spool = Open();
    for (uint64_t n : {1, 2, 3}) spool->Add(ResultOf(n, "detail"));
    ASSERT_TRUE(spool->Sync().ok());
    spool->Forget({1, 2});
    spool->Forget({1, 99});
    ASSERT_TRUE(spool->Sync().ok());
  }
  auto spool = Open();
  const std::vector<TrialResult> results = spool->results();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].uid, (Digest{1, 1}));
  EXPECT_EQ(results[1].measurement.median_ns, 103);
  EXPECT_EQ(results[1].measurement.runs, 7);
  EXPECT_EQ(results[1].measurement.detail, "detail");
}

TEST_F(SpoolTest, ATailTornAtAnyByteCostsItsEntryAlone) {
  {
    auto spool = Open();
    for (uint64_t n : {1, 2, 3}) spool->Add(ResultOf(n));
    ASSERT_TRUE(spool->Sync().ok());
  }
  const std::string whole = Bytes();
  const size_t entry = (whole.size() - 12) / 3;
  for (size_t size = 0; size <= whole.size(); size += 5) {
    Write(whole.substr(0, size));
    const size_t entries = size < 12 ? 0 : (size - 12) / entry;
    EXPECT_EQ(Kept().size(), entries) << size;
    if (size % 3 == 0) {
      EXPECT_EQ(Kept().size(), entries) << "what is left is a whole file again";
    }
  }
}

TEST_F(SpoolTest, AFlippedBitIsNeverAResult) {
  {
    auto spool = Open();
    for (uint64_t n : {1, 2, 3}) spool->Add(ResultOf(n));
    ASSERT_TRUE(spool->Sync().ok());
  }
  const std::string whole = Bytes();
  for (size_t bit = 12 * 8; bit < whole.size() * 8; bit += 29) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    Write(bytes);
    auto spool = Open();
    for (const TrialResult& result : spool->results()) {
      EXPECT_EQ(result.measurement.median_ns, 100 + static_cast<double>(result.uid.low));
    }
    EXPECT_LT(spool->results().size(), 3u);
    EXPECT_GT(spool->cut_bytes(), 0);
  }
}

TEST_F(SpoolTest, HistoryDoesNotPileUp) {
  auto spool = Open();
  for (uint64_t n = 0; n < 300; ++n) {
    spool->Add(ResultOf(n, std::string(15'000, 'x')));
    ASSERT_TRUE(spool->Sync().ok());
    spool->Forget({1, n});
    ASSERT_TRUE(spool->Sync().ok());
  }
  EXPECT_LT(std::filesystem::file_size(path_), 3u << 20);
}

TEST_F(SpoolTest, IsBounded) {
  auto spool = Open(100'000);
  for (uint64_t n = 0; n < 100; ++n) spool->Add(ResultOf(n, std::string(10'000, 'x')));
  ASSERT_TRUE(spool->Sync().ok());
  EXPECT_LE(std::filesystem::file_size(path_), 100'000u);
  EXPECT_EQ(spool->results().size(), 9u);
}

TEST_F(SpoolTest, TwoWorkersDoNotShareOne) {
  auto spool = Open();
  const Status second = Spool::Open(path_).status();
  EXPECT_EQ(second.code(), StatusCode::kAborted);
  EXPECT_THAT(second.message(), HasSubstr("another worker of this name"));
}

TEST_F(SpoolTest, RefusesAFileThatIsSomethingElse) {
  Write("SQLite format 3");
  EXPECT_EQ(Spool::Open(path_).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(Bytes(), "SQLite format 3") << "and leaves it alone";
}

TEST_F(SpoolTest, AFullDiskIsToldAndNothingIsLostWhenThereIsSpaceAgain) {
  auto spool = Open();
  spool->Add(ResultOf(1));
  ASSERT_TRUE(spool->Sync().ok());
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full = {static_cast<rlim_t>(std::filesystem::file_size(path_) + 50),
                       before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  spool->Add(ResultOf(2));
  const Status told = spool->Sync();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(told.code(), StatusCode::kResourceExhausted) << told.ToString();
  ASSERT_TRUE(spool->Sync().ok());
  spool.reset();
  EXPECT_EQ(Kept(), std::vector<uint64_t>({1, 2}));
}

}  // namespace
}  // namespace mlc::worker
