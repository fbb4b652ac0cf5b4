#include "compiler/build/math_calls.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mlc::build {
namespace {

TEST(FindMathFunction, FindsWhatOnlyComputes) {
  auto* const power = reinterpret_cast<float (*)(float, float)>(FindMathFunction("powf"));
  ASSERT_NE(power, nullptr);
  EXPECT_EQ(power(2, 10), 1024.0f);
  for (const char* name : {"memcpy", "sincos", "tanf", "truncf"}) {
    EXPECT_NE(FindMathFunction(name), nullptr) << name;
  }
  for (const char* name : {"system", "malloc", "fopen", "dlsym", "_ZGVnothing", "_ZGV", ""}) {
    EXPECT_EQ(FindMathFunction(name), nullptr) << name;
  }
}

#if defined(__x86_64__)
TEST(FindMathFunction, FindsVectorFunctionsOnceTheirLibraryIsOpen) {
  OpenVectorMath();
  OpenVectorMath();
  void* const found = FindMathFunction("_ZGVbN4v_expf");
  if (found == nullptr) GTEST_SKIP() << "no libmvec here";
  using Four = float __attribute__((vector_size(16)));
  const Four y = reinterpret_cast<Four (*)(Four)>(found)(Four{0, 1, 2, -1});
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[i], std::exp(i < 3 ? static_cast<float>(i) : -1.0f), 1e-5);
  }
}
#endif

}  // namespace
}  // namespace mlc::build
