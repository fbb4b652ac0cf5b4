// What a child that runs a C compiler must not call. Compilers start processes and make files, so
// this is a list of what is forbidden; Landlock, which such a child always has, keeps it to the
// files of the system and one folder.
#include <sys/syscall.h>

#include "base/sandbox/deny_list.h"

namespace mlc::build {
namespace {

// Beside those of BeginDenyList: a compiler needs no other process, and no socket.
constexpr long kForbidden[] = {
    SYS_kill,          SYS_tgkill,  SYS_sched_setaffinity, SYS_sched_setscheduler,
    SYS_sched_setattr, SYS_socket,  SYS_socketpair,        SYS_connect,
    SYS_sendto,        SYS_sendmsg,
};

}  // namespace

Filter MakeCompilerFilter() {
  Filter filter = BeginDenyList();
  for (const long call : kForbidden) filter.ReturnIfEqual(static_cast<uint32_t>(call), kDeny);
  filter.Return(SECCOMP_RET_ALLOW);
  return filter;
}

}  // namespace mlc::build
