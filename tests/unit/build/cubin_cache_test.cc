#include "compiler/build/cubin_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

namespace mlc::build {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CubinCacheTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  CubinCache Opened(int64_t max_bytes) {
    Result<CubinCache> cache = CubinCache::Open(folder_.string(), max_bytes);
    EXPECT_TRUE(cache.ok()) << cache.status().ToString();
    return *std::move(cache);
  }
  static CudaBinary Binary(size_t bytes) {
    CudaBinary binary;
    binary.image = std::string(bytes, 'x');
    binary.log = "ptxas info    : Compiling entry function 'f' for 'sm_80'\nUsed 9 registers";
    ReadCompilerLog(&binary);
    return binary;
  }
  fs::path OnlyFile() const { return fs::directory_iterator(folder_)->path(); }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("cubin_cache_test_" + std::to_string(getpid()));
};

TEST_F(CubinCacheTest, FindsWhatWasPut) {
  const CubinCache cache = Opened(1 << 20);
  EXPECT_FALSE(cache.Find(DigestOf("k")).has_value());
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(100)).ok());
  EXPECT_EQ(cache.Find(DigestOf("k")), Binary(100));
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(50)).ok());
  EXPECT_EQ(cache.Find(DigestOf("k")), Binary(50));
}

TEST_F(CubinCacheTest, DamagedFilesCountAsAbsent) {
  const CubinCache cache = Opened(1 << 20);
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(100)).ok());
  const std::string whole = Encode(Binary(100)), name = DigestOf("k").ToText();
  for (const size_t size : {size_t{0}, size_t{10}, whole.size() - 1}) {
    std::ofstream(OnlyFile(), std::ios::binary) << name << whole.substr(0, size);
    EXPECT_FALSE(cache.Find(DigestOf("k")).has_value()) << size;
  }
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  std::ofstream(OnlyFile(), std::ios::binary) << name << changed;
  EXPECT_FALSE(cache.Find(DigestOf("k")).has_value());
  EXPECT_EQ(DecodeCudaBinary(changed).status().code(), StatusCode::kDataLoss);
}

TEST_F(CubinCacheTest, TheOldestGoFirst) {
  const CubinCache cache = Opened(2500);
  const auto age = [&](const char* key, int hours) {
    const fs::path file = folder_ / (DigestOf(key).ToText() + ".cubin");
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  ASSERT_TRUE(cache.Put(DigestOf("a"), Binary(1000)).ok());
  age("a", 3);
  ASSERT_TRUE(cache.Put(DigestOf("b"), Binary(1000)).ok());
  age("b", 2);
  EXPECT_TRUE(cache.Find(DigestOf("a")).has_value());  // used just now
  ASSERT_TRUE(cache.Put(DigestOf("c"), Binary(1000)).ok());
  EXPECT_EQ(cache.Measure().files, 3);
  cache.Trim();
  EXPECT_EQ(cache.Measure().files, 2);
  EXPECT_LE(cache.Measure().bytes, 2500);
  EXPECT_TRUE(cache.Find(DigestOf("a")).has_value());
  EXPECT_FALSE(cache.Find(DigestOf("b")).has_value());
  EXPECT_TRUE(cache.Find(DigestOf("c")).has_value());
}

TEST_F(CubinCacheTest, AFileOfAnotherKeyCountsAsAbsent) {
  const CubinCache cache = Opened(1 << 20);
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(100)).ok());
  fs::copy(OnlyFile(), folder_ / (DigestOf("other").ToText() + ".cubin"));
  EXPECT_FALSE(cache.Find(DigestOf("other")).has_value());
  EXPECT_TRUE(cache.Find(DigestOf("k")).has_value());
  fs::create_directory(folder_ / (DigestOf("folder").ToText() + ".cubin"));
  EXPECT_FALSE(cache.Find(DigestOf("folder")).has_value());
}

