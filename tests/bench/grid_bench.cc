// One product of matrices with what follows it, on the first GPU: the configs with the least
// estimated time of each family go through the worker's engine, which checks their results. Usage:
//   grid_bench CASE COUNT [FAMILY ...]
// CASE is MxNxK:TYPE:EPILOGUE, such as 4096x3072x768:f16:gelu; TYPE is f16, bf16, f32, tf32, e4m3
// (f8e4m3fn, scaled to bf16) or e4m3a (the same with a tolerance that keeps sums out of the unit);
// A convolution, channels last, is BxCxHxW-NxR/S:TYPE:EPILOGUE: batch, channels, height and width
// of its input, N filters of R x R at steps of S with a padding of R/2. EPILOGUE is none, bias,
// gelu (bias and GELU), residual (bias, and another tensor added) or gate (multiplied by the SiLU
// of another tensor); of a convolution also image (of an f32 image with channels outermost that is
// cast, with bias and ReLU). @FILE is a workload in its text form. COUNT configs of each family are
// measured; of all three without FAMILY; FAMILY:KNOB=VALUE:... is its configs with such values.
// Prints one JSON object: the measured configs, the one that a build without measurements takes,
// and the CUDA C++ of the fastest with all that a launch needs. `grid_bench CASE list` only lists
// the configs of an H200; `grid_bench CASE print COUNT [FAMILY ...]` prints the kernels of those
// with the least estimates.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/followed_file.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "costmodel/default_config.h"
#include "tests/bench/gpu_trials.h"
#include "tests/bench/least_estimates.h"
#include "tests/bench/printed_maps.h"
#include "worker/local_trial.h"

namespace mlc {
namespace {

using nlohmann::json;
using schedule::Config;

// The text of a workload under construction.
class Text {
 public:
  std::string Add(const std::string& what) {
    text_ += "%" + std::to_string(count_) + " = " + what + "\n";
    return "%" + std::to_string(count_++);
  }
  std::string Finish(const std::string& result) const {
    return "workload v1 tolerance=" + tolerance + " {\n" + text_ + "return " + result + "\n}\n";
  }

  std::string tolerance = "1e-2";

