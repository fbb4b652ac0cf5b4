#include "tests/conformance/sandbox/escapes.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace mlc::testing {
namespace {

// Of what succeeds with zero or more.
template <typename... Arguments>
int Try(long call, Arguments... arguments) {
  errno = 0;
  return syscall(call, arguments...) >= 0 ? 0 : errno;
}

int Open(const std::string& path, int flags) {
  return Try(SYS_openat, AT_FDCWD, path.c_str(), flags, 0600);
}

std::string Kept(const Victim& victim) { return victim.folder + "/kept"; }
std::string Made(const Victim& victim) { return victim.folder + "/made"; }

// `use` of a descriptor that reads the victim's file; what opening it gave if that fails.
int WithFile(const Victim& victim, const std::function<int(int)>& use) {
  const int file = open(Kept(victim).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int result = use(file);
  close(file);
  return result;
}

int WithSocket(int type, const std::function<int(int)>& use) {
  const int end = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (end < 0) return errno;
  const int result = use(end);
  close(end);
  return result;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

}  // namespace

std::vector<Escape> FileEscapes() {
  const auto path_call = [](long call, auto... rest) {
    return [=](const Victim& v) { return Try(call, AT_FDCWD, Kept(v).c_str(), rest...); };
  };
  return {
      {"write", [](const Victim& v) { return Open(Kept(v), O_WRONLY); }, EACCES, true},
      {"empty", [](const Victim& v) { return Open(Kept(v), O_RDONLY | O_TRUNC); }, EACCES, true},
      {"make", [](const Victim& v) { return Open(Made(v), O_CREAT | O_WRONLY); }, EACCES, true},
      {"make a nameless file", [](const Victim& v) { return Open(v.folder, O_TMPFILE | O_RDWR); },
       EACCES},
      {"openat2", path_call(SYS_openat2, nullptr, 0), ENOSYS},
      {"truncate", [](const Victim& v) { return Try(SYS_truncate, Kept(v).c_str(), 0); }, EPERM,
       true},
      {"fchmod",
       [](const Victim& v) { return WithFile(v, [](int f) { return Try(SYS_fchmod, f, 0777); }); },
       EPERM, true},
      {"fchmodat", path_call(SYS_fchmodat, 0777), EPERM, true},
      {"fchmodat2", path_call(452, 0777, 0), EPERM},
      {"fchownat", path_call(SYS_fchownat, getuid(), getgid(), 0), EPERM, true},
      {"utimensat", path_call(SYS_utimensat, nullptr, 0), EPERM, true},
      {"setxattr",
       [](const Victim& v) { return Try(SYS_setxattr, Kept(v).c_str(), "user.a", "b", 1, 0); },
       EPERM},
      {"make a folder",
       [](const Victim& v) { return Try(SYS_mkdirat, AT_FDCWD, (Made(v) + "d").c_str(), 0700); },
       EPERM, true},
      {"symlink",
       [](const Victim& v) {
         return Try(SYS_symlinkat, "kept", AT_FDCWD, (Made(v) + "s").c_str());
       },
       EPERM, true},
      {"link",
       [](const Victim& v) {
         return Try(SYS_linkat, AT_FDCWD, Kept(v).c_str(), AT_FDCWD, (Made(v) + "l").c_str(), 0);
       },
       EPERM, true},
      {"use another device", [](const Victim&) { return Open("/dev/full", O_RDWR); }, EACCES, true},
      {"read another device", [](const Victim&) { return Open("/dev/full", O_RDONLY); }, EACCES,
       true},
      {"read shared memory", [](const Victim& v) { return Open(v.shared, O_RDONLY); }, EACCES,
       true},
      {"write shared memory", [](const Victim& v) { return Open(v.shared, O_RDWR); }, EACCES, true},
      {"unlink", path_call(SYS_unlinkat, 0), EPERM, true},
  };
}

std::vector<Escape> SocketEscapes() {
  const auto connect_to = [](int type, const char* name) {
    return [=](const Victim& v) {
      return WithSocket(type, [&](int end) {
        const sockaddr_un address = AddressOf(v.folder + "/" + name);
        return Try(SYS_connect, end, &address, sizeof(address));
      });
    };
  };
  return {
      {"connect to a local server", connect_to(SOCK_STREAM, "stream"), ECONNREFUSED, true},
      {"connect to a local receiver", connect_to(SOCK_DGRAM, "datagrams"), EPERM, true},
      {"send from a pair",
       [](const Victim& v) {
         int ends[2];
         if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return errno;
         const sockaddr_un address = AddressOf(v.folder + "/datagrams");
         return Try(SYS_sendto, ends[0], "x", 1, 0, &address, sizeof(address));
       },
       EPERM, true},
      {"take a name",
       [](const Victim&) {
         return WithSocket(SOCK_STREAM, [](int end) {
           sockaddr_un address = AddressOf("");
           address.sun_path[1] = 'm';
           return Try(SYS_bind, end, &address, sizeof(address));
         });
       },
       EPERM, true},
      {"the network", [](const Victim&) { return Try(SYS_socket, AF_INET, SOCK_STREAM, 0); }, EPERM,
       true},
      {"netlink", [](const Victim&) { return Try(SYS_socket, AF_NETLINK, SOCK_RAW, 0); }, EPERM,
       true},
      {"packets", [](const Victim&) { return Try(SYS_socket, AF_PACKET, SOCK_RAW, 0); }, EPERM},
      {"share memory of System V",
       [](const Victim&) { return Try(SYS_shmget, IPC_PRIVATE, 4096, 0600); }, EPERM, true},
      {"queue of messages",
       [](const Victim&) {
         return Try(SYS_mq_open, "mlc-escape", O_CREAT | O_RDWR, 0600, nullptr);
       },
       EPERM},
  };
}

std::vector<Escape> ProcessEscapes() {
  const auto on_it = [](long call, auto... rest) {
    return [=](const Victim& v) { return Try(call, v.process, rest...); };
  };
  const auto read_of = [](const char* name) {
    return [=](const Victim& v) {
      return Open("/proc/" + std::to_string(v.process) + "/" + name, O_RDONLY);
    };
  };
  return {
      {"kill", on_it(SYS_kill, 0), EPERM, true},
      {"kill everybody", [](const Victim&) { return Try(SYS_kill, -1, 0); }, EPERM, true},
      {"kill its group", [](const Victim&) { return Try(SYS_kill, 0, 0); }, EPERM, true},
      {"tkill", on_it(SYS_tkill, 0), EPERM, true},
      {"tgkill", [](const Victim& v) { return Try(SYS_tgkill, v.process, v.process, 0); }, EPERM,
       true},
      {"rt_sigqueueinfo",
       [](const Victim& v) {
         siginfo_t info = {};
         info.si_code = SI_QUEUE;
         return Try(SYS_rt_sigqueueinfo, v.process, 0, &info);
       },
       EPERM, true},
      {"rt_tgsigqueueinfo",
       [](const Victim& v) {
         siginfo_t info = {};
         info.si_code = SI_QUEUE;
         return Try(SYS_rt_tgsigqueueinfo, v.process, v.process, 0, &info);
       },
       EPERM, true},
      {"pidfd_open", on_it(SYS_pidfd_open, 0), EPERM, true},
      {"pidfd_send_signal",
       [](const Victim&) { return Try(SYS_pidfd_send_signal, -1, 0, nullptr, 0); }, EPERM},
      {"own a descriptor's signals",
       [](const Victim& v) { return Try(SYS_fcntl, STDIN_FILENO, F_SETOWN, v.process); }, EPERM,
       true},
      {"set a descriptor's signal",
       [](const Victim&) { return Try(SYS_fcntl, STDIN_FILENO, F_SETSIG, SIGKILL); }, EPERM, true},
      {"own a socket's signals",
       [](const Victim& v) {
         int ends[2];
         if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
         return Try(SYS_ioctl, ends[0], FIOSETOWN, &v.process);
       },
       EPERM, true},
      {"type on the terminal",
       [](const Victim&) { return Try(SYS_ioctl, STDIN_FILENO, TIOCSTI, "x"); }, EPERM},
      {"limits of others",
       [](const Victim& v) {
         rlimit limit = {};
         return Try(SYS_prlimit64, v.process, RLIMIT_CORE, nullptr, &limit);
       },
       EPERM, true},
      {"CPUs of others",
       [](const Victim& v) {
         cpu_set_t all;
         std::memset(&all, 0xff, sizeof(all));
         return Try(SYS_sched_setaffinity, v.process, sizeof(all), &all);
       },
       EPERM, true},
      {"scheduling of others",
       [](const Victim& v) {
         const sched_param param = {};
         return Try(SYS_sched_setscheduler, v.process, SCHED_OTHER, &param);
       },
       EPERM, true},
      {"priority of others",
       [](const Victim& v) { return Try(SYS_setpriority, PRIO_PROCESS, v.process, 0); }, EPERM,
       true},
      // Not to attach, which would stop the test.
      {"ptrace", [](const Victim& v) { return Try(SYS_ptrace, 2, v.process, 0, 0); }, EPERM},
      {"read memory of others",
       [](const Victim& v) {
         return Try(SYS_process_vm_readv, v.process, nullptr, 0, nullptr, 0, 0);
       },
       EPERM, true},
      {"kcmp", [](const Victim& v) { return Try(SYS_kcmp, v.process, v.process, 0, 0, 1); }, EPERM},
      {"open memory of others", read_of("mem"), EACCES, true},
      {"read the environment of others", read_of("environ"), EACCES, true},
      {"outlive its parent", [](const Victim&) { return Try(SYS_prctl, PR_SET_PDEATHSIG, 0); },
       EPERM, true},
  };
}

std::vector<Escape> KernelEscapes() {
  const auto call = [](long number, auto... rest) {
    return [=](const Victim&) { return Try(number, rest...); };
  };
  // One that succeeds leaves no second test behind.
  const auto multiply = [](auto... arguments) {
    return [=](const Victim&) {
      const long child = syscall(arguments...);
      if (child == 0) _exit(0);
      return child > 0 ? 0 : errno;
    };
  };
  return {
      {"clone", multiply(SYS_clone, SIGCHLD, 0, 0, 0, 0), EPERM, true},
      {"clone3", call(SYS_clone3, nullptr, 0), ENOSYS},
      {"execve", call(SYS_execve, "/bin/nothing", nullptr, nullptr), EPERM},
      {"execveat", call(SYS_execveat, AT_FDCWD, "/bin/nothing", nullptr, nullptr, 0), EPERM},
      {"mount", call(SYS_mount, "none", "/nowhere", "tmpfs", 0, nullptr), EPERM},
      {"open_tree", call(SYS_open_tree, AT_FDCWD, "/", 0), EPERM, true},
      {"unshare", call(SYS_unshare, CLONE_NEWUTS), EPERM, true},
      {"setns", call(SYS_setns, -1, 0), EPERM},
      {"bpf", call(SYS_bpf, 0, nullptr, 0), EPERM},
      {"keyctl", call(SYS_keyctl, 0, 0), EPERM},
      {"io_uring", call(SYS_io_uring_setup, 1, nullptr), EPERM},
      {"count events", call(SYS_perf_event_open, nullptr, 0, -1, -1, 0), EPERM},
      {"handle page faults", call(SYS_userfaultfd, 0), EPERM},
      {"read the kernel's messages", call(SYS_syslog, 10, nullptr, 0), EPERM},
      {"a call of tomorrow", call(463 + 100), ENOSYS},
  };
}

std::vector<long> ForbiddenCalls() {
  return {SYS_execve,
          SYS_ptrace,
          SYS_connect,
          SYS_bind,
          SYS_socket,
          SYS_kill,
          SYS_tkill,
          SYS_tgkill,
          SYS_prlimit64,
          SYS_unlinkat,
          SYS_truncate,
          SYS_fchmod,
          SYS_openat,
          SYS_openat2,
          SYS_mount,
          SYS_clone,
          SYS_clone3,
          SYS_setns,
          SYS_fchmodat,
          SYS_keyctl,
          SYS_pidfd_open,
          SYS_shmget,
          SYS_process_vm_writev,
          SYS_getpid,
          SYS_renameat2,
          SYS_rt_sigqueueinfo};
}

}  // namespace mlc::testing