TEST_F(CubinCacheTest, TheNewestStaysHoweverLargeAndDeadWritersLeaveNothing) {
  const CubinCache cache = Opened(10);
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(1000)).ok());
  const fs::path unfinished = folder_ / "of a dead writer.new", fresh = folder_ / "of another.new";
  std::ofstream(unfinished) << "half";
  std::ofstream(fresh) << "half";
  fs::last_write_time(unfinished, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.Trim();
  EXPECT_TRUE(cache.Find(DigestOf("k")).has_value());
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_TRUE(fs::exists(fresh)) << "it may be at work";
}

// Writers that are killed in the middle leave whole files or none.
TEST_F(CubinCacheTest, KilledWritersLeaveNoDamage) {
  const CubinCache cache = Opened(1 << 30);
  constexpr int kWriters = 4, kKeys = 8;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (size_t i = 0;; ++i) {
        const std::string key = "k" + std::to_string(i % kKeys);
        if (!cache.Put(DigestOf(key), Binary(200'000 + i % kKeys)).ok()) _exit(1);
      }
    }
    writers.push_back(pid);
  }
  for (int found = 0; found < 200;) {
    for (int k = 0; k < kKeys; ++k) {
      const auto binary = cache.Find(DigestOf("k" + std::to_string(k)));
      if (!binary) continue;
      ++found;
      ASSERT_EQ(binary->image.size(), 200'000u + static_cast<size_t>(k));
    }
  }
  for (const pid_t pid : writers) {
    kill(pid, SIGKILL);
    int end = 0;
    ASSERT_EQ(waitpid(pid, &end, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(end)) << "a writer failed by itself";
  }
  for (int k = 0; k < kKeys; ++k) {
    EXPECT_TRUE(cache.Find(DigestOf("k" + std::to_string(k))).has_value());
  }
}

TEST_F(CubinCacheTest, AFullDiskIsToldAndLeavesNothing) {
  const CubinCache cache = Opened(1 << 20);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    // No file may grow beyond this: the same to the writer as a disk without room.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(cache.Put(DigestOf("k"), Binary(5000)).code() == StatusCode::kResourceExhausted ? 0 : 1);
  }
  int end = 0;
  ASSERT_EQ(waitpid(pid, &end, 0), pid);
  EXPECT_EQ(end, 0);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(cache.Find(DigestOf("k")).has_value());
}

TEST_F(CubinCacheTest, AFolderThatIsGoneIsTold) {
  const CubinCache cache = Opened(1 << 20);
  fs::remove_all(folder_);
  EXPECT_FALSE(cache.Find(DigestOf("k")).has_value());
  EXPECT_EQ(cache.Put(DigestOf("k"), Binary(10)).code(), StatusCode::kFailedPrecondition);
}

TEST(CubinFolder, IsWhatTheFlagOrTheEnvironmentSays) {
  std::map<std::string, std::string> set;
  const auto folder = [&](const char* flag) {
    return CubinFolder(flag, "trials", [&](const char* name) {
      return set.contains(name) ? set[name].c_str() : nullptr;
    });
  };
  EXPECT_EQ(folder(""), "");
  EXPECT_EQ(folder("/there"), "/there/trials");
  set["HOME"] = "/home/ada";
  EXPECT_EQ(folder(""), "/home/ada/.cache/mlc-tune/cubins/trials");
  EXPECT_EQ(folder("off"), "");
  set["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(folder(""), "/home/ada/.cache/mlc-tune/cubins/trials");
  set["XDG_CACHE_HOME"] = "/fast";
  EXPECT_EQ(folder(""), "/fast/mlc-tune/cubins/trials");
  set["CACHE_DIRECTORY"] = "/var/cache/mlc:/var/cache/more";
  EXPECT_EQ(folder(""), "/var/cache/mlc/cubins/trials");
}

TEST_F(CubinCacheTest, FolderThatCannotBeMadeIsAnError) {
  const Result<CubinCache> cache = CubinCache::Open("/dev/null/cache", 1);
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(cache.status().message(), HasSubstr("/dev/null/cache"));
}

}  // namespace
}  // namespace mlc::build
