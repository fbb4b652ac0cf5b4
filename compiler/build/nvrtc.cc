#include "compiler/build/nvrtc.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/process/memory_failure.h"

namespace mlc::build {

namespace {

namespace fs = std::filesystem;

// The part of NVRTC's C interface that is used; it has been the same since CUDA 11.
extern "C" {
typedef struct NvrtcProgram* Program;
typedef int (*VersionFunction)(int*, int*);
typedef int (*CreateFunction)(Program*, const char* source, const char* name, int headers,
                              const char* const* texts, const char* const* names);
typedef int (*DestroyFunction)(Program*);
typedef int (*CompileFunction)(Program, int count, const char* const* options);
typedef int (*SizeFunction)(Program, size_t*);
typedef int (*BytesFunction)(Program, char*);
typedef const char* (*ErrorFunction)(int);
}

constexpr int kSuccess = 0;
constexpr int kOutOfMemory = 1;        // NVRTC_ERROR_OUT_OF_MEMORY
constexpr int kCompilationFailed = 6;  // NVRTC_ERROR_COMPILATION
constexpr size_t kMaxLog = 16384;

constexpr std::array<const char*, 2> kNames = {"libnvrtc.so.13", "libnvrtc.so.12"};
// Of a toolkit, of a folder of unpacked wheels.
constexpr std::array<const char*, 5> kFolders = {"lib64", "lib", "targets/x86_64-linux/lib",
                                                 "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

struct Functions {
  VersionFunction version = nullptr;
  CreateFunction create = nullptr;
  DestroyFunction destroy = nullptr;
  CompileFunction compile = nullptr;
  SizeFunction log_size = nullptr;
  BytesFunction log = nullptr;
  SizeFunction cubin_size = nullptr;
  BytesFunction cubin = nullptr;
  SizeFunction ptx_size = nullptr;
  BytesFunction ptx = nullptr;
  ErrorFunction error = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

bool FindAll(void* library, Functions* f) {
  return Find(library, "nvrtcVersion", &f->version) &&
         Find(library, "nvrtcCreateProgram", &f->create) &&
         Find(library, "nvrtcDestroyProgram", &f->destroy) &&
         Find(library, "nvrtcCompileProgram", &f->compile) &&
         Find(library, "nvrtcGetProgramLogSize", &f->log_size) &&
         Find(library, "nvrtcGetProgramLog", &f->log) &&
         Find(library, "nvrtcGetCUBINSize", &f->cubin_size) &&
         Find(library, "nvrtcGetCUBIN", &f->cubin) &&
         Find(library, "nvrtcGetPTXSize", &f->ptx_size) && Find(library, "nvrtcGetPTX", &f->ptx) &&
         Find(library, "nvrtcGetErrorString", &f->error);
}

// Where the loader found it.
std::string PathOf(void* library, const std::string& asked) {
  link_map* map = nullptr;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
  return known && map->l_name[0] != '\0' ? map->l_name : asked;
}

// Folders to look in, best first; the last entry stands for the loader's own search.
std::vector<std::string> PlacesToLook(const std::string& cuda_home) {
  std::vector<std::string> homes;
  if (!cuda_home.empty()) homes.push_back(cuda_home);
  homes.emplace_back("/usr/local/cuda");
  std::vector<std::string> versions;
  std::error_code ignored;
  for (fs::directory_iterator it("/usr/local", ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("cuda-")) versions.push_back(it->path().string());
  }
  std::sort(versions.rbegin(), versions.rend());
  homes.insert(homes.end(), versions.begin(), versions.end());
  std::vector<std::string> places;
  for (const std::string& home : homes) {
    for (const char* folder : kFolders) places.push_back(home + "/" + folder + "/");
  }
  places.emplace_back();
  return places;
}

// What the compiler opens by name when it compiles. A toolkit's finds it beside itself; the wheels'
// does not, but takes what the process has.
void OpenBuiltins(const std::string& library, const std::string& version) {
  const fs::path beside = fs::path(library).parent_path() / ("libnvrtc-builtins.so." + version);
  std::error_code ignored;
  if (fs::exists(beside, ignored)) (void)dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
}

class OpenedNvrtc : public Nvrtc {
 public:
  OpenedNvrtc(const Functions& functions, std::string path)
      : functions_(functions), path_(std::move(path)) {
    functions_.version(&major_, &minor_);
  }

  std::string version() const override {
    return std::to_string(major_) + "." + std::to_string(minor_);
  }
  std::string path() const override { return path_; }

  std::string options() const override {
    std::string text;
    for (const std::string& option : Options()) text += (text.empty() ? "" : " ") + option;
    return text;
  }

  Result<CudaBinary> Compile(const std::string& source, const std::string& arch) override {
    Program program = nullptr;
    const int created =
        functions_.create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
    if (created == kOutOfMemory) return NoMemory(arch, "");
    if (created != kSuccess) return Failed("nvrtcCreateProgram", created);
    Result<CudaBinary> binary = CompileProgram(program, arch);
    functions_.destroy(&program);
    return binary;
  }

 private:
  // Contraction of a product and a sum is allowed, as the tolerances allow it; nothing else that
  // changes results is. The compiler's own cache appeared in 12.9 and would hide what it costs.
  // ptxas at its level 3 takes twice as long over fragments that shared memory is read into, needs
  // a tenth more registers for them and spills where level 2 does not; the other code is the same.
  std::vector<std::string> Options() const {
    std::vector<std::string> options = {"--std=c++17",        "-default-device",
                                        "--fmad=true",        "--disable-warnings",
                                        "--ptxas-options=-v", "--ptxas-options=-O2"};
    // Leaves out textures and the like, whose declarations every compilation would read: 3 ms on
    // average.
    if (major_ >= 13) options.emplace_back("--minimal");
    if (major_ > 12 || (major_ == 12 && minor_ >= 9)) options.emplace_back("--no-cache");
    return options;
  }

  Status Failed(const char* call, int code) const {
    return Internal(std::string(call) + " of " + path_ + " failed: " + functions_.error(code));
  }

  static Status NoMemory(const std::string& arch, const std::string& log) {
    return ResourceExhausted("the CUDA compiler ran out of memory for " + arch +
                             (log.empty() ? "" : ": " + log.substr(0, kMaxLog)));
  }

  Result<std::string> Read(Program program, SizeFunction size_of, BytesFunction read) const {
    size_t size = 0;
    int code = size_of(program, &size);
    std::string bytes(size, '\0');
    if (code == kSuccess && size > 0) code = read(program, bytes.data());
    if (code != kSuccess) return Failed("reading the result", code);
    return bytes;
  }

  Result<CudaBinary> CompileProgram(Program program, const std::string& arch) const {
    std::vector<std::string> options = Options();
    options.push_back("--gpu-architecture=" + arch);
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int code =
        functions_.compile(program, static_cast<int>(pointers.size()), pointers.data());
    CudaBinary binary;
    binary.log = MLC_TRY(Read(program, functions_.log_size, functions_.log));
    while (!binary.log.empty() && (binary.log.back() == '\0' || binary.log.back() == '\n')) {
      binary.log.pop_back();
    }
    // It tells a lack of memory as an error of the source.
    if (code == kOutOfMemory || (code != kSuccess && ReportsOutOfMemory(binary.log))) {
      return NoMemory(arch, binary.log);
    }
    if (code == kCompilationFailed) {
      return InvalidArgument("the CUDA compiler refuses the source for " + arch + ": " +
                             binary.log.substr(0, kMaxLog));
    }
    if (code != kSuccess) return Failed("nvrtcCompileProgram", code).WithPrefix(arch);
    const bool ptx = arch.starts_with("compute_");
    binary.image = ptx ? MLC_TRY(Read(program, functions_.ptx_size, functions_.ptx))
                       : MLC_TRY(Read(program, functions_.cubin_size, functions_.cubin));
    if (ptx && !binary.image.empty() && binary.image.back() == '\0') binary.image.pop_back();
    ReadCompilerLog(&binary);
    return binary;
  }

  Functions functions_;
  std::string path_;
  int major_ = 0;
  int minor_ = 0;
};

}  // namespace

// The library stays loaded until the process ends: it keeps threads and state of its own.
Result<std::unique_ptr<Nvrtc>> Nvrtc::Open(const std::string& cuda_home) {
  std::string looked;
  for (const std::string& place : PlacesToLook(cuda_home)) {
    looked += (looked.empty() ? "" : ", ") + (place.empty() ? "the loader's path" : place);
    for (const char* name : kNames) {
      const std::string path = place + name;
      std::error_code ignored;
      if (!place.empty() && !fs::exists(path, ignored)) continue;
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      Functions functions;
      if (!FindAll(library, &functions)) {
        return FailedPrecondition(path + " is not NVRTC of CUDA 12 or 13");
      }
      auto nvrtc = std::make_unique<OpenedNvrtc>(functions, PathOf(library, path));
      OpenBuiltins(nvrtc->path(), nvrtc->version());
      return std::unique_ptr<Nvrtc>(std::move(nvrtc));
    }
  }
  return NotFound("no CUDA compiler: libnvrtc.so.13 or .12 is in none of " + looked +
                  "; install the CUDA toolkit 12 or 13, or pass --cuda-home build/cuda, where "
                  "deploy/setup.sh puts it");
}

Status WarmUp(Nvrtc& nvrtc) {
  return nvrtc.Compile("extern \"C\" __global__ void k() {}\n", "compute_80").status();
}

}  // namespace mlc::build
