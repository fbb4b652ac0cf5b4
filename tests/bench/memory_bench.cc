// Memory-bound kernels on 64 MB tensors, and attention: what share of the machine's own copy
// bandwidth (or FMA peak) the families reach. Every legal config of a small space is timed:
//   memory_bench [threads=2] [only=TEXT] [limit=40] [all=1] [config=TEXT[;TEXT]]
// The copy it is held against is timed in turns with it, by its default kernel.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/bench/arguments.h"
#include "tests/bench/config_choice.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

constexpr int64_t kCopyElements = 16 << 20;

struct Options {
  int threads = 2;
  int limit = 40;  // configs of a space
  bool all = false;
  std::string only;
  std::string config;
};

struct BenchCase {
  std::string name;
  std::string text;
  bool compute = false;  // report FLOP/s instead of bytes
};

std::string Wrap(const std::string& body) {
  return "workload v1 tolerance=1e-4 {\n" + body + "}\n";
}

void AddTransposes(std::vector<BenchCase>& cases) {
  cases.push_back({"nchw to nhwc", Wrap("%0 = input() : f32[16,256,64,64]\n%1 = copy(%0) : "
                                        "f32[16,256,64,64]{1048576,1,16384,256}\nreturn %1\n")});
  cases.push_back({"nhwc to nchw", Wrap("%0 = input() : f32[16,256,64,64]{1048576,1,16384,256}\n"
                                        "%1 = copy(%0) : f32[16,256,64,64]\nreturn %1\n")});
  cases.push_back(
      {"odd nhwc to nchw", Wrap("%0 = input() : f32[16,253,65,63]{1036035,1,15939,253}\n"
                                "%1 = copy(%0) : f32[16,253,65,63]\nreturn %1\n")});
  cases.push_back({"keys of heads", Wrap("%0 = input() : f32[16,1024,16,64]\n%1 = transpose(%0) "
                                         "{perm=[0,2,3,1]} : f32[16,16,64,1024]\nreturn %1\n")});
  cases.push_back(
      {"matrix", Wrap("%0 = input() : f32[4096,4096]\n%1 = transpose(%0) {perm=[1,0]} : "
                      "f32[4096,4096]\nreturn %1\n")});
}

std::vector<BenchCase> Cases() {
  const std::string rows = "f32[16384,1024]";
  std::vector<BenchCase> cases;
  cases.push_back({"scalar sum", Wrap("%0 = input() : f32[16777216]\n%1 = reduce(%0) "
                                      "{axes=[0],keepdims=0,kind=sum} : f32[]\nreturn %1\n")});
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
  AddTransposes(cases);
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
  double seconds = 0;
  double share = 0;  // of the copy's rate, both timed in turns
  bool is_default = false;
};

// The default first, then configs spread over the space.
std::vector<schedule::Config> Candidates(const graph::Workload& workload,
                                         const target::Target& target, const Options& options) {
  const int limit = options.limit;
  const schedule::Family* family = schedule::FamiliesFor(workload, target).front();
  const schedule::Space space = family->MakeSpace(workload, target);
  std::vector<schedule::Config> configs = {family->Default(workload, target)};
  for (const schedule::Config& config : NamedConfigs(options.config)) {
    if (config != configs[0]) configs.push_back(config);
  }
  if (!options.config.empty()) return configs;
  // Domains have two to seven values: a stride without such a factor meets them all.
  int64_t stride = std::max<int64_t>(1, space.NumPoints() / limit);
  while (stride > 1 && (stride % 2 == 0 || stride % 3 == 0 || stride % 5 == 0 || stride % 7 == 0)) {
    ++stride;
  }
  for (int64_t rank = 0; rank < space.NumPoints(); rank += stride) {
    const schedule::Config config = space.At(rank);
    if (config == configs[0]) continue;
    if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
    configs.push_back(config);
  }
  return configs;
}

