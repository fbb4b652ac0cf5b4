#include "compiler/build/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "compiler/build/syscall_filter.h"

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
uint64_t FileRights(int abi) {
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (abi >= 2) rights |= uint64_t{1} << 13;  // refer
  if (abi >= 3) rights |= uint64_t{1} << 14;  // truncate
  if (abi >= 5) rights |= uint64_t{1} << 15;  // ioctl of devices
  return rights;
}

constexpr uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// What lies below `path` may be used with these rights. A path that is not there needs no rule.
void Allow(int rules, const char* path, uint64_t rights) {
  landlock_path_beneath_attr below = {};
  below.allowed_access = rights;
  below.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (below.parent_fd < 0) return;
  (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
  close(below.parent_fd);
}

Status RestrictFiles(int abi, Limits::Fence fence) {
  landlock_ruleset_attr attributes = {};
  attributes.handled_access_fs = FileRights(abi);
  const auto rules =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(uint64_t), 0));
  if (rules < 0) return Internal(std::string("landlock: ") + strerror(errno));
  if (fence == Limits::Fence::kDevice) {
    Allow(rules, "/", kReading);
    const uint64_t devices = kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | (uint64_t{1} << 15);
    Allow(rules, "/dev", devices & FileRights(abi));
  }
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

Status EnterSandbox(const Limits& limits) {
  MLC_TRY(SetLimits(limits));
  if (!limits.sandbox || kSanitized) return Status();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Internal("no_new_privs is refused");
  const int abi = DetectSandbox().landlock_abi;
  if (abi > 0) MLC_TRY(RestrictFiles(abi, limits.fence));
  DropCapabilities();
  return limits.fence == Limits::Fence::kDevice ? InstallDeviceSyscallFilter()
                                                : InstallSyscallFilter();
}

}  // namespace mlc::build
