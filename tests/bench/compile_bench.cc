// What NVRTC takes for the kernels of every family for GPUs, in CPU time: configs that a search
// would try, of workloads like those of vision and language models.
//   compile_bench [configs=2] [repeats=3] [seed=1] [json=FILE] [dump=DIR] [before=DIR]
//                 [before_flags=--option]
// Needs NVRTC and no GPU; one thread. dump=DIR only writes the CUDA C++ of every config there.
// before=DIR takes the texts that another build wrote there for the same configs, and compiles each
// in turn with the present one, as the CPU of a busy machine has no constant speed. before_flags
// adds options of NVRTC to the "before" side.
//
// Phases: "front" is the front end as NVRTC times it (--time, wall time); "to PTX" is front end and
// optimiser; "ptxas" is the rest. Times are the least of the repeats.
#include <dlfcn.h>
#include <elf.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/schedule/space/family.h"
#include "tests/bench/arguments.h"
#include "tests/bench/likely_configs.h"

namespace mlc {
namespace {

constexpr char kTarget[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";
struct Subject {
  const char* name;
  const char* body;  // of the workload
};

constexpr Subject kSubjects[] = {
    {"product f16",
     "%0 = input() : f16[1024,768]\n%1 = weight() : f16[768,3072]\n"
     "%2 = matmul(%0, %1) : f16[1024,3072]\n%3 = weight() : f16[3072]\n"
     "%4 = add(%2, %3) : f16[1024,3072]\nreturn %4\n"},
    {"product tf32",
     "%0 = input() : f32[512,768]\n%1 = weight() : f32[768,768]\n"
     "%2 = matmul(%0, %1) {precision=tf32} : f32[512,768]\nreturn %2\n"},
    {"product f32",
     "%0 = input() : f32[128,3072]\n%1 = weight() : f32[3072,768]\n"
     "%2 = matmul(%0, %1) : f32[128,768]\nreturn %2\n"},
    {"convolution 3x3 f16",
     "%0 = input() : f16[8,128,28,28]{100352,1,3584,128}\n%1 = weight() : f16[128,128,3,3]\n"
     "%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]} : "
     "f16[8,128,28,28]{100352,1,3584,128}\nreturn %2\n"},
    {"convolution 1x1 f32",
     "%0 = input() : f32[1,256,56,56]{802816,1,14336,256}\n%1 = weight() : f32[64,256,1,1]\n"
     "%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[0,0,0,0],strides=[1,1]} : "
     "f32[1,64,56,56]{200704,1,3584,64}\nreturn %2\n"},
    {"product of one row f16",
     "%0 = input() : f16[1,768]\n%1 = weight() : f16[768,3072]\n"
     "%2 = matmul(%0, %1) : f16[1,3072]\nreturn %2\n"},
    {"attention f16",
     "%0 = input() : f16[1,12,128,64]{294912,64,2304,1}\n"
     "%1 = input() : f16[1,12,128,64]{294912,64,2304,1}\n"
     "%2 = input() : f16[1,12,128,64]{294912,64,2304,1}\n%3 = weight() : f16[1,1,128,128]\n"
     "%4 = attention(%0, %1, %2, %3) {scale=0.125} : f16[1,12,128,64]{98304,64,768,1}\n"
     "return %4\n"},
    {"attention f32",
     "%0 = input() : f32[1,12,197,64]\n%1 = input() : f32[1,12,197,64]\n"
     "%2 = input() : f32[1,12,197,64]\n"
     "%3 = attention(%0, %1, %2) {scale=0.125} : f32[1,12,197,64]\nreturn %3\n"},
    {"layer norm f16",
     "%0 = input() : f16[128,768]\n%1 = input() : f16[128,768]\n%2 = weight() : f16[768]\n"
     "%3 = weight() : f16[768]\n%4 = add(%0, %1) : f16[128,768]\n"
     "%5 = layer_norm(%4, %2, %3) {axis=1,epsilon=1e-05} : f16[128,768]\nreturn %5, %4\n"},
    {"softmax f32",
     "%0 = input() : f32[12,128,197]\n%1 = softmax(%0) {axis=2} : f32[12,128,197]\nreturn %1\n"},
    {"gelu f16",
     "%0 = input() : f16[64,768]\n%1 = weight() : f16[768]\n%2 = add(%0, %1) : f16[64,768]\n"
     "%3 = erf(%2) : f16[64,768]\nreturn %3\n"},
    {"transpose f16",
     "%0 = input() : f16[8,64,96]\n%1 = transpose(%0) {perm=[0,2,1]} : f16[8,96,64]\n"
     "%2 = copy(%1) : f16[8,96,64]\nreturn %2\n"},
    {"max pool f16",
     "%0 = input() : f16[1,64,112,112]{802816,1,7168,64}\n"
     "%1 = pool(%0) {count_include_pad=0,dilations=[1,1],kernel=[3,3],kind=max,pads=[1,1,1,1],"
     "strides=[2,2]} : f16[1,64,56,56]{200704,1,3584,64}\nreturn %1\n"},
    {"depthwise f16",
     "%0 = input() : f16[1,96,28,28]{75264,1,2688,96}\n%1 = weight() : f16[96,1,3,3]\n"
     "%2 = conv(%0, %1) {dilations=[1,1],group=96,pads=[1,1,1,1],strides=[1,1]} : "
     "f16[1,96,28,28]{75264,1,2688,96}\nreturn %2\n"},
};

double CpuMs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// 16 bytes each.
int64_t InstructionsOf(const std::string& cubin) {
  Elf64_Ehdr head;
  if (cubin.size() < sizeof(head)) return 0;
  std::memcpy(&head, cubin.data(), sizeof(head));
  int64_t bytes = 0;
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    const size_t at = head.e_shoff + static_cast<size_t>(i) * sizeof(section);
    if (at + sizeof(section) > cubin.size()) return 0;
    std::memcpy(&section, cubin.data() + at, sizeof(section));
    if ((section.sh_flags & SHF_EXECINSTR) != 0) bytes += static_cast<int64_t>(section.sh_size);
  }
  return bytes / 16;
}

// Milliseconds and the compiler's result.
struct Cost {
  double front = 1e9;
  double to_ptx = 1e9;
  double total = 1e9;
  double ptxas() const { return total - to_ptx; }
  int registers = 0;
  int64_t spilled = 0;
  int64_t instructions = 0;
  size_t bytes = 0;  // of the source
};

struct Side {
  std::string text;
  std::string flags;
  Cost cost;
};

struct Measured {
  std::string subject, config, family;
  Side now, before;
};

// The front end's time in a report of --time; 0 if it has none.
double FrontMs(const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find("CUDA C++ Frontend, ");
    if (at != std::string::npos) return std::atof(line.c_str() + at + 19);
  }
  return 0;
}

// The product's compiler, called with more options than the product has.
class Compiler {
 public:
  static Result<Compiler> Open() {
    Compiler compiler;
    compiler.nvrtc_ = MLC_TRY(build::Nvrtc::Open(""));
    MLC_TRY(WarmUp(*compiler.nvrtc_));
    void* library = dlopen(compiler.nvrtc_->path().c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      return *function != nullptr;
    };
    if (!find("nvrtcCreateProgram", &compiler.create_) ||
        !find("nvrtcCompileProgram", &compiler.compile_) ||
        !find("nvrtcDestroyProgram", &compiler.destroy_) ||
        !find("nvrtcGetProgramLogSize", &compiler.log_size_) ||
        !find("nvrtcGetProgramLog", &compiler.log_) ||
        !find("nvrtcGetCUBINSize", &compiler.size_) || !find("nvrtcGetCUBIN", &compiler.image_)) {
      return FailedPrecondition("NVRTC lacks a function");
    }
    return compiler;
  }

