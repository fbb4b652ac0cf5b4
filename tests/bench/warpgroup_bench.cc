// Large contractions by mma.sync (tensor_contraction), by wgmma (warpgroup_contraction) and by
// wgmma of warps with roles (role_contraction): the configs with the least estimated time of each
// family go through the worker's engine, which checks their results. Usage: warpgroup_bench
// [CONFIGS [NAME ...]]; warpgroup_bench configs NAME CONFIG ... measures these; warpgroup_bench
// list prints the candidates for an H200, warpgroup_bench text NAME CONFIG the CUDA C++ of one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/codegen/cuda/cuda.h"
#include "compiler/schedule/space/family.h"
#include "tests/bench/gpu_trials.h"
#include "tests/bench/least_estimates.h"
#include "tests/bench/printed_maps.h"
#include "worker/local_trial.h"

namespace mlc {
namespace {

using bench::kMatrixFamilies;
using bench::LeastEstimates;
using bench::Problem;
using schedule::Config;

std::string Product(int m, int k, int n, const std::string& dtype, bool bias,
                    const std::string& attributes = "") {
  const auto type = [&](int rows, int columns) {
    return " : " + dtype + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]\n";
  };
  std::string text = "workload v1 tolerance=1e-2 {\n%0 = input()" + type(m, k) + "%1 = weight()" +
                     type(k, n) + "%2 = matmul(%0, %1)" + attributes + type(m, n);
  if (!bias) return text + "return %2\n}\n";
  return text + "%3 = weight() : " + dtype + "[" + std::to_string(n) + "]\n%4 = add(%2, %3)" +
         type(m, n) + "return %4\n}\n";
}

// `filters` 0: as many as channels.
std::string Convolution(int images, int size, int channels, int kernel, const std::string& dtype,
                        int filters = 0) {
  if (filters == 0) filters = channels;
  const std::string f = std::to_string(filters), s = std::to_string(size);
  const std::string k = std::to_string(kernel), pad = std::to_string(kernel / 2);
  const auto image = [&](int planes) {
    const std::string c = std::to_string(planes);
    return " : " + dtype + "[" + std::to_string(images) + "," + c + "," + s + "," + s + "]{" +
           std::to_string(planes * size * size) + ",1," + std::to_string(planes * size) + "," + c +
           "}\n";
  };
  const std::string out = image(filters);
  return "workload v1 tolerance=1e-2 {\n%0 = input()" + image(channels) +
         "%1 = weight() : " + dtype + "[" + f + "," + std::to_string(channels) + "," + k + "," + k +
         "]\n%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[" + pad + "," + pad + "," + pad +
         "," + pad + "],strides=[1,1]}" + out + "%3 = weight() : " + dtype + "[1," + f +
         ",1,1]\n%4 = add(%2, %3)" + out + "%5 = max(%4, %4)" + out + "return %5\n}\n";
}

std::vector<Problem> Problems() {
  return {
      {"product_2048x2048x2048_f16", Product(2048, 2048, 2048, "f16", false)},
      {"product_128x3072x768_f16", Product(128, 3072, 768, "f16", true)},
      {"product_4096x768x3072_f16", Product(4096, 768, 3072, "f16", true)},
      {"convolution_32x28x128x3_f16", Convolution(32, 28, 128, 3, "f16")},
      {"convolution_32x14x256x3_f16", Convolution(32, 14, 256, 3, "f16")},
      {"product_2048x2048x2048_tf32", Product(2048, 2048, 2048, "f32", false, " {precision=tf32}")},
      {"product_1024x768x3072_f16", Product(1024, 768, 3072, "f16", true)},
      {"product_512x3072x768_f16", Product(512, 3072, 768, "f16", true)},
      {"convolution_8x28x128x3_f16", Convolution(8, 28, 128, 3, "f16")},
      {"convolution_8x14x256x3_f16", Convolution(8, 14, 256, 3, "f16")},
      {"product_4096x4096x4096_f16", Product(4096, 4096, 4096, "f16", false)},
      {"product_8192x8192x8192_f16", Product(8192, 8192, 8192, "f16", false)},
      {"product_1024x2048x11264_f16", Product(1024, 2048, 11264, "f16", true)},
      {"product_4096x4096x4096_tf32", Product(4096, 4096, 4096, "f32", false, " {precision=tf32}")},
      {"product_2048x2048x2048_bf16", Product(2048, 2048, 2048, "bf16", false)},
      {"product_4096x4096x4096_bf16", Product(4096, 4096, 4096, "bf16", false)},
      {"product_8192x8192x8192_bf16", Product(8192, 8192, 8192, "bf16", false)},
      {"product_2048x2048x2048_f32", Product(2048, 2048, 2048, "f32", false)},
      {"product_128x3072x768_f32", Product(128, 3072, 768, "f32", true)},
      {"product_4096x768x3072_f32", Product(4096, 768, 3072, "f32", true)},
      {"convolution_32x56x64x3_f32", Convolution(32, 56, 64, 3, "f32")},
      {"convolution_32x28x128x3_f32", Convolution(32, 28, 128, 3, "f32")},
      {"convolution_32x14x256x3_f32", Convolution(32, 14, 256, 3, "f32")},
      {"convolution_32x7x512x3_f32", Convolution(32, 7, 512, 3, "f32")},
      {"convolution_32x56x64x1_f32", Convolution(32, 56, 64, 1, "f32", 256)},
      {"convolution_32x28x512x1_f32", Convolution(32, 28, 512, 1, "f32", 128)},
      {"convolution_32x14x1024x1_f32", Convolution(32, 14, 1024, 1, "f32", 256)},
      {"convolution_32x7x512x1_f32", Convolution(32, 7, 512, 1, "f32", 2048)}};
}

void Report(const Problem& problem, double flops, const std::vector<std::string>& configs,
            std::map<std::string, Measurement>& results) {
  printf("%s\n", problem.name.c_str());
  std::vector<std::pair<double, std::string>> times;
  for (const std::string& text : configs) {
    const Measurement& m = results[text];
    if (m.outcome != Outcome::kOk) {
      printf("  %s: %s\n", text.c_str(), worker::ToLine(m, 0).c_str());
    } else {
      times.emplace_back(m.median_ns, text);
    }
  }
  std::sort(times.begin(), times.end());
  for (const char* family : kMatrixFamilies) {
    int shown = 0;
    for (const auto& [ns, text] : times) {
      if (text.find(family) == std::string::npos || ++shown > 12) continue;
      printf("  %8.2f us  %6.1f TFLOP/s  error %.1e  %s\n", ns / 1e3, flops / ns / 1e3,
             results[text].max_error, text.c_str());
    }
  }
  fflush(stdout);
}

Status List(size_t count) {
  const target::Target target = MLC_TRY(bench::TypicalH200());
  return bench::ForProblems(
      Problems(), {}, [&](const Problem& problem, const graph::Workload& workload) -> Status {
        printf("%s\n", problem.name.c_str());
        for (const char* family : kMatrixFamilies) {
          for (const std::string& config : LeastEstimates(family, workload, target, count)) {
            printf("  %s\n", config.c_str());
          }
        }
        return {};
      });
}

Status Text(const std::string& name, const std::string& text) {
  const target::Target target = MLC_TRY(bench::TypicalH200());
  return bench::ForProblems(
      Problems(), {name}, [&](const Problem&, const graph::Workload& workload) -> Status {
        const Config config = MLC_TRY(Config::Parse(text));
        const schedule::Family* family = schedule::FindFamily(config.family);
        if (family == nullptr) return InvalidArgument("no family '" + config.family + "'");
        const schedule::LoweredKernel lowered = MLC_TRY(family->Lower(workload, target, config));
        const codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(lowered.kernel, target));
        const codegen::CudaLaunch& launch = source.launches.front();
        printf("// %s blocks of %s threads and %lld bytes; scratch %lld bytes\n%s\n%s\n",
               launch.grid.ToText().c_str(), launch.block.ToText().c_str(),
               static_cast<long long>(launch.block_bytes),
               static_cast<long long>(source.workspace_bytes), bench::MapLine(source).c_str(),
               source.text.c_str());
        return {};
      });
}

