#include "base/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/sandbox/syscall_filter.h"

namespace mlc::build {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers reserve terabytes of address space and read /proc.
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// A limit cannot rise above what the process has already. Some are announced by a signal, which the
// hard limit, so much higher, would forestall.
Status SetLimit(int resource, int64_t value, rlim_t grace = 0) {
  rlimit limit;
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
    return Internal("getrlimit");
  const rlim_t most = limit.rlim_max;  // RLIM_INFINITY is the highest number
  limit.rlim_cur = std::min(static_cast<rlim_t>(value), most);
  limit.rlim_max = std::min(limit.rlim_cur + grace, most);
  if (setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0) return Status();
  return Internal(std::string("setrlimit: ") + strerror(errno));
}

// Of the calling process.
Result<int64_t> MappedBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  if (!(file >> pages)) return Internal("/proc/self/statm tells no size");
  return pages * sysconf(_SC_PAGESIZE);
}

Status SetLimits(const Limits& limits) {
  MLC_TRY(SetLimit(RLIMIT_CORE, 0));
  MLC_TRY(SetLimit(RLIMIT_NOFILE, limits.open_files));
  MLC_TRY(SetLimit(RLIMIT_FSIZE, limits.file_bytes));
  MLC_TRY(SetLimit(RLIMIT_CPU, limits.cpu_seconds, /*grace=*/1));
  if (kSanitized) return Status();
  if (limits.memory_bytes == 0) return Status();
  return SetLimit(RLIMIT_AS, limits.memory_bytes + MLC_TRY(MappedBytes()));
}

void DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  (void)syscall(SYS_capset, &header, none);
}

// The rights that the kernel's landlock knows; each ABI added some.
constexpr uint64_t kTruncate = uint64_t{1} << 14;
constexpr uint64_t kDeviceControl = uint64_t{1} << 15;
uint64_t FileRights(int abi) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (abi >= 2) rights |= uint64_t{1} << 13;  // refer
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kDeviceControl;
  return rights;
}

// As the kernel has it today; older headers end after the first.
struct RuleSetAttributes {
  uint64_t files = 0;
  uint64_t network = 0;
  uint64_t scoped = 0;
};
constexpr int kScopingAbi = 6;
// Abstract local sockets and signals of processes outside.
constexpr uint64_t kScopes = 3;

constexpr uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                              LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kDeviceControl;
constexpr uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// What lies below `path` may be used with these rights. A path that is not there needs no rule.
void Allow(int rules, const std::string& path, uint64_t rights) {
  landlock_path_beneath_attr below = {};
  below.parent_fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (below.parent_fd < 0) return;
  struct stat found = {};
  const bool folder = fstat(below.parent_fd, &found) == 0 && S_ISDIR(found.st_mode);
  below.allowed_access = folder ? rights : rights & kOfFiles;
  (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
  close(below.parent_fd);
}

std::vector<std::string> NamesIn(const char* folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

// A driver reads files of the system, and uses its devices. Of what else is in /dev, disks,
// terminals, and memory that others share, it gets nothing.
void AllowDriver(int rules, int abi) {
  for (const std::string& name : NamesIn("/")) {
    if (name != "dev") Allow(rules, "/" + name, kReading);
  }
  Allow(rules, "/", LANDLOCK_ACCESS_FS_READ_DIR);
  for (const char* source : {"/dev/random", "/dev/urandom"}) Allow(rules, source, kReading);
  const uint64_t use =
      (kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | kDeviceControl) & FileRights(abi);
  for (const char* device : {"/dev/null", "/dev/zero"}) Allow(rules, device, use);
  for (const std::string& name : NamesIn("/dev")) {
    if (name.starts_with("nvidia")) Allow(rules, "/dev/" + name, use);
  }
}

// A C compiler and its parts are installed files, and so are the headers that it reads.
void AllowCompiler(int rules, int abi, const std::string& scratch) {
  for (const char* folder : {"/usr", "/bin", "/lib", "/lib64"}) {
    Allow(rules, folder, kReading | LANDLOCK_ACCESS_FS_EXECUTE);
  }
  for (const char* file : {"/etc/ld.so.cache", "/dev/null", "/dev/urandom"}) {
    Allow(rules, file, kReading | LANDLOCK_ACCESS_FS_WRITE_FILE);
  }
  if (!scratch.empty()) {
    Allow(rules, scratch,
          (kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
           LANDLOCK_ACCESS_FS_REMOVE_FILE | kTruncate) &
              FileRights(abi));
  }
}

Status RestrictFiles(int abi, const Limits& limits) {
  const Limits::SandboxKind kind = limits.sandbox_kind;
  RuleSetAttributes attributes;
  attributes.files = FileRights(abi);
  const bool scopes = abi >= kScopingAbi && kind != Limits::SandboxKind::kCompute;
  if (scopes) attributes.scoped = kScopes;
  const auto rules =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes,
                               scopes ? sizeof(attributes) : sizeof(attributes.files), 0));
  if (rules < 0) return Internal(std::string("landlock: ") + strerror(errno));
  if (kind == Limits::SandboxKind::kDevice) AllowDriver(rules, abi);
  if (kind == Limits::SandboxKind::kCompiler) AllowCompiler(rules, abi, limits.scratch);
  const long result = syscall(SYS_landlock_restrict_self, rules, 0);
  close(rules);
  return result == 0 ? Status() : Internal(std::string("landlock: ") + strerror(errno));
}

