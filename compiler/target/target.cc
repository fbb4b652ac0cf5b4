#include "compiler/target/target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"

namespace mlc::target {

namespace {

struct IsaRow {
  std::string_view name;
  int vector_bits;
  int vector_registers;
  std::string_view arch;  // empty: any
};

constexpr std::array<IsaRow, 4> kIsas = {{{"plain", 128, 16, ""},
                                          {"avx2", 256, 16, "x86_64"},
                                          {"avx512", 512, 32, "x86_64"},
                                          {"neon", 128, 32, "aarch64"}}};

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
  return lexer.Error("unknown isa '" + word.substr(0, 40) + "': plain, avx2, avx512 or neon");
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
Status ParseCudaArch(Lexer& lexer, Target& target) {
  const std::string word = MLC_TRY(lexer.Word());
  int compute = 0;
  size_t i = 3;
  if (word.starts_with("sm_")) {
    for (; i < word.size() && i < 6 && word[i] >= '0' && word[i] <= '9'; ++i) {
      compute = compute * 10 + (word[i] - '0');
    }
  }
  target.arch_specific = compute >= 90 && i + 1 == word.size() && word[i] == 'a';
  if (compute < 80 || (i != word.size() && !target.arch_specific)) {
    return lexer.Error("unknown arch '" + word.substr(0, 40) + "': sm_80 or newer, as in sm_90a");
  }
  target.compute = compute;
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

int Target::vector_bits() const { return RowOf(isa).vector_bits; }
int Target::vector_registers() const { return RowOf(isa).vector_registers; }
int Target::Lanes(DType dtype) const { return vector_bits() / 8 / SizeOf(dtype); }

std::string Target::CudaArch() const {
  return "sm_" + std::to_string(compute) + (arch_specific ? "a" : "");
}

std::array<Target, 2> NewerDevices(const Target& target) {
  // Of compute capability 8.6, 8.9 and 12.0.
  constexpr int64_t kMinBlockBytes = 101376;
  constexpr int64_t kMinSmBytes = 102400;
  Target large = target;
  large.arch_specific = false;
  Target any = large;
  any.block_bytes = std::min(any.block_bytes, kMinBlockBytes);
  any.sm_bytes = std::min(any.sm_bytes, kMinSmBytes);
  return {std::move(any), std::move(large)};
}

std::string Target::ClassText() const {
  if (is_cuda()) {
    std::string text = "target v1 cuda arch=" + CudaArch();
    text += " sms=" + std::to_string(sms);
    text += " block=" + std::to_string(block_bytes);
    text += " sm=" + std::to_string(sm_bytes);
    text += " l2=" + std::to_string(l2_bytes);
    return text;
  }
  std::string text = "target v1 cpu arch=" + arch + " isa=";
  text += RowOf(isa).name;
  text += " threads=" + std::to_string(threads);
  text += " l1=" + std::to_string(l1_bytes);
  text += " l2=" + std::to_string(l2_bytes);
  text += " l3=" + std::to_string(l3_bytes);
  return text;
}

std::string Target::ToText() const {
  std::string text = ClassText();
  text += " fma_gflops=" + FloatToText(fma_gflops);
  if (is_cuda()) text += " tensor_gflops=" + FloatToText(tensor_gflops);
  text += " copy_gbps=" + FloatToText(copy_gbps);
  return text;
}

namespace {

Result<Target> ParseCuda(Lexer& lexer) {
  Target target;
  target.device = Device::kCuda;
  target.arch.clear();
  for (const char* token : {"arch", "="}) MLC_TRY(lexer.Expect(token));
  MLC_TRY(ParseCudaArch(lexer, target));
  target.sms = static_cast<int>(MLC_TRY(ParseCount(lexer, "sms", kMaxSms)));
  target.block_bytes = MLC_TRY(ParseCount(lexer, "block", kMaxCache));
  target.sm_bytes = MLC_TRY(ParseCount(lexer, "sm", kMaxCache));
  target.l2_bytes = MLC_TRY(ParseCount(lexer, "l2", kMaxCache));
  target.fma_gflops = MLC_TRY(ParsePeak(lexer, "fma_gflops"));
  target.tensor_gflops = MLC_TRY(ParsePeak(lexer, "tensor_gflops"));
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
  target.arch = MLC_TRY(lexer.Word());
  if (target.arch != "x86_64" && target.arch != "aarch64") {
    return lexer.Error("unknown arch '" + target.arch.substr(0, 40) + "': x86_64 or aarch64");
  }
  MLC_TRY(lexer.Expect("isa"));
  MLC_TRY(lexer.Expect("="));
  target.isa = MLC_TRY(ParseIsa(lexer, target.arch));
  target.threads = static_cast<int>(MLC_TRY(ParseCount(lexer, "threads", kMaxThreads)));
  target.l1_bytes = MLC_TRY(ParseCount(lexer, "l1", kMaxCache));
  target.l2_bytes = MLC_TRY(ParseCount(lexer, "l2", kMaxCache));
  target.l3_bytes = MLC_TRY(ParseCount(lexer, "l3", kMaxCache));
  target.fma_gflops = MLC_TRY(ParsePeak(lexer, "fma_gflops"));
  target.copy_gbps = MLC_TRY(ParsePeak(lexer, "copy_gbps"));
  if (!lexer.AtEnd()) return lexer.Error("expected the end of the target");
  return target;
}

}  // namespace mlc::target
