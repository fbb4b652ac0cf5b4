// What a child that drives a device must not call. A driver may make any call: so this is a list of
// what is forbidden, where the other sandbox has one of what is allowed. Landlock, which such a
// child always has, keeps it from writing and executing files; here is what landlock does not see
// (of some versions), and what reaches other processes.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sandbox/deny_list.h"

namespace mlc::build {
namespace {

// Which the headers of a supported system need not have.
constexpr long kFchmodat2 = 452;

// Beside those of BeginDenyList.
constexpr long kForbidden[] = {
    // Programs.
    SYS_execve,
    SYS_execveat,
    // Names, owners, modes, times and sizes of files.
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_fchmodat,
    kFchmodat2,
    SYS_fchmod,
    SYS_fchownat,
    SYS_fchown,
    SYS_utimensat,
    SYS_truncate,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_unlink,
    SYS_rmdir,
    SYS_rename,
    SYS_renameat,
    SYS_link,
    SYS_symlink,
    SYS_mkdir,
    SYS_mknod,
    SYS_creat,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};

constexpr uint32_t kSocketTypeBits = 0xf;

// Connected sockets of local streams only. The others can be sent to an address.
void AllowLocalStreams(Filter& filter) {
  for (const long call : {SYS_socket, SYS_socketpair}) {
    filter.For(call, [](Filter& rules) {
      rules.Load(Low(0));
      rules.ReturnUnlessEqual(AF_UNIX, kDeny);
      rules.Load(Low(1));
      rules.Mask(kSocketTypeBits);
      rules.ReturnIfEqual(SOCK_STREAM, SECCOMP_RET_ALLOW);
      rules.ReturnIfEqual(SOCK_SEQPACKET, SECCOMP_RET_ALLOW);
      rules.Return(kDeny);
    });
  }
  // As if no process listened: libraries then do without the service.
  filter.ReturnIfEqual(SYS_connect, Refuse(ECONNREFUSED));
}

// Nothing is made, and nothing made empty, which some versions of landlock let pass.
void RestrictOpening(Filter& filter) {
  const auto flags_at = [](int at) {
    return [at](Filter& rules) {
      rules.Load(Low(at));
      rules.ReturnIfBit(O_CREAT | O_TRUNC, Refuse(EACCES));
      rules.Return(SECCOMP_RET_ALLOW);
    };
  };
  filter.For(SYS_openat, flags_at(2));
#if defined(__x86_64__)
  filter.For(SYS_open, flags_at(1));
#endif
  // Its flags are out of a filter's sight.
  filter.ReturnIfEqual(SYS_openat2, Refuse(ENOSYS));
}

// It dies with its parent.
void KeepDeathSignal(Filter& filter) {
  filter.For(SYS_prctl, [](Filter& rules) {
    rules.Load(Low(0));
    rules.ReturnIfEqual(PR_SET_PDEATHSIG, kDeny);
    rules.Return(SECCOMP_RET_ALLOW);
  });
}

}  // namespace

Filter MakeDeviceFilter() {
  Filter filter = BeginDenyList();
  for (const long call : kForbidden) filter.ReturnIfEqual(static_cast<uint32_t>(call), kDeny);
  AllowThreads(filter);
  AllowLocalStreams(filter);
  RestrictOpening(filter);
  KeepDeathSignal(filter);
  for (const long call : {SYS_kill, SYS_tgkill}) AllowOnItself(filter, call, false);
  for (const long call :
       {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
        SYS_sched_setattr, SYS_move_pages, SYS_migrate_pages}) {
    AllowOnItself(filter, call, true);
  }
  filter.Return(SECCOMP_RET_ALLOW);
  return filter;
}

}  // namespace mlc::build
