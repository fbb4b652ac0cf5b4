#include "client/run/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace mlc::client {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// How often each token is chosen.
std::vector<double> Shares(const SamplingTerms& terms, const std::vector<float>& logits) {
  constexpr int kDraws = 40'000;
  Sampler sampler(terms);
  std::vector<double> shares(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    shares[static_cast<size_t>(*sampler.Next(logits))] += 1.0 / kDraws;
  }
  return shares;
}

TEST(SamplingTest, WithoutATemperatureTheLargestIsChosenAndTheFirstOfEqualOnes) {
  Sampler sampler({});
  EXPECT_EQ(*sampler.Next(std::vector<float>{1, 3, 2, 3}), 1);
  EXPECT_EQ(*sampler.Next(std::vector<float>{-kInf, -5, -kInf}), 1);
  EXPECT_EQ(*sampler.Next(std::vector<float>{7}), 0);
}

TEST(SamplingTest, SharesAreThoseOfTheSoftmaxOverTheTemperature) {
  const std::vector<float> logits{0, 1, 2, -kInf};
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const std::vector<double> shares = Shares({.temperature = temperature, .seed = 5}, logits);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit / temperature);
    for (size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(shares[i], std::exp(logits[i] / temperature) / sum, 0.01) << temperature;
    }
  }
}

TEST(SamplingTest, OnlyTheLargestAreCandidates) {
  const std::vector<float> logits{1, 4, 2, 3};
  std::vector<double> shares = Shares({.temperature = 1, .top_k = 2}, logits);
  EXPECT_EQ(shares[0] + shares[2], 0);
  EXPECT_NEAR(shares[1], 1 / (1 + std::exp(-1.0)), 0.01);
  shares = Shares({.temperature = 1, .top_k = 1}, logits);
  EXPECT_NEAR(shares[1], 1, 1e-9);
  shares = Shares({.temperature = 1, .top_k = 100}, logits);
  EXPECT_GT(shares[0], 0);
}

TEST(SamplingTest, TheFewestThatReachTheShareAreCandidates) {
  // Probabilities of 0.1, 0.4, 0.2 and 0.3.
  std::vector<float> logits;
  for (const double p : {0.1, 0.4, 0.2, 0.3}) logits.push_back(static_cast<float>(std::log(p)));
  std::vector<double> shares = Shares({.temperature = 1, .top_p = 0.69}, logits);
  EXPECT_EQ(shares[0] + shares[2], 0) << "two sum to 0.7";
  EXPECT_NEAR(shares[1], 4.0 / 7, 0.01);
  shares = Shares({.temperature = 1, .top_p = 0.71}, logits);
  EXPECT_EQ(shares[0], 0);
  EXPECT_NEAR(shares[2], 2.0 / 9, 0.01);
  shares = Shares({.temperature = 1, .top_p = 1e-9}, logits);
  EXPECT_NEAR(shares[1], 1, 1e-9) << "one at least";
  shares = Shares({.temperature = 1, .top_k = 3, .top_p = 0.5}, logits);
  EXPECT_NEAR(shares[1], 4.0 / 7, 0.01) << "a share of the three";
}

TEST(SamplingTest, TheSeedGivesTheTokens) {
  std::vector<float> logits(1000);
  Rng rng(1);
  for (float& logit : logits) logit = static_cast<float>(rng.Uniform());
  std::set<std::array<int64_t, 4>> sequences;
  for (const uint64_t seed : {1, 2, 3, 1}) {
    Sampler sampler({.temperature = 1, .top_p = 0.9, .seed = seed});
    std::array<int64_t, 4> tokens{};
    for (int64_t& token : tokens) token = *sampler.Next(logits);
    sequences.insert(tokens);
  }
  EXPECT_EQ(sequences.size(), 3u);
}

TEST(SamplingTest, LogitsThatAreNoNumbersAreRefused) {
  for (const double temperature : {0.0, 1.0}) {
    Sampler sampler({.temperature = temperature});
    EXPECT_EQ(sampler.Next(std::vector<float>{1, kNan}).status().message(),
              "the logit of token 1 is NaN");
    EXPECT_EQ(sampler.Next(std::vector<float>{-kInf, -kInf}).status().code(),
              StatusCode::kDataLoss);
    EXPECT_EQ(sampler.Next(std::vector<float>{0, kInf}).status().code(), StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace mlc::client
