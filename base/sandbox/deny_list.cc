#include "base/sandbox/deny_list.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace mlc::build {
namespace {

// Numbers of x32 name the same calls a second time.
constexpr uint32_t kX32Bit = 0x40000000;
// The last call that this list knows; C libraries take ENOSYS of a later one as an older kernel.
constexpr uint32_t kNewestCall = 462;

constexpr long kForbidden[] = {
    // Other processes.
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
    // Whom a socket, a queue or a handle would reach.
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
    SYS_open_by_handle_at,
    SYS_fanotify_init,
#if defined(__x86_64__)
    SYS_modify_ldt,
#endif
};

// Of fcntl: signals to others by way of a descriptor, and leases. Locks stay, which drivers take.
constexpr int kForbiddenControls[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY};

// Of ioctl: keys pressed on a terminal, the same signals.
constexpr uint32_t kTiocLinux = 0x541c;
constexpr uint32_t kForbiddenRequests[] = {TIOCSTI, kTiocLinux, FIOSETOWN, SIOCSPGRP};

// Signals to other processes through descriptors, and keys for terminals.
void RestrictControls(Filter& filter) {
  filter.For(SYS_fcntl, [](Filter& rules) {
    rules.Load(Low(1));
    for (const int control : kForbiddenControls) {
      rules.ReturnIfEqual(static_cast<uint32_t>(control), kDeny);
    }
    rules.Return(SECCOMP_RET_ALLOW);
  });
  filter.For(SYS_ioctl, [](Filter& rules) {
    rules.Load(Low(1));
    for (const uint32_t request : kForbiddenRequests) rules.ReturnIfEqual(request, kDeny);
    rules.Return(SECCOMP_RET_ALLOW);
  });
}

}  // namespace

Filter BeginDenyList() {
  Filter filter;
  Begin(filter);
#if defined(__x86_64__)
  filter.ReturnIfBit(kX32Bit, kDeny);
#endif
  filter.ReturnIfAbove(kNewestCall, Refuse(ENOSYS));
  for (const long call : kForbidden) filter.ReturnIfEqual(static_cast<uint32_t>(call), kDeny);
  RestrictControls(filter);
  return filter;
}

}  // namespace mlc::build