 private:
  std::string text_;
  int count_ = 0;
};

// Of dimensions N, C, H, W that lie channels last.
std::string ChannelsLast(const std::string& dtype, const std::array<long long, 4>& d) {
  const auto list = [](std::initializer_list<long long> numbers) {
    std::string text;
    for (const long long n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
    return text;
  };
  return " : " + dtype + "[" + list({d[0], d[1], d[2], d[3]}) + "]{" +
         list({d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]}) + "}";
}

std::optional<std::string> ConvolutionOf(const std::string& name) {
  long long b = 0, c = 0, h = 0, w = 0, n = 0, r = 0, step = 0;
  char type[8], epilogue[16];
  if (std::sscanf(name.c_str(), "%lldx%lldx%lldx%lld-%lldx%lld/%lld:%7[^:]:%15s", &b, &c, &h, &w,
                  &n, &r, &step, type, epilogue) != 9) {
    return std::nullopt;
  }
  const std::string kind = type, after = epilogue, dtype = kind == "tf32" ? "f32" : kind;
  const auto all = [](long long value, int count) {
    std::string text = "[" + std::to_string(value);
    for (int i = 1; i < count; ++i) text += "," + std::to_string(value);
    return text + "]";
  };
  const long long pad = r / 2, filters[] = {n, c, r, r};
  const std::string result =
      ChannelsLast(dtype, {b, n, (h + 2 * pad - r) / step + 1, (w + 2 * pad - r) / step + 1});
  Text t;
  const bool image = after == "image";
  std::string dims = std::to_string(b);
  for (const long long d : {c, h, w}) dims += "," + std::to_string(d);
  const std::string x = image ? t.Add("cast(" + t.Add("input() : f32[" + dims + "]") +
                                      ") : " + dtype + "[" + dims + "]")
                              : t.Add("input()" + ChannelsLast(dtype, {b, c, h, w}));
  dims.clear();
  for (const long long d : filters) dims += (dims.empty() ? "" : ",") + std::to_string(d);
  const std::string f = t.Add("weight() : " + dtype + "[" + dims + "]");
  std::string y =
      t.Add("conv(" + x + ", " + f + ") {dilations=[1,1],group=1,pads=" + all(pad, 4) +
            (kind == "tf32" ? ",precision=tf32" : "") + ",strides=" + all(step, 2) + "}" + result);
  const auto add = [&](const std::string& other) {
    y = t.Add("add(" + y + ", " + other + ")" + result);
  };
  if (after != "none") add(t.Add("weight() : " + dtype + "[" + std::to_string(n) + ",1,1]"));
  if (after == "residual") add(t.Add("input()" + result));
  if (image)
    y = t.Add("max(" + y + ", " + t.Add("constant() {value=0.0} : " + dtype + "[]") + ")" + result);
  return t.Finish(y);
}

Result<std::string> WorkloadOf(const std::string& name) {
  if (name.starts_with("@")) return transport::ReadFileText("CASE", name.substr(1));
  if (const auto convolution = ConvolutionOf(name)) return *convolution;
  long long m = 0, n = 0, k = 0;
  char type[8], epilogue[16];
  if (std::sscanf(name.c_str(), "%lldx%lldx%lld:%7[^:]:%15s", &m, &n, &k, type, epilogue) != 5) {
    return InvalidArgument("'" + name + "' is no case; give one as 4096x3072x768:f16:gelu");
  }
  const std::string kind = type, after = epilogue;
  const bool float8 = kind.starts_with("e4m3");
  const std::string dtype = kind == "tf32" ? "f32" : float8 ? "bf16" : kind;
  const auto of = [&](const std::string& dims) { return " : " + dtype + "[" + dims + "]"; };
  const std::string rows = std::to_string(m), columns = std::to_string(n), k_ = std::to_string(k);
  const std::string result = of(rows + "," + columns);
  Text t;
  if (float8) t.tolerance = kind == "e4m3" ? "3e-2" : "1e-3";
  const auto operand = [&](const std::string& dims) {
    return float8 ? " : f8e4m3fn[" + dims + "]" : of(dims);
  };
  const std::string x = t.Add("input()" + operand(rows + "," + k_));
  const std::string w = t.Add("weight()" + operand(k_ + "," + columns));
  const std::string precision = kind == "tf32" ? " {precision=tf32}" : "";
  const std::string sums = float8 ? " : f32[" + rows + "," + columns + "]" : result;
  std::string y = t.Add("matmul(" + x + ", " + w + ")" + precision + sums);
  if (float8) {
    y = t.Add("mul(" + y + ", " + t.Add("weight() : f32[]") + ")" + sums);
    y = t.Add("cast(" + y + ")" + result);
  }
  const auto apply = [&](const std::string& op, const std::string& a, const std::string& b) {
    return t.Add(op + "(" + a + (b.empty() ? "" : ", " + b) + ")" + result);
  };
  if (after == "gate") {
    const std::string gate = t.Add("input()" + result);
    return t.Finish(apply("mul", y, apply("mul", gate, apply("sigmoid", gate, ""))));
  }
  if (after == "none") return t.Finish(y);
  y = apply("add", y, t.Add("weight()" + of(columns)));
  if (after == "bias") return t.Finish(y);
  if (after == "residual") return t.Finish(apply("add", y, t.Add("input()" + result)));
  if (after != "gelu") return InvalidArgument("no epilogue '" + after + "'");
  const auto number = [&](const char* value) {
    return t.Add(std::string("constant() {value=") + value + "}" + of(""));
  };
  const std::string erf = apply("erf", apply("mul", y, number("0.7071067811865476")), "");
  const std::string share = apply("mul", apply("add", erf, number("1.0")), number("0.5"));
  return t.Finish(apply("mul", y, share));
}

Result<json> Printed(const graph::Workload& workload, const target::Target& target,
                     const Config& config) {
  const schedule::LoweredKernel lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
  const codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(lowered.kernel, target));
  if (source.launches.size() != 1) return Internal("a product of several launches");
  json parameters = json::array();
  for (int i = 0; i < lowered.kernel.NumParams(); ++i) {
    const ir::Buffer& buffer = lowered.kernel.buffers[static_cast<size_t>(i)];
    parameters.push_back({{"type", ToText(buffer.dtype)},
                          {"elements", buffer.size},
                          {"out", buffer.scope == ir::Scope::kOut}});
  }
  const codegen::CudaLaunch& launch = source.launches.front();
  return json{{"text", source.text},
              {"function", launch.function},
              {"blocks", launch.grid.x},
              {"threads", launch.block.x},
              {"block_bytes", launch.block_bytes},
              {"scratch_bytes", source.workspace_bytes},
              {"counter_bytes", source.counter_bytes},
              {"maps", bench::MapNumbers(source)},
              {"parameters", parameters}};
}

std::vector<std::string> ConfigsOf(const graph::Workload& workload, const target::Target& target,
                                   size_t count, const std::vector<std::string>& families) {
  std::vector<std::string> configs;
  for (const std::string& family : families) {
    const auto more = bench::LeastEstimates(family, workload, target, count);
    configs.insert(configs.end(), more.begin(), more.end());
  }
  return configs;
}

Status Run(const std::string& name, size_t count, const std::vector<std::string>& families) {
  const std::string text = MLC_TRY(WorkloadOf(name));
  const graph::Workload workload = MLC_TRY(graph::Workload::Parse(text));
  const auto engine = MLC_TRY(bench::FirstGpu());
  const target::Target& target = engine->target();
  std::vector<std::string> configs = ConfigsOf(workload, target, count, families);
  const std::string untuned = MLC_TRY(costmodel::DefaultConfig(workload, target)).ToText();
  if (std::find(configs.begin(), configs.end(), untuned) == configs.end()) {
    configs.push_back(untuned);
  }
  auto measured = bench::Measure(*engine, text, configs);
  json rows = json::array();
  std::string best;
  for (const std::string& config_text : configs) {
    const Measurement& m = measured[config_text];
    const Config config = MLC_TRY(Config::Parse(config_text));
    const auto facts = schedule::FindFamily(config.family)->Facts(workload, target, config);
    json row = {{"config", config_text},
                {"estimate_us", costmodel::EstimateKernel(facts, target).total_ns / 1e3}};
    if (m.outcome == Outcome::kOk) {
      row["us"] = m.median_ns / 1e3;
      row["error"] = m.max_error;
      if (best.empty() || m.median_ns < measured[best].median_ns) best = config_text;
    } else {
      row["failed"] = worker::ToLine(m, 0);
    }
    rows.push_back(row);
  }
  if (best.empty()) return Internal("no config of " + name + " ran: " + rows.dump());
  const json printed = MLC_TRY(Printed(workload, target, MLC_TRY(Config::Parse(best))));
  std::printf(
      "%s\n",
      json{
          {"case", name}, {"untuned", untuned}, {"best", best}, {"rows", rows}, {"kernel", printed}}
          .dump()
          .c_str());
  return {};
}

Status List(const std::string& name) {
  const graph::Workload workload = MLC_TRY(graph::Workload::Parse(MLC_TRY(WorkloadOf(name))));
  const target::Target target = MLC_TRY(bench::TypicalH200());
  std::printf("untuned: %s\n",
              MLC_TRY(costmodel::DefaultConfig(workload, target)).ToText().c_str());
  for (const char* family : bench::kMatrixFamilies) {
    for (const std::string& text : bench::LeastEstimates(family, workload, target, 12)) {
      const Config config = MLC_TRY(Config::Parse(text));
      const auto facts = schedule::FindFamily(family)->Facts(workload, target, config);
      std::printf("%8.2f us  %s\n", costmodel::EstimateKernel(facts, target).total_ns / 1e3,
                  text.c_str());
    }
  }
  return {};
}

Status Print(const std::string& name, size_t count, const std::vector<std::string>& families) {
  const graph::Workload workload = MLC_TRY(graph::Workload::Parse(MLC_TRY(WorkloadOf(name))));
  const target::Target target = MLC_TRY(bench::TypicalH200());
  json kernels = json::array();
  for (const std::string& text : ConfigsOf(workload, target, count, families)) {
    json kernel = MLC_TRY(Printed(workload, target, MLC_TRY(Config::Parse(text))));
    kernel["config"] = text;
    kernels.push_back(std::move(kernel));
  }
  std::printf("%s\n", json{{"case", name}, {"kernels", kernels}}.dump().c_str());
  return {};
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: grid_bench MxNxK:TYPE:EPILOGUE COUNT|list|print COUNT [FAMILY ...]\n");
    return 2;
  }
  const bool print = std::string(argv[2]) == "print" && argc > 3;
  std::vector<std::string> families(argv + (print ? 4 : 3), argv + argc);
  if (families.empty()) {
    families.assign(std::begin(mlc::bench::kMatrixFamilies), std::end(mlc::bench::kMatrixFamilies));
  }
  const bool list = std::string(argv[2]) == "list";
  const auto count = static_cast<size_t>(std::atoi(argv[print ? 3 : 2]));
  const mlc::Status status = list    ? mlc::List(argv[1])
                             : print ? mlc::Print(argv[1], count, families)
                                     : mlc::Run(argv[1], count, families);
  if (!status.ok()) std::fprintf(stderr, "grid_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
