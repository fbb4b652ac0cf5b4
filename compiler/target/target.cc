#include "compiler/target/target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace mlc::target {

namespace {

struct IsaRow {
  std::string_view name;
  int vector_bits;
  int vector_registers;
  std::string_view arch;  // empty: any
};

constexpr std::array<IsaRow, 5> kIsas = {{{"plain", 128, 16, ""},
                                          {"avx2", 256, 16, "x86_64"},
                                          {"avx512", 512, 32, "x86_64"},
                                          {"neon", 128, 32, "aarch64"},
                                          {"avx512_vnni", 512, 32, "x86_64"}}};

const IsaRow& RowOf(Isa isa) { return kIsas[static_cast<size_t>(isa)]; }

constexpr int64_t kMaxCache = int64_t{1} << 40;
constexpr int64_t kMaxThreads = 4096;
constexpr int64_t kMaxSms = 4096;

Result<Isa> ParseIsa(Lexer& lexer, const std::string& arch) {
  const std::string word = MLC_TRY(lexer.Word());
  for (size_t i = 0; i < kIsas.size(); ++i) {
    if (kIsas[i].name != word) continue;
    if (!kIsas[i].arch.empty() && kIsas[i].arch != arch) {
      return lexer.Error("isa " + word + " does not exist on " + arch);
    }
    return static_cast<Isa>(i);
  }
  return lexer.Error("unknown isa '" + word.substr(0, 40) +
                     "': plain, avx2, avx512, avx512_vnni or neon");
}

Result<int64_t> ParseCount(Lexer& lexer, const char* name, int64_t most) {
  MLC_TRY(lexer.Expect(name));
  MLC_TRY(lexer.Expect("="));
  const int64_t value = MLC_TRY(lexer.Int());
  if (value < 1 || value > most) {
    return lexer.Error(std::string(name) + " must be 1 to " + std::to_string(most));
  }
  return value;
}

// sm_80, sm_90a: no compute capability below 8.0, "a" from 9.0 on.
Status ParseCudaArch(Lexer& lexer, GpuTarget& gpu) {
  const std::string word = MLC_TRY(lexer.Word());
  int compute = 0;
  size_t i = 3;
  if (word.starts_with("sm_")) {
    for (; i < word.size() && i < 6 && word[i] >= '0' && word[i] <= '9'; ++i) {
      compute = compute * 10 + (word[i] - '0');
    }
  }
  gpu.arch_specific = compute >= 90 && i + 1 == word.size() && word[i] == 'a';
  if (compute < 80 || (i != word.size() && !gpu.arch_specific)) {
    return lexer.Error("unknown arch '" + word.substr(0, 40) + "': sm_80 or newer, as in sm_90a");
  }
  gpu.compute = compute;
  return {};
}

Result<double> ParsePeak(Lexer& lexer, const char* name) {
  if (!lexer.Accept(name)) return 0.0;
  MLC_TRY(lexer.Expect("="));
  const double value = MLC_TRY(lexer.Float());
  if (!std::isfinite(value) || value < 0) {
    return lexer.Error(std::string(name) + " must be a number from 0");
  }
  return value;
}

}  // namespace

int CpuTarget::vector_bits() const { return RowOf(isa).vector_bits; }
int CpuTarget::vector_registers() const { return RowOf(isa).vector_registers; }
int CpuTarget::Lanes(DType dtype) const { return vector_bits() / 8 / SizeOf(dtype); }

std::string GpuTarget::CudaArch() const {
  return "sm_" + std::to_string(compute) + (arch_specific ? "a" : "");
}

const CpuTarget& Target::cpu() const {
  const auto* cpu = As<CpuTarget>();
  MLC_CHECK(cpu != nullptr) << "the facts of a CPU are asked of " << ClassText();
  return *cpu;
}

CpuTarget& Target::cpu() {
  auto* cpu = std::get_if<CpuTarget>(&device);
  MLC_CHECK(cpu != nullptr) << "the facts of a CPU are asked of " << ClassText();
  return *cpu;
}

const GpuTarget& Target::gpu() const {
  const auto* gpu = As<GpuTarget>();
  MLC_CHECK(gpu != nullptr) << "the facts of a GPU are asked of " << ClassText();
  return *gpu;
}

GpuTarget& Target::gpu() {
  auto* gpu = std::get_if<GpuTarget>(&device);
  MLC_CHECK(gpu != nullptr) << "the facts of a GPU are asked of " << ClassText();
  return *gpu;
}

