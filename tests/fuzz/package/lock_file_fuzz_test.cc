// Damaged lock files never crash the parser; what it accepts prints to a fixed point. Seeded.
#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "compiler/package/lock_file.h"

namespace mlc::package {
namespace {

std::string Seed(Rng& rng) {
  LockFile lock;
  lock.target_class = "target v1 cpu arch=x86_64 isa=avx512 threads=2";
  const uint64_t tasks = rng.Below(4);
  for (uint64_t i = 0; i < tasks; ++i) {
    Choice choice;
    choice.config = {"family", 1 + static_cast<int>(rng.Below(9)), {}};
    const uint64_t knobs = rng.Below(4);
    for (uint64_t k = 0; k < knobs; ++k) {
      choice.config.knobs.emplace_back(std::string(1, static_cast<char>('a' + k)),
                                       static_cast<int64_t>(rng.Below(100)) - 50);
    }
    if (rng.Below(4) == 0) choice.substitute = choice.config;
    choice.origin = ParseOrigin(rng.Below(2) == 0 ? "default" : "0123456789abcdef");
    choice.expected_ns = rng.Uniform() * 1e9;
    lock.choices[DigestOf(std::to_string(rng.Below(1000)))] = choice;
  }
  return lock.ToText();
}

TEST(LockFileFuzz, RoundTripsAndSurvivesDamage) {
  constexpr std::string_view kPieces[] = {
      "task ", "newer ", "target ",       "\n",
      " ",     "-1",     "1e999",         "nan",
      "/",     "=",      "mlc lock v1\n", "99999999999999999999"};
  int accepted = 0;
  for (uint64_t round = 0; round < 20000; ++round) {
    Rng rng(round);
    std::string text = Seed(rng);
    const Result<LockFile> whole = LockFile::Parse(text);
    ASSERT_TRUE(whole.ok()) << "round " << round << ": " << whole.status().message() << "\n"
                            << text;
    ASSERT_EQ(whole->ToText(), text) << "round " << round;
    for (uint64_t edit = 0; edit <= rng.Below(3); ++edit) {
      const size_t at = rng.Below(text.size() + 1);
      if (rng.Below(3) == 0) {
        text.erase(at, 1 + rng.Below(20));
      } else if (rng.Below(2) == 0) {
        text.insert(at, kPieces[rng.Below(std::size(kPieces))]);
      } else {
        text.insert(at, 1, static_cast<char>(rng.Below(256)));
      }
    }
    const Result<LockFile> damaged = LockFile::Parse(text);
    if (!damaged.ok()) {
      ASSERT_FALSE(damaged.status().message().empty());
      continue;
    }
    ++accepted;
    const Result<LockFile> again = LockFile::Parse(damaged->ToText());
    ASSERT_TRUE(again.ok()) << "round " << round << ": " << again.status().message() << "\n"
                            << text;
    ASSERT_EQ(again->ToText(), damaged->ToText()) << "round " << round;
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace mlc::package