// Each round times every kernel once, with a copy beside it, so that the drift of a shared machine
// hits both.
std::vector<Timed> TimeConfigs(const graph::Workload& workload, const target::Target& target,
                               Threads& threads, RunnableKernel& copy, const Options& options) {
  constexpr int kRounds = 9;
  constexpr double kSampleS = 0.002;
  WorkloadData data(workload, 3);
  std::vector<std::unique_ptr<RunnableKernel>> kernels;
  std::vector<Timed> timed;
  for (const schedule::Config& config : Candidates(workload, target, options)) {
    auto kernel = RunnableKernel::Create(workload, target, config, data);
    if (!kernel.ok()) {
      std::printf("  %s: %s\n", config.ToText().c_str(), kernel.status().ToString().c_str());
      continue;
    }
    timed.push_back({config.ToText(), 0, 0, kernels.empty()});
    kernels.push_back(*std::move(kernel));
  }
  const double copy_bytes = 2.0 * kCopyElements * sizeof(float);
  std::vector<std::vector<double>> seconds(kernels.size()), shares(kernels.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      const double before = copy.Time(threads, 1, kSampleS);
      const double own = kernels[i]->Time(threads, 1, kSampleS);
      seconds[i].push_back(own);
      shares[i].push_back(workload.MinBytes() / own / (copy_bytes / before));
    }
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    timed[i].seconds = Median(seconds[i]);
    timed[i].share = Median(shares[i]);
  }
  std::sort(timed.begin(), timed.end(),
            [](const Timed& a, const Timed& b) { return a.share > b.share; });
  return timed;
}

int Main(const Options& options) {
  const target::Target target = target::DetectHost(options.threads);
  Threads threads(options.threads);
  const std::string type = " : f32[" + std::to_string(kCopyElements) + "]\n";
  const auto copied =
      graph::Workload::Parse(Wrap("%0 = input()" + type + "%1 = copy(%0)" + type + "return %1\n"));
  WorkloadData data(*copied, 5);
  const schedule::Family* family = schedule::FamiliesFor(*copied, target).front();
  const auto copy = RunnableKernel::Create(*copied, target, family->Default(*copied, target), data);
  if (!copy.ok()) {
    std::printf("copy: %s\n", copy.status().ToString().c_str());
    return 1;
  }
  for (const BenchCase& c : Cases()) {
    if (!options.only.empty() && c.name.find(options.only) == std::string::npos) continue;
    const auto workload = graph::Workload::Parse(c.text);
    if (!workload.ok()) {
      std::printf("%s: %s\n", c.name.c_str(), workload.status().ToString().c_str());
      return 1;
    }
    const std::vector<Timed> timed = TimeConfigs(*workload, target, threads, **copy, options);
    if (timed.empty()) continue;
    const double work = c.compute ? workload->Flops() : workload->MinBytes();
    const auto usual =
        std::find_if(timed.begin(), timed.end(), [](const Timed& t) { return t.is_default; });
    const auto print = [&](const char* name, const Timed& t) {
      std::printf("%-17s %9.1f us %7.1f %s", name, t.seconds * 1e6, work / t.seconds * 1e-9,
                  c.compute ? "GFLOP/s" : "GB/s");
      if (!c.compute) std::printf(" %6.1f%% of copy", t.share * 100);
      std::printf("  %s\n", t.config.c_str());
    };
    print(c.name.c_str(), timed[0]);
    if (usual != timed.end()) print("  default", *usual);
    for (size_t i = 1; options.all && i < timed.size(); ++i) print("", timed[i]);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  mlc::bench::Options options;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (key == "threads") {
      options.threads = std::stoi(value);
    } else if (key == "limit") {
      options.limit = std::stoi(value);
    } else if (key == "only") {
      options.only = value;
    } else if (key == "all") {
      options.all = value == "1";
    } else if (key == "config") {
      options.config = value;
    } else {
      std::fprintf(stderr, "memory_bench: unknown argument '%s'\n", word.c_str());
      return 64;
    }
  }
  return mlc::bench::Main(options);
}
