#include "base/digest.h"

#include <gtest/gtest.h>

#include <array>

namespace mlc {
namespace {

// XXH3-128 vectors: the digest is a stored key and must never change.
TEST(Digest, KeepsItsTestVectors) {
  EXPECT_EQ(DigestOf("").ToText(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(DigestOf("mlc").ToText(), DigestOf("mlc").ToText());
  EXPECT_NE(DigestOf("mlc"), DigestOf("mlC"));
}

TEST(Digest, RoundTripsThroughTextAndBytes) {
  const Digest digest = DigestOf("workload v1");
  EXPECT_EQ(*Digest::Parse(digest.ToText()), digest);
  EXPECT_EQ(Digest::FromBytes(digest.ToBytes()), digest);
}

TEST(Digest, BytesAreBigEndian) {
  const Digest digest{.high = 0x0102030405060708u, .low = 0x090a0b0c0d0e0f10u};
  const std::array<uint8_t, 16> bytes = digest.ToBytes();
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], i + 1);
}

TEST(Digest, RefusesOtherText) {
  EXPECT_FALSE(Digest::Parse("12").ok());
  EXPECT_FALSE(Digest::Parse(std::string(32, 'g')).ok());
  EXPECT_FALSE(Digest::Parse(std::string(32, 'A')).ok());
}

}  // namespace
}  // namespace mlc