Status Measure(const std::string& name, const std::vector<std::string>& configs) {
  const auto engine = MLC_TRY(bench::FirstGpu());
  return bench::ForProblems(Problems(), {name},
                            [&](const Problem& problem, const graph::Workload& workload) -> Status {
                              auto results = bench::Measure(*engine, workload.ToText(), configs);
                              Report(problem, workload.Flops(), configs, results);
                              return {};
                            });
}

Status Run(size_t count, const std::vector<std::string>& names) {
  const auto engine = MLC_TRY(bench::FirstGpu());
  return bench::ForProblems(
      Problems(), names, [&](const Problem& problem, const graph::Workload& workload) -> Status {
        std::vector<std::string> configs;
        for (const char* family : kMatrixFamilies) {
          const bool old = family == kMatrixFamilies[0];
          const std::vector<std::string> more =
              LeastEstimates(family, workload, engine->target(), old ? count / 3 : count);
          configs.insert(configs.end(), more.begin(), more.end());
        }
        auto results = bench::Measure(*engine, workload.ToText(), configs);
        Report(problem, workload.Flops(), configs, results);
        return {};
      });
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto from = [&](int first) {
    return std::vector<std::string>(argv + std::min(argc, first), argv + argc);
  };
  const int count = mode.empty() || mode == "list" ? 60 : std::atoi(argv[1]);
  const auto configs = static_cast<size_t>(std::max(count, 4));
  mlc::Status status;
  if (mode == "text" && argc == 4) {
    status = mlc::Text(argv[2], argv[3]);
  } else if (mode == "configs" && argc > 3) {
    status = mlc::Measure(argv[2], from(3));
  } else {
    status = mode == "list" ? mlc::List(configs) : mlc::Run(configs, from(2));
  }
  if (!status.ok()) fprintf(stderr, "warpgroup_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
