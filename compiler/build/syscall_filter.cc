#include "compiler/build/syscall_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlc::build {
namespace {

#if defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#endif

// Memory, threads, time, and descriptors held already.
constexpr long kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_lseek,
    SYS_ftruncate,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_getrusage,
    SYS_getrandom,
    SYS_ppoll,
    SYS_restart_syscall,
    SYS_gettimeofday,
    SYS_uname,
    SYS_sysinfo,
#if defined(__x86_64__)
    SYS_poll,
    SYS_arch_prctl,
#endif
};

// What no device driver's library needs.
constexpr long kForbidden[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_listen,
    SYS_accept4,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_io_uring_setup,
    SYS_pidfd_getfd,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_chown,
    SYS_accept,
#endif
};

constexpr uint32_t Low(int argument) {
  return offsetof(seccomp_data, args) + 8 * static_cast<uint32_t>(argument);
}

class Filter {
 public:
  void Load(uint32_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0); }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, action, 0, 0); }
  void ReturnIfEqual(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    Return(action);
  }
  void ReturnUnlessEqual(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    Return(action);
  }
  void SkipUnlessEqual(uint32_t value, uint8_t skip) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
  }
  void ReturnIfBit(uint32_t bits, uint32_t action) {
    Add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    Return(action);
  }
  std::vector<sock_filter>& code() { return code_; }

 private:
  void Add(uint16_t code, uint32_t k, uint8_t jt, uint8_t jf) {
    code_.push_back({code, jt, jf, k});
  }
  std::vector<sock_filter> code_;
};

constexpr uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;

// Threads, not processes. REQUIRES: the number of the call is loaded; it stays so.
void AllowThreads(Filter& filter) {
  // The C library falls back to clone, whose flags a filter can see.
  filter.ReturnIfEqual(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
  filter.SkipUnlessEqual(SYS_clone, 4);
  filter.Load(Low(0));
  filter.ReturnIfBit(CLONE_THREAD, SECCOMP_RET_ALLOW);
  filter.Return(kDeny);
}

Filter MakeFilter() {
  Filter filter;
  filter.Load(offsetof(seccomp_data, arch));
  filter.ReturnUnlessEqual(kArch, SECCOMP_RET_KILL_PROCESS);
  filter.Load(offsetof(seccomp_data, nr));
  for (long call : kAllowed) {
    filter.ReturnIfEqual(static_cast<uint32_t>(call), SECCOMP_RET_ALLOW);
  }
  AllowThreads(filter);
  // abort() signals its own process.
  filter.SkipUnlessEqual(SYS_tgkill, 4);
  filter.Load(Low(0));
  filter.ReturnIfEqual(static_cast<uint32_t>(getpid()), SECCOMP_RET_ALLOW);
  filter.Return(kDeny);
  // Limits can be read, not set.
  filter.SkipUnlessEqual(SYS_prlimit64, 6);
  filter.Load(Low(2));
  filter.SkipUnlessEqual(0, 3);
  filter.Load(Low(2) + 4);
  filter.ReturnIfEqual(0, SECCOMP_RET_ALLOW);
  filter.Return(kDeny);
  filter.Return(kDeny);  // every other call
  return filter;
}

Filter MakeDeviceFilter() {
  Filter filter;
  filter.Load(offsetof(seccomp_data, arch));
  filter.ReturnUnlessEqual(kArch, SECCOMP_RET_KILL_PROCESS);
  filter.Load(offsetof(seccomp_data, nr));
  for (long call : kForbidden) filter.ReturnIfEqual(static_cast<uint32_t>(call), kDeny);
  AllowThreads(filter);
  // Sockets to the driver's local services only.
  filter.SkipUnlessEqual(SYS_socket, 4);
  filter.Load(Low(0));
  filter.ReturnIfEqual(AF_UNIX, SECCOMP_RET_ALLOW);
  filter.Return(kDeny);
  for (long call : {SYS_kill, SYS_tgkill}) {
    filter.SkipUnlessEqual(static_cast<uint32_t>(call), 4);
    filter.Load(Low(0));
    filter.ReturnIfEqual(static_cast<uint32_t>(getpid()), SECCOMP_RET_ALLOW);
    filter.Return(kDeny);
  }
  filter.Return(SECCOMP_RET_ALLOW);
  return filter;
}

Status Install(Filter filter) {
  sock_fprog program = {static_cast<uint16_t>(filter.code().size()), filter.code().data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return Status();
  return Internal("the kernel refuses the seccomp filter");
}

}  // namespace

Status InstallSyscallFilter() { return Install(MakeFilter()); }
Status InstallDeviceSyscallFilter() { return Install(MakeDeviceFilter()); }

}  // namespace mlc::build
