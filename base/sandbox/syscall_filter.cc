#include "base/sandbox/syscall_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/sandbox/filter_program.h"

namespace mlc::build {
namespace {

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

Filter MakeFilter() {
  Filter filter;
  Begin(filter);
  for (long call : kAllowed) {
    filter.ReturnIfEqual(static_cast<uint32_t>(call), SECCOMP_RET_ALLOW);
  }
  AllowThreads(filter);
  // abort() signals its own process; a thread chooses its own CPUs.
  AllowOnItself(filter, SYS_tgkill, false);
  AllowOnItself(filter, SYS_sched_setaffinity, true);
  // Its own limits can be read, not set.
  filter.For(SYS_prlimit64, [](Filter& rules) {
    rules.Load(Low(0));
    rules.ReturnUnlessEqual(0, kDeny);
    rules.Load(Low(2));
    rules.ReturnUnlessEqual(0, kDeny);
    rules.Load(Low(2) + 4);
    rules.ReturnUnlessEqual(0, kDeny);
    rules.Return(SECCOMP_RET_ALLOW);
  });
  filter.Return(kDeny);  // every other call
  return filter;
}

Status Refused() {
  return Internal(std::string("the kernel refuses the seccomp filter: ") + std::strerror(errno));
}

Status Install(Filter filter) {
  sock_fprog program = {static_cast<uint16_t>(filter.code().size()), filter.code().data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return Status();
  return Refused();
}

}  // namespace

void Begin(Filter& filter) {
  filter.Load(offsetof(seccomp_data, arch));
  filter.ReturnUnlessEqual(kArch, SECCOMP_RET_KILL_PROCESS);
  filter.Load(offsetof(seccomp_data, nr));
}

void AllowThreads(Filter& filter) {
  // The C library falls back to clone, whose flags a filter can see.
  filter.ReturnIfEqual(SYS_clone3, Refuse(ENOSYS));
  filter.For(SYS_clone, [](Filter& rules) {
    rules.Load(Low(0));
    rules.ReturnIfBit(CLONE_THREAD, SECCOMP_RET_ALLOW);
    rules.Return(kDeny);
  });
}

void AllowOnItself(Filter& filter, long call, bool zero_is_itself) {
  filter.For(call, [&](Filter& rules) {
    rules.Load(Low(0));
    if (zero_is_itself) rules.ReturnIfEqual(0, SECCOMP_RET_ALLOW);
    rules.ReturnIfEqual(static_cast<uint32_t>(getpid()), SECCOMP_RET_ALLOW);
    rules.Return(kDeny);
  });
}

Status InstallSyscallFilter() { return Install(MakeFilter()); }

Status InstallDeviceSyscallFilter() {
  Filter filter = MakeDeviceFilter();
  sock_fprog program = {static_cast<uint16_t>(filter.code().size()), filter.code().data()};
  // Of all threads: the driver has been started, and has made some.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) {
    return Status();
  }
  return Refused();
}

Status InstallCompilerSyscallFilter() { return Install(MakeCompilerFilter()); }

}  // namespace mlc::build