std::array<Target, 2> NewerDevices(const Target& target) {
  // Of compute capability 8.6, 8.9 and 12.0.
  constexpr int64_t kMinBlockBytes = 101376;
  constexpr int64_t kMinSmBytes = 102400;
  Target large = target;
  large.gpu().arch_specific = false;
  Target any = large;
  any.gpu().block_bytes = std::min(any.gpu().block_bytes, kMinBlockBytes);
  any.gpu().sm_bytes = std::min(any.gpu().sm_bytes, kMinSmBytes);
  return {std::move(any), std::move(large)};
}

namespace {

std::string ClassOf(const GpuTarget& gpu) {
  std::string text = "target v1 cuda arch=" + gpu.CudaArch();
  text += " sms=" + std::to_string(gpu.sms);
  text += " block=" + std::to_string(gpu.block_bytes);
  text += " sm=" + std::to_string(gpu.sm_bytes);
  text += " l2=" + std::to_string(gpu.l2_bytes);
  return text;
}

std::string ClassOf(const CpuTarget& cpu) {
  std::string text = "target v1 cpu arch=" + cpu.arch + " isa=";
  text += RowOf(cpu.isa).name;
  text += " threads=" + std::to_string(cpu.threads);
  text += " l1=" + std::to_string(cpu.l1_bytes);
  text += " l2=" + std::to_string(cpu.l2_bytes);
  text += " l3=" + std::to_string(cpu.l3_bytes);
  return text;
}

}  // namespace

std::string Target::ClassText() const {
  return std::visit([](const auto& kind) { return ClassOf(kind); }, device);
}

std::string Target::ToText() const {
  std::string text = ClassText();
  text += " fma_gflops=" + FloatToText(fma_gflops);
  if (const auto* gpu = As<GpuTarget>()) {
    text += " tensor_gflops=" + FloatToText(gpu->tensor_gflops);
  }
  text += " copy_gbps=" + FloatToText(copy_gbps);
  return text;
}

Target Target::WithoutPeaks() const {
  Target target = *this;
  target.fma_gflops = target.copy_gbps = 0;
  if (auto* gpu = std::get_if<GpuTarget>(&target.device)) gpu->tensor_gflops = 0;
  return target;
}

namespace {

Result<Target> ParseCuda(Lexer& lexer) {
  Target target;
  auto& gpu = target.device.emplace<GpuTarget>();
  for (const char* token : {"arch", "="}) MLC_TRY(lexer.Expect(token));
  MLC_TRY(ParseCudaArch(lexer, gpu));
  gpu.sms = static_cast<int>(MLC_TRY(ParseCount(lexer, "sms", kMaxSms)));
  gpu.block_bytes = MLC_TRY(ParseCount(lexer, "block", kMaxCache));
  gpu.sm_bytes = MLC_TRY(ParseCount(lexer, "sm", kMaxCache));
  gpu.l2_bytes = MLC_TRY(ParseCount(lexer, "l2", kMaxCache));
  target.fma_gflops = MLC_TRY(ParsePeak(lexer, "fma_gflops"));
  gpu.tensor_gflops = MLC_TRY(ParsePeak(lexer, "tensor_gflops"));
  target.copy_gbps = MLC_TRY(ParsePeak(lexer, "copy_gbps"));
  if (!lexer.AtEnd()) return lexer.Error("expected the end of the target");
  return target;
}

}  // namespace

Result<Target> Target::Parse(std::string_view text) {
  Lexer lexer(text);
  MLC_TRY(lexer.Expect("target"));
  MLC_TRY(lexer.Version(1));
  if (lexer.Accept("cuda")) return ParseCuda(lexer);
  for (const char* token : {"cpu", "arch", "="}) MLC_TRY(lexer.Expect(token));
  Target target;
  CpuTarget& cpu = target.cpu();
  cpu.arch = MLC_TRY(lexer.Word());
  if (cpu.arch != "x86_64" && cpu.arch != "aarch64") {
    return lexer.Error("unknown arch '" + cpu.arch.substr(0, 40) + "': x86_64 or aarch64");
  }
  MLC_TRY(lexer.Expect("isa"));
  MLC_TRY(lexer.Expect("="));
  cpu.isa = MLC_TRY(ParseIsa(lexer, cpu.arch));
  cpu.threads = static_cast<int>(MLC_TRY(ParseCount(lexer, "threads", kMaxThreads)));
  cpu.l1_bytes = MLC_TRY(ParseCount(lexer, "l1", kMaxCache));
  cpu.l2_bytes = MLC_TRY(ParseCount(lexer, "l2", kMaxCache));
  cpu.l3_bytes = MLC_TRY(ParseCount(lexer, "l3", kMaxCache));
  target.fma_gflops = MLC_TRY(ParsePeak(lexer, "fma_gflops"));
  target.copy_gbps = MLC_TRY(ParsePeak(lexer, "copy_gbps"));
  if (!lexer.AtEnd()) return lexer.Error("expected the end of the target");
  return target;
}

}  // namespace mlc::target
