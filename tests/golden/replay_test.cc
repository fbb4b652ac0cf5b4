// The replay manifest: digests of the kernels that families generate, over a fixed sample of
// configs. A refactoring proves with it that it changes no kernel. diff.sh shows the texts behind
// digests that changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/golden/golden.h"
#include "tests/golden/workloads.h"

namespace mlc::golden {
namespace {

constexpr int kSampled = 2;     // configs beside the default, per workload, target and family
constexpr int kAttempts = 200;  // draws to find a legal one

// The kernel's text, then those of its preparations: what the digest is of.
std::string KernelText(const schedule::LoweredKernel& lowered) {
  std::string text = lowered.kernel.ToText();
  for (const schedule::Preparation& preparation : lowered.preparations) {
    text += preparation.kernel.ToText();
  }
  return text;
}

std::string DeviceName(const target::Target& target) {
  if (const auto* gpu = target.As<target::GpuTarget>()) return gpu->CudaArch();
  switch (target.cpu().isa) {
    case target::Isa::kAvx512Vnni:
      return "avx512_vnni";
    case target::Isa::kAvx512:
      return "avx512";
    default:
      return "avx2";
  }
}

std::vector<schedule::Config> SampledConfigs(Rng& rng, const schedule::Family& family,
                                             const graph::Workload& workload,
                                             const target::Target& target) {
  std::vector<schedule::Config> configs = {family.Default(workload, target)};
  const schedule::Space space = family.MakeSpace(workload, target);
  for (int i = 0; i < kAttempts && configs.size() <= kSampled; ++i) {
    schedule::Config config =
        space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
    if (family.Check(workload, target, config) != schedule::RejectReason::kNone) continue;
    if (std::find(configs.begin(), configs.end(), config) == configs.end()) {
      configs.push_back(std::move(config));
    }
  }
  return configs;
}

struct ReplayedKernel {
  std::string file;   // a name for its text, the same as long as the sample has as many configs
  std::string title;  // workload digest, name, device, config
  std::string text;
  std::string Line() const { return title + " -> " + DigestOf(text).ToText() + "\n"; }
};

std::vector<ReplayedKernel> ReplayedKernels() {
  std::vector<ReplayedKernel> kernels;
  for (const NamedWorkload& named : AllKinds()) {
    for (const target::Target& target : {Avx512(), Avx2(), Hopper(), Avx512Vnni()}) {
      Rng rng(1);
      for (const schedule::Family* family : schedule::FamiliesFor(named.workload, target)) {
        if (target == Avx512Vnni() && family->Accepts(named.workload, Avx512())) continue;
        int number = 0;
        for (const schedule::Config& config :
             SampledConfigs(rng, *family, named.workload, target)) {
          const Result<schedule::LoweredKernel> lowered =
              schedule::LowerConfig(named.workload, target, config);
          EXPECT_TRUE(lowered.ok()) << named.name << ": " << lowered.status().message();
          if (!lowered.ok()) continue;
          const std::string where = named.name + " " + DeviceName(target);
          kernels.push_back(
              {named.name + "." + DeviceName(target) + "." + std::string(family->name()) + "." +
                   std::to_string(number++) + ".txt",
               named.workload.digest().ToText().substr(0, 12) + " " + where + " " + config.ToText(),
               KernelText(*lowered)});
        }
      }
    }
  }
  return kernels;
}

// The text under a heading that says which config it is of.
void WriteText(const std::string& folder, const ReplayedKernel& kernel) {
  Write(folder + "/" + kernel.file, "# " + kernel.title + "\n" + kernel.text);
}

TEST(Replay, KernelsAreTheOnesOnRecord) {
  const std::string recorded = Read("tests/golden/kernels.txt");
  const std::string changed = std::string(MLC_BINARY_DIR) + "/golden/kernels";
  std::string manifest = "# workload digest, name, device, config -> digest of its kernels' text\n";
  std::filesystem::remove_all(changed);
  for (const ReplayedKernel& kernel : ReplayedKernels()) {
    manifest += kernel.Line();
    if (recorded.find(kernel.Line()) == std::string::npos) WriteText(changed, kernel);
    if (!TextFolder().empty()) WriteText(TextFolder(), kernel);
  }
  Check("tests/golden/kernels.txt", manifest,
        "The kernels that are new or differ, as text: " + changed +
            "\nWhat changed in each of them: tests/golden/diff.sh BASE, where BASE is the commit "
            "to compare with.\n"
            "A change that means to alter kernels accepts the new digests, and raises the "
            "family's version if records of released versions exist; a refactoring must change "
            "none.");
}

// Small shapes have fewer chunks than large machines have threads.
TEST(Replay, DefaultsAreLegalForAnyNumberOfThreads) {
  for (const NamedWorkload& named : AllKinds()) {
    for (target::Target target : {Avx512(), Avx2()}) {
      for (target.cpu().threads = 1; target.cpu().threads <= 256;
           target.cpu().threads += 1 + target.cpu().threads / 3) {
        for (const schedule::Family* family : schedule::FamiliesFor(named.workload, target)) {
          const schedule::Config config = family->Default(named.workload, target);
          EXPECT_EQ(family->Check(named.workload, target, config), schedule::RejectReason::kNone)
              << named.name << ", " << target.cpu().threads << " threads: " << config.ToText();
        }
      }
    }
  }
}

TEST(Replay, CoversEveryFamily) {
  const std::string manifest = Read("tests/golden/kernels.txt");
  for (const schedule::Family* family : schedule::Families()) {
    EXPECT_NE(manifest.find(" " + std::string(family->name()) + "/"), std::string::npos)
        << family->name();
  }
}

}  // namespace
}  // namespace mlc::golden
