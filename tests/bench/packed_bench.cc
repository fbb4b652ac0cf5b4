// Products with weights of few bits: the rate at which their stored bytes come from memory, beside
// the rate at which this machine reads memory, and the time of the same product with weights of
// f32. Weights are cold, as in a model:
//   packed_bench [threads=2] [only=TEXT] [limit=0] [config=TEXT[;TEXT]] [rounds=9] [json=1]
// The default config of each case is timed, with `limit` random ones or those that are named.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/arguments.h"
#include "tests/bench/config_choice.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

constexpr int64_t kReadElements = 64 << 20;
constexpr int64_t kColdBytes = int64_t{512} << 20;
constexpr double kSampleS = 0.004;

struct Options {
  int threads = 2;
  int limit = 0;
  int rounds = 9;
  bool json = false;
  std::string only;
  std::string config;
};

struct BenchCase {
  int64_t rows, depth, columns, bits, block;  // bits of 32: f32
  bool zeros = false;

  std::string Name() const {
    return std::to_string(rows) + "x" + std::to_string(depth) + "x" + std::to_string(columns) +
           (bits == 32 ? " f32"
                       : " " + std::to_string(bits) + " bits by " + std::to_string(block) +
                             (zeros ? " with zeros" : ""));
  }
  double WeightBytes() const {
    const double codes = static_cast<double>(depth * columns * bits) / 8;
    const double blocks = static_cast<double>(depth / block * columns);
    return bits == 32 ? codes : codes + blocks * (zeros ? 5 : 4);
  }
  std::string Text() const;
};

std::string Type(const char* dtype, int64_t first, int64_t second) {
  return std::string(dtype) + "[" + std::to_string(first) + "," + std::to_string(second) + "]";
}

std::string BenchCase::Text() const {
  const std::string product = Type("f32", rows, columns);
  std::string text = "workload v1 tolerance=1e-4 {\n%0 = input() : " + Type("f32", rows, depth);
  if (bits == 32) {
    return text + "\n%1 = weight() : " + Type("f32", depth, columns) +
           "\n%2 = matmul(%0, %1) : " + product + "\nreturn %2\n}\n";
  }
  const int64_t blocks = depth / block;
  text += "\n%1 = weight() : " + Type("u8", columns, depth * bits / 8) +
          "\n%2 = weight() : " + Type("f32", columns, blocks);
  if (zeros) text += "\n%3 = weight() : " + Type("u8", columns, blocks);
  const std::string matrix = zeros ? "%4" : "%3";
  const std::string result = zeros ? "%5" : "%4";
  return text + "\n" + matrix + " = dequantize(%1, %2" + (zeros ? ", %3" : "") +
         ") {bits=" + std::to_string(bits) + ", block=" + std::to_string(block) +
         ", depth=" + std::to_string(depth) + ", zero=" + std::to_string(1 << (bits - 1)) +
         "} : " + Type("f32", depth, columns) + "\n" + result + " = matmul(%0, " + matrix +
         ") : " + product + "\nreturn " + result + "\n}\n";
}

std::vector<BenchCase> Cases() {
  std::vector<BenchCase> cases;
  for (const int64_t columns : {4096, 11008}) {
    for (const int64_t rows : {1, 4, 16, 128}) {
      cases.push_back({rows, 4096, columns, 4, 32});
      if (rows == 1) {
        cases.push_back({rows, 4096, columns, 4, 32, true});
        cases.push_back({rows, 4096, columns, 4, 128});
        cases.push_back({rows, 4096, columns, 8, 32});
      }
      cases.push_back({rows, 4096, columns, 32, 32});
    }
  }
  return cases;
}

// Reads 256 MiB, in the best of a few configs: what memory gives.
std::unique_ptr<RunnableKernel> Reader(const target::Target& target, Threads& threads,
                                       WorkloadData& data, const graph::Workload& workload) {
  const schedule::Family* family = schedule::FamiliesFor(workload, target).front();
  std::unique_ptr<RunnableKernel> best;
  double best_s = 0;
  for (const schedule::Config& config : RandomConfigs({family}, workload, target, 12, Rng(1))) {
    auto kernel = RunnableKernel::Create(workload, target, config, data);
    if (!kernel.ok()) continue;
    const double seconds = (*kernel)->Time(threads, 3, kSampleS);
    if (best && seconds >= best_s) continue;
    best = *std::move(kernel);
    best_s = seconds;
  }
  return best;
}

struct Timed {
  std::string config;
  double seconds = 0;
  double gb_s = 0;
  double share = 0;  // of the rate at which the reader read beside it
};