  // The least CPU time of compiling for `arch`, and for a device the log and the device code.
  Status Run(const Side& side, const std::string& arch, const std::string& more, double* ms,
             build::CudaBinary* binary) const {
    std::istringstream words(nvrtc_->options() + " " + side.flags + " " + more);
    std::vector<std::string> options{std::istream_iterator<std::string>(words), {}};
    options.push_back("--gpu-architecture=" + arch);
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    void* program = nullptr;
    (void)create_(&program, side.text.c_str(), "kernel.cu", 0, nullptr, nullptr);
    const double start = CpuMs();
    const int code = compile_(program, static_cast<int>(pointers.size()), pointers.data());
    *ms = std::min(*ms, CpuMs() - start);
    const auto read = [&](SizeFunction size_of, BytesFunction get) {
      size_t size = 0;
      (void)size_of(program, &size);
      std::string bytes(size, '\0');
      (void)get(program, bytes.data());
      return bytes;
    };
    const std::string log = read(log_size_, log_);
    if (code == 0 && binary != nullptr) *binary = {read(size_, image_), log, {}, {}};
    destroy_(&program);
    return code == 0 ? Status() : InvalidArgument(arch + ": " + log);
  }

 private:
  using SizeFunction = int (*)(void*, size_t*);
  using BytesFunction = int (*)(void*, char*);
  std::unique_ptr<build::Nvrtc> nvrtc_;
  int (*create_)(void**, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*destroy_)(void**) = nullptr;
  SizeFunction log_size_ = nullptr, size_ = nullptr;
  BytesFunction log_ = nullptr, image_ = nullptr;
};

Status Compile(const Compiler& compiler, const std::string& report, Side* side) {
  Cost& cost = side->cost;
  cost.bytes = side->text.size();
  std::filesystem::remove(report);
  MLC_TRY(compiler.Run(*side, "compute_90a", "--time=" + report, &cost.to_ptx, nullptr));
  cost.front = std::min(cost.front, FrontMs(report));
  build::CudaBinary binary;
  MLC_TRY(compiler.Run(*side, "sm_90a", "", &cost.total, &binary));
  ReadCompilerLog(&binary);
  cost.registers = 0;
  cost.spilled = 0;
  for (const build::CudaResources& r : binary.resources) {
    cost.registers = std::max(cost.registers, r.registers);
    cost.spilled += r.spill_store_bytes + r.spill_load_bytes;
  }
  cost.instructions = InstructionsOf(binary.image);
  return Status();
}

struct Flags {
  int configs = 2;
  int repeats = 3;
  uint64_t seed = 1;
  std::string json, dump, before, before_flags;
};

Result<std::vector<Measured>> Kernels(const Flags& flags) {
  const target::Target target = MLC_TRY(target::Target::Parse(kTarget));
  std::vector<Measured> kernels;
  Rng rng(flags.seed);
  for (const Subject& subject : kSubjects) {
    const graph::Workload workload = MLC_TRY(graph::Workload::Parse(
        std::string("workload v1 tolerance=1e-2 {\n") + subject.body + "}\n"));
    for (const schedule::Config& config :
         bench::LikelyConfigs(workload, target, static_cast<size_t>(flags.configs), rng)) {
      const auto lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
      Measured& kernel = kernels.emplace_back();
      kernel.subject = subject.name;
      kernel.config = config.ToText();
      kernel.family = config.family;
      kernel.now.text = MLC_TRY(codegen::PrintCuda(lowered.kernel, target)).text;
      const std::string file = "/" + std::to_string(kernels.size()) + ".cu";
      const std::string head = "// " + kernel.subject + ": " + kernel.config + "\n";
      if (!flags.dump.empty()) std::ofstream(flags.dump + file) << head << kernel.now.text;
      kernel.before.flags = flags.before_flags;
      kernel.before.text = kernel.now.text;
      if (flags.before.empty()) continue;
      std::ifstream in(flags.before + file);
      kernel.before.text = {std::istreambuf_iterator<char>(in), {}};
      if (!kernel.before.text.starts_with(head)) {
        return InvalidArgument(flags.before + file + " is not " + head);
      }
      kernel.before.text.erase(0, head.size());
    }
  }
  return kernels;
}

nlohmann::json ToJson(const Cost& c) {
  return {{"source_bytes", c.bytes},    {"front_ms", c.front},           {"to_ptx_ms", c.to_ptx},
          {"ptxas_ms", c.ptxas()},      {"total_ms", c.total},           {"registers", c.registers},
          {"spilled_bytes", c.spilled}, {"instructions", c.instructions}};
}

void Row(const char* side, const std::vector<const Cost*>& costs) {
  const auto n = static_cast<double>(costs.size());
  double front = 0, to_ptx = 0, total = 0, bytes = 0, registers = 0, spills = 0, instructions = 0;
  for (const Cost* c : costs) {
    front += c->front / n;
    to_ptx += c->to_ptx / n;
    total += c->total / n;
    bytes += static_cast<double>(c->bytes) / n;
    registers += c->registers / n;
    spills += c->spilled > 0 ? 1 : 0;
    instructions += static_cast<double>(c->instructions) / n;
  }
  std::printf("  %-7s %4zu %8.0f %7.1f %10.1f %7.1f %7.1f %9.0f %8.0f %6.0f\n", side, costs.size(),
              bytes, front, to_ptx - front, total - to_ptx, total, registers, instructions, spills);
}

Status Run(const Flags& flags) {
  std::vector<Measured> kernels = MLC_TRY(Kernels(flags));
  if (!flags.dump.empty()) return Status();
  const bool compares = !flags.before.empty() || !flags.before_flags.empty();
  const Compiler compiler = MLC_TRY(Compiler::Open());
  const std::string report = std::filesystem::temp_directory_path() /
                             ("compile_bench." + std::to_string(getpid()) + ".csv");
  std::map<std::string, std::vector<const Cost*>> now, before;
  nlohmann::json rows = nlohmann::json::array();
  for (Measured& k : kernels) {
    for (int i = 0; i < flags.repeats; ++i) {
      if (compares) MLC_TRY(Compile(compiler, report, &k.before));
      MLC_TRY(Compile(compiler, report, &k.now));
    }
    for (const std::string& name : {k.family, std::string("all")}) {
      now[name].push_back(&k.now.cost);
      if (compares) before[name].push_back(&k.before.cost);
    }
    rows.push_back({{"subject", k.subject}, {"config", k.config}, {"now", ToJson(k.now.cost)}});
    if (compares) rows.back()["before"] = ToJson(k.before.cost);
  }
  std::filesystem::remove(report);
  std::printf("%-14s %8s %7s %10s %7s %7s %9s %8s %6s   (ms of CPU, means)\n", "  kernels",
              "source", "front", "optimiser", "ptxas", "total", "registers", "instr.", "spill");
  for (const auto& [name, costs] : now) {
    std::printf("%s\n", name.c_str());
    if (compares) Row("before", before[name]);
    Row("now", costs);
  }
  if (!flags.json.empty()) std::ofstream(flags.json) << rows.dump(1) << "\n";
  return Status();
}

}  // namespace
}  // namespace mlc

int main(int argc, char** argv) {
  mlc::Flags flags;
  for (const auto& [word, key, value, has_value] : mlc::bench::Arguments(argc, argv)) {
    if (key == "configs") {
      flags.configs = std::atoi(value.c_str());
    } else if (key == "repeats") {
      flags.repeats = std::atoi(value.c_str());
    } else if (key == "seed") {
      flags.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (key == "json") {
      flags.json = value;
    } else if (key == "dump") {
      flags.dump = value;
    } else if (key == "before") {
      flags.before = value;
    } else if (key == "before_flags") {
      flags.before_flags = value;
    } else {
      std::fprintf(stderr, "compile_bench: '%s'? See the head of its source.\n", word.c_str());
      return 64;
    }
  }
  const mlc::Status status = mlc::Run(flags);
  if (!status.ok()) std::fprintf(stderr, "compile_bench: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
