// What a child that runs a C compiler must not call. Compilers start processes and make files, so
// this is a list of what is forbidden; Landlock, which such a child always has, keeps it to the
// files of the system and one folder.
#include <sys/syscall.h>

#include "base/sandbox/filter_program.h"

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
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setaffinity,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
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
    // Sockets and shared memory.
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
#if defined(__x86_64__)
    SYS_modify_ldt,
#endif
};

}  // namespace

Filter MakeCompilerFilter() {
  Filter filter;
  Begin(filter);
#if defined(__x86_64__)
  filter.ReturnIfBit(kX32Bit, kDeny);
#endif
  filter.ReturnIfAbove(kNewestCall, Refuse(ENOSYS));
  for (const long call : kForbidden) filter.ReturnIfEqual(static_cast<uint32_t>(call), kDeny);
  filter.Return(SECCOMP_RET_ALLOW);
  return filter;
}

}  // namespace mlc::build
