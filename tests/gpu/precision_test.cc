// How exact products of f32 in three passes are on a real device, whose matrix units truncate their
// sums in a way that only it knows: no worse than plain f32 sums, also where all terms have one
// sign. Skips where there is no device or compiler, and families that it has not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/build/nvrtc.h"
#include "compiler/schedule/space/family.h"
#include "tests/support/worker/await.h"
#include "worker/build/built_kernel.h"
#include "worker/check/reference.h"
#include "worker/device/fleet/gpu_fleet.h"

namespace mlc::worker {
namespace {

constexpr int64_t kRows = 128, kColumns = 64;

graph::Workload Product(int64_t k) {
  const std::string m = std::to_string(kRows), n = std::to_string(kColumns);
  const std::string depth = std::to_string(k);
  return *graph::Workload::Parse("workload v1 tolerance=1e-03 {\n%0 = input() : f32[" + m + "," +
                                 depth + "]\n%1 = weight() : f32[" + depth + "," + n +
                                 "]\n%2 = matmul(%0, %1) : f32[" + m + "," + n +
                                 "]\nreturn %2\n}\n");
}

// Operands between `low` and 1 and exact results; the largest error of plain f32 sums over the
// largest result.
double Fill(const graph::Workload& workload, int64_t k, double low, std::span<std::byte> memory) {
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  Rng rng(static_cast<uint64_t>(k));
  const auto draw = [&](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(low + (1 - low) * rng.Uniform());
    return values;
  };
  const std::vector<float> a = draw(kRows * k), b = draw(k * kColumns);
  std::vector<float> results;
  double worst = 0, scale = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      float plain = 0;
      double exact = 0;
      for (int64_t t = 0; t < k; ++t) {
        const float x = a[static_cast<size_t>(i * k + t)];
        const float y = b[static_cast<size_t>(t * kColumns + j)];
        plain += x * y;
        exact += static_cast<double>(x) * y;
      }
      worst = std::max(worst, std::abs(plain - exact));
      scale = std::max(scale, std::abs(exact));
      results.push_back(static_cast<float>(exact));
    }
  }
  const auto put = [&](const std::vector<float>& values, int64_t at) {
    std::memcpy(memory.data() + at, values.data(), values.size() * sizeof(float));
  };
  put(a, layout.operands[0]);
  put(b, layout.operands[1]);
  put(results, layout.results[0]);
  return worst / scale;
}

class GpuPrecision : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<std::vector<GpuDevice>> gpus = FindGpus();
    if (!gpus.ok()) GTEST_SKIP() << "no CUDA device: " << gpus.status().message();
    Result<std::unique_ptr<build::Nvrtc>> nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_ = *std::move(nvrtc);
    GpuFleetOptions options;
    options.gpus = *std::move(gpus);
    options.gpus.resize(1);
    options.threads = 4;
    options.lock_folder.clear();
    // For hosts whose driver does not work in the sandbox.
    const char* sandbox = std::getenv("MLC_TEST_SANDBOX");
    options.sandbox = sandbox == nullptr || std::string_view(sandbox) != "off";
    target_ = options.gpus.front().target;
    auto fleet = GpuFleet::Create(options, *nvrtc_);
    ASSERT_TRUE(fleet.ok()) << fleet.status().ToString();
    fleet_ = *std::move(fleet);
  }

  Measurement Run(const graph::Workload& workload, const std::string& config,
                  const SharedMemory& set) {
    const CudaToolchain tools{nvrtc_.get(), target::DetectHost(1)};
    const Result<BuiltKernel> built = BuildKernel(workload.ToText(), config, target_, tools);
    EXPECT_TRUE(built.ok()) << built.status().ToString();
    if (!built.ok()) return {};
    fleet_->Submit(0, 1, {workload.ToText(), {Encode(*built)}, set.serial(), 0}, set.descriptor());
    for (;;) {
      for (GpuFleet::Ended& ended : fleet_->Collect()) return ended.measurements.front();
      testing::AwaitNews(*fleet_);
    }
  }

  std::unique_ptr<build::Nvrtc> nvrtc_;
  std::unique_ptr<GpuFleet> fleet_;
  target::Target target_;
};

TEST_P(GpuPrecision, ThreePassesAreAsExactAsAPlainSum) {
  const schedule::Family& family = *schedule::FindFamily(GetParam());
  if (!family.Accepts(Product(64), target_)) GTEST_SKIP() << target_.gpu().CudaArch();
  for (const double low : {-1.0, 0.0, 0.9}) {
    for (const int64_t k : {64, 512, 4608}) {
      const graph::Workload workload = Product(k);
      auto set = SharedMemory::Create(ReferenceLayoutOf(workload).bytes);
      ASSERT_TRUE(set.ok()) << set.status().ToString();
      const double plain = Fill(workload, k, low, set->bytes());
      const std::string config = family.Default(workload, target_).ToText();
      const Measurement m = Run(workload, config, *set);
      ASSERT_EQ(m.outcome, Outcome::kOk) << config << "\n" << m.detail;
      EXPECT_LE(m.max_error, plain) << config << ", k " << k << ", from " << low;
      printf("%s k %5d from %4.1f: error %.2e, of plain sums %.2e\n", GetParam(),
             static_cast<int>(k), low, m.max_error, plain);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GpuPrecision,
                         ::testing::Values("tensor_contraction", "warpgroup_contraction"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mlc::worker
