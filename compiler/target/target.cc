#include "compiler/target/target.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "compiler/base/text.h"

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

std::string Target::ClassText() const {
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
  text += " copy_gbps=" + FloatToText(copy_gbps);
  return text;
}

Result<Target> Target::Parse(std::string_view text) {
  Lexer lexer(text);
  for (const char* token : {"target", "v1", "cpu", "arch", "="}) MLC_TRY(lexer.Expect(token));
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
