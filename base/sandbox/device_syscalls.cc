// What a child that drives a device must not call. A driver may make any call: so this is a list of
// what is forbidden, where the other sandbox has one of what is allowed. Landlock, which such a
// child always has, keeps it from writing and executing files; here is what landlock does not see
// (of some versions), and what reaches other processes.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sandbox/filter_program.h"

namespace mlc::build {
namespace {

// Numbers of x32 name the same calls a second time.
constexpr uint32_t kX32Bit = 0x40000000;
// The last call that this list knows; C libraries take ENOSYS of a later one as an older kernel.
constexpr uint32_t kNewestCall = 462;
// Which the headers of a supported system need not have.
constexpr long kFchmodat2 = 452;

constexpr long kForbidden[] = {
    // Programs and processes.
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_kcmp,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_perf_event_open,
    SYS_userfaultfd,
    // Namespaces, mounts, the kernel itself.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    // Whom a socket or a queue would reach.
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
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
    SYS_open_by_handle_at,
    SYS_fanotify_init,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_modify_ldt,
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

// Of fcntl: signals to others by way of a descriptor, and leases. Locks stay, which drivers take.
constexpr int kForbiddenControls[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY};

// Of ioctl: keys pressed on a terminal, the same signals.
constexpr uint32_t kTiocLinux = 0x541c;
constexpr uint32_t kForbiddenRequests[] = {TIOCSTI, kTiocLinux, FIOSETOWN, SIOCSPGRP};

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

void RestrictControls(Filter& filter) {
  filter.For(SYS_fcntl, [](Filter& rules) {
    rules.Load(Low(1));
    for (const int control : kForbiddenControls) {
      rules.ReturnIfEqual(static_cast<uint32_t>(control), kDeny);
    }
    rules.Return(SECCOMP_RET_ALLOW);
  });
  // It dies with its parent.
  filter.For(SYS_prctl, [](Filter& rules) {
    rules.Load(Low(0));
    rules.ReturnIfEqual(PR_SET_PDEATHSIG, kDeny);
    rules.Return(SECCOMP_RET_ALLOW);
  });
  filter.For(SYS_ioctl, [](Filter& rules) {
    rules.Load(Low(1));
    for (const uint32_t request : kForbiddenRequests) rules.ReturnIfEqual(request, kDeny);
    rules.Return(SECCOMP_RET_ALLOW);
  });
}

}  // namespace

Filter MakeDeviceFilter() {
  Filter filter;
  Begin(filter);
#if defined(__x86_64__)
  filter.ReturnIfBit(kX32Bit, kDeny);
#endif
  filter.ReturnIfAbove(kNewestCall, Refuse(ENOSYS));
  for (const long call : kForbidden) filter.ReturnIfEqual(static_cast<uint32_t>(call), kDeny);
  AllowThreads(filter);
  AllowLocalStreams(filter);
  RestrictOpening(filter);
  RestrictControls(filter);
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