std::vector<schedule::Config> Candidates(const graph::Workload& workload,
                                         const target::Target& target, const Options& options) {
  const schedule::Family* family = schedule::FamiliesFor(workload, target).front();
  std::vector<schedule::Config> configs = {family->Default(workload, target)};
  for (const schedule::Config& config : NamedConfigs(options.config)) configs.push_back(config);
  if (options.limit == 0) return configs;
  for (schedule::Config& config :
       RandomConfigs({family}, workload, target, static_cast<size_t>(options.limit), Rng(7))) {
    configs.push_back(std::move(config));
  }
  return configs;
}

std::vector<Timed> TimeCase(const BenchCase& c, const graph::Workload& workload,
                            const target::Target& target, Threads& threads, RunnableKernel& reader,
                            const ColdWeights& cold, const Options& options) {
  WorkloadData data(workload, 3);
  std::vector<Timed> timed;
  for (const schedule::Config& config : Candidates(workload, target, options)) {
    auto kernel = RunnableKernel::Create(workload, target, config, data);
    if (!kernel.ok()) {
      std::fprintf(stderr, "%s: %s\n", config.ToText().c_str(), kernel.status().ToString().c_str());
      continue;
    }
    (*kernel)->UseCold(cold);
    std::vector<double> seconds, shares;
    for (int round = 0; round < options.rounds; ++round) {
      const double reading = reader.Time(threads, 1, kSampleS);
      const double own = (*kernel)->Time(threads, 1, kSampleS);
      seconds.push_back(own);
      shares.push_back(c.WeightBytes() / own / (kReadElements * sizeof(float) / reading));
    }
    const double own = Median(seconds);
    timed.push_back({config.ToText(), own, c.WeightBytes() / own * 1e-9, Median(shares)});
  }
  return timed;
}

void Print(const BenchCase& c, const Timed& t, bool is_default, bool json) {
  if (json) {
    std::printf(
        "  {\"case\": \"%s\", \"config\": \"%s\", \"us\": %.1f, \"weights_gb_s\": %.2f, "
        "\"share_of_read\": %.3f}",
        c.Name().c_str(), is_default ? "default" : t.config.c_str(), t.seconds * 1e6, t.gb_s,
        t.share);
    return;
  }
  std::printf("%-34s %9.1f us %6.2f GB/s of weights, %5.1f %% of reading  %s\n", c.Name().c_str(),
              t.seconds * 1e6, t.gb_s, t.share * 100, t.config.c_str());
}

int Main(const Options& options) {
  const target::Target target = target::DetectHost(options.threads);
  Threads threads(options.threads);
  const auto reads = graph::Workload::Parse(
      "workload v1 tolerance=1e-4 {\n%0 = input() : f32[" + std::to_string(kReadElements) +
      "]\n%1 = reduce(%0) {axes=[0],keepdims=0,kind=sum} : f32[]\nreturn %1\n}\n");
  WorkloadData data(*reads, 5);
  const std::unique_ptr<RunnableKernel> reader = Reader(target, threads, data, *reads);
  const double reading = reader->Time(threads, 5, kSampleS);
  if (!options.json) std::printf("reading: %.1f GB/s\n", kReadElements * 4 / reading * 1e-9);
  const ColdWeights cold(kColdBytes);
  if (options.json) std::printf("[\n");
  bool is_first = true;
  for (const BenchCase& c : Cases()) {
    if (!options.only.empty() && c.Name().find(options.only) == std::string::npos) continue;
    const auto workload = graph::Workload::Parse(c.Text());
    if (!workload.ok()) {
      std::fprintf(stderr, "%s: %s\n", c.Name().c_str(), workload.status().ToString().c_str());
      return 1;
    }
    bool is_default = true;
    for (const Timed& t : TimeCase(c, *workload, target, threads, *reader, cold, options)) {
      if (options.json && !is_first) std::printf(",\n");
      is_first = false;
      Print(c, t, is_default, options.json);
      is_default = false;
    }
    std::fflush(stdout);
  }
  if (options.json) std::printf("\n]\n");
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
    } else if (key == "rounds") {
      options.rounds = std::stoi(value);
    } else if (key == "only") {
      options.only = value;
    } else if (key == "config") {
      options.config = value;
    } else if (key == "json") {
      options.json = value == "1";
    } else {
      std::fprintf(stderr, "packed_bench: unknown argument '%s'\n", word.c_str());
      return 64;
    }
  }
  return mlc::bench::Main(options);
}