constexpr int kFirstFree = 3;

}  // namespace

void CloseDescriptorsBut(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  int from = kFirstFree;
  for (int fd : keep) {
    if (fd > from) (void)close_range(static_cast<unsigned>(from), static_cast<unsigned>(fd - 1), 0);
    from = std::max(from, fd + 1);
  }
  (void)close_range(static_cast<unsigned>(from), ~0U, 0);
}

SandboxSupport DetectSandbox() {
  SandboxSupport support;
  if (kSanitized) return support;
  support.seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  support.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
  return support;
}

std::string SandboxSupport::ToText() const {
  return std::string(seccomp ? "seccomp" : "no-seccomp") +
         " landlock=" + std::to_string(landlock_abi);
}

Status CanSandbox(Limits::SandboxKind kind) {
  if (kSanitized) return Status();
  const SandboxSupport support = DetectSandbox();
  if (!support.seccomp) {
    return Status(StatusCode::kPermissionDenied,
                  "this Linux kernel has no seccomp: kernels of a server cannot be sandboxed");
  }
  if (kind == Limits::SandboxKind::kCompute || support.landlock_abi > 0) return Status();
  if (kind == Limits::SandboxKind::kCompiler) {
    return Status(StatusCode::kPermissionDenied,
                  "this kernel has no landlock: a C compiler could read every file of its user. "
                  "Boot Linux 5.13 or newer with landlock among its security modules "
                  "(lsm=landlock,..., see /sys/kernel/security/lsm)");
  }
  return Status(
      StatusCode::kPermissionDenied,
      "this kernel has no landlock: a process that drives a GPU could write every file of "
      "its user. Boot Linux 5.13 or newer with landlock among its security modules "
      "(lsm=landlock,..., see /sys/kernel/security/lsm)");
}

Status EnterSandbox(const Limits& limits) {
  MLC_TRY(SetLimits(limits));
  if (!limits.sandbox || kSanitized) return Status();
  MLC_TRY(CanSandbox(limits.sandbox_kind));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Internal("no_new_privs is refused");
  const int abi = DetectSandbox().landlock_abi;
  if (abi > 0) MLC_TRY(RestrictFiles(abi, limits));
  DropCapabilities();
  switch (limits.sandbox_kind) {
    case Limits::SandboxKind::kDevice:
      return InstallDeviceSyscallFilter();
    case Limits::SandboxKind::kCompiler:
      return InstallCompilerSyscallFilter();
    case Limits::SandboxKind::kCompute:
      break;
  }
  return InstallSyscallFilter();
}

}  // namespace mlc::build
