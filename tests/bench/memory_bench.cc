// Memory-bound kernels on 64 MB tensors, and attention: what share of the machine's own copy
// bandwidth (or FMA peak) the families reach. Every legal config of a small space is timed:
//   memory_bench [threads=2] [only=TEXT] [all=1]
// The copy it is held against is measured in the same run, with the library's best store kind.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/bench/kernel_runner.h"

namespace mlc::bench {
namespace {

struct BenchCase {
  std::string name;
  std::string text;
  bool compute = false;  // report FLOP/s instead of bytes
};

std::string Wrap(const std::string& body) {
  return "workload v1 tolerance=1e-4 {\n" + body + "}\n";
}

std::vector<BenchCase> Cases() {
  const std::string rows = "f32[16384,1024]";
  std::vector<BenchCase> cases;
  cases.push_back({"copy", Wrap("%0 = input() : f32[16777216]\n%1 = copy(%0) : f32[16777216]\n"
                                "return %1\n")});
  cases.push_back({"chain", Wrap("%0 = input() : " + rows +
                                 "\n%1 = weight() : f32[1024]\n%2 = constant() {value=0.0} : f32[]"
                                 "\n%3 = add(%0, %1) : " +
                                 rows + "\n%4 = max(%3, %2) : " + rows +
                                 "\n%5 = mul(%4, %3) : " + rows + "\nreturn %5\n")});
  cases.push_back({"softmax", Wrap("%0 = input() : " + rows +
                                   "\n%1 = softmax(%0) {axis=1} : " + rows + "\nreturn %1\n")});
  cases.push_back({"softmax 128", Wrap("%0 = input() : f32[131072,128]\n%1 = softmax(%0) {axis=1} :"
                                       " f32[131072,128]\nreturn %1\n")});
  cases.push_back(
      {"layer norm", Wrap("%0 = input() : " + rows +
                          "\n%1 = weight() : f32[1024]\n%2 = weight() : "
                          "f32[1024]\n%3 = layer_norm(%0, %1, %2) {axis=1,epsilon=1e-5} : " +
                          rows + "\nreturn %3\n")});
  cases.push_back({"nchw to nhwc", Wrap("%0 = input() : f32[16,256,64,64]\n%1 = copy(%0) : "
                                        "f32[16,256,64,64]{1048576,1,16384,256}\nreturn %1\n")});
  cases.push_back({"pool 112x112x64",
                   Wrap("%0 = input() : f32[1,64,112,112]{802816,1,7168,64}\n%1 = pool(%0) "
                        "{count_include_pad=0,dilations=[1,1],kernel=[3,3],kind=max,pads=[1,1,1,1],"
                        "strides=[2,2]} : f32[1,64,56,56]{200704,1,3584,64}\nreturn %1\n")});
  for (const int length : {128, 197}) {
    const std::string n = std::to_string(length);
    const std::string type =
        "f32[1,12," + n + ",64]{" + std::to_string(length * 2304) + ",64,2304,1}";
    cases.push_back({"attention " + n,
                     Wrap("%0 = input() : f32[" + std::to_string(length * 2304) +
                          "]\n%1 = view(%0) "
                          "{offset=0} : " +
                          type + "\n%2 = view(%0) {offset=768} : " + type +
                          "\n%3 = view(%0) {offset=1536} : " + type +
                          "\n%4 = attention(%1, %2, %3) {scale=0.125} : f32[1,12," + n + ",64]{" +
                          std::to_string(length * 768) + ",64,768,1}\nreturn %4\n"),
                     true});
  }
  return cases;
}

struct Timed {
  std::string config;
  std::string family;
  double seconds = 0;
  bool is_default = false;
};

std::vector<Timed> TimeConfigs(const graph::Workload& workload, const target::Target& target,
                               Threads& threads, int limit) {
  WorkloadData data(workload, 3);
  std::vector<Timed> timed;
  const schedule::Family* family = schedule::FamiliesFor(workload, target).front();
  const schedule::Space space = family->MakeSpace(workload, target);
  const schedule::Config guess = family->Default(workload, target);
  std::vector<schedule::Config> configs = {guess};
  const int64_t stride = std::max<int64_t>(1, space.NumPoints() / limit);
  for (int64_t rank = 0; rank < space.NumPoints(); rank += stride) {
    const schedule::Config config = space.At(rank);
    if (config == guess) continue;
    if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
    configs.push_back(config);
  }
  for (const schedule::Config& config : configs) {
    auto kernel = RunnableKernel::Create(workload, target, config, data);
    if (!kernel.ok()) {
      std::printf("  %s: %s\n", config.ToText().c_str(), kernel.status().ToString().c_str());
      continue;
    }
    timed.push_back(
        {config.ToText(), config.family, (*kernel)->Time(threads, 5, 0.01), config == guess});
  }
  std::sort(timed.begin(), timed.end(),
            [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
  return timed;
}

int Main(int threads_count, const std::string& only, int limit, bool all) {
  const target::Target target = target::DetectHost(threads_count);
  Threads threads(threads_count);
  double copy_gbps = 0;
  for (const BenchCase& c : Cases()) {
    if (!only.empty() && c.name != "copy" && c.name.find(only) == std::string::npos) continue;
    const auto workload = graph::Workload::Parse(c.text);
    if (!workload.ok()) {
      std::printf("%s: %s\n", c.name.c_str(), workload.status().ToString().c_str());
      return 1;
    }
    const std::vector<Timed> timed = TimeConfigs(*workload, target, threads, limit);
    if (timed.empty()) continue;
    const double work = c.compute ? workload->Flops() : workload->MinBytes();
    const double rate = work / timed[0].seconds * 1e-9;
    if (c.name == "copy") copy_gbps = rate;
    const auto guess =
        std::find_if(timed.begin(), timed.end(), [](const Timed& t) { return t.is_default; });
    const double share = c.compute ? 0 : rate / copy_gbps * 100;
    std::printf("%-16s %9.1f us %7.1f %s %6.1f%% of copy, default %9.1f us  %s\n", c.name.c_str(),
                timed[0].seconds * 1e6, rate, c.compute ? "GFLOP/s" : "GB/s", share,
                guess == timed.end() ? 0.0 : guess->seconds * 1e6, timed[0].config.c_str());
    if (guess != timed.end()) std::printf("  default %s\n", guess->config.c_str());
    for (size_t i = 0; all && i < timed.size(); ++i) {
      std::printf("  %9.1f us %s\n", timed[i].seconds * 1e6, timed[i].config.c_str());
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  int threads = 2, limit = 40;
  bool all = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (key == "threads") {
      threads = std::stoi(value);
    } else if (key == "limit") {
      limit = std::stoi(value);
    } else if (key == "only") {
      only = value;
    } else if (key == "all") {
      all = value == "1";
    } else {
      std::fprintf(stderr, "memory_bench: unknown argument '%s'\n", argument.c_str());
      return 64;
    }
  }
  return mlc::bench::Main(threads, only, limit, all);
}
