"""What a kernel that wants out would try, from inside the children of a real worker that build and run: read a secret,
open a device, call somebody, multiply, take all memory. Families make no such kernels, so the calls are put in by ptrace."""
import errno
import os
import pathlib
import platform
import unittest

import hostile_test
import inside
import lab

AF_UNIX, AF_INET, STREAM = 1, 2, 1
AT_FDCWD = -100
SIGCHLD = 17
PROT_READ, MAP_PRIVATE_ANONYMOUS = 1, 0x22
RLIMIT_AS = 9
TIB = 1 << 40
DENIED = (-errno.EPERM, -errno.EACCES, -errno.ENOSYS)


def can_trace():
    return os.geteuid() == 0 and platform.machine() == "x86_64"


@unittest.skipUnless(can_trace(), "needs root and x86-64")
class EscapeTest(hostile_test.Children):
    def attempts(self, parent):
        """(what it is, the call, results that are fine)."""
        secret = str(self.folder / "secret").encode()
        stolen = str(self.folder / "stolen").encode()
        unlimited = b"\xff" * 16
        return [
            ("read a secret", ("open", secret, os.O_RDONLY), DENIED),
            ("read a secret by openat", ("openat", AT_FDCWD, secret, os.O_RDONLY), DENIED),
            ("read a secret by openat2", ("openat2", AT_FDCWD, secret, b"\0" * 24, 24), DENIED),
            ("write a file", ("open", stolen, os.O_CREAT | os.O_WRONLY, 0o600), DENIED),
            ("make a folder", ("mkdir", stolen, 0o700), DENIED),
            ("take a file away", ("unlink", secret), DENIED),
            ("rename a file", ("rename", secret, stolen), DENIED),
            ("open up a file", ("chmod", secret, 0o777), DENIED),
            ("open an endless device", ("open", b"/dev/zero", os.O_RDONLY), DENIED),
            ("look at a process", ("open", f"/proc/{parent}/mem".encode(), os.O_RDWR), DENIED),
            ("call over the network", ("socket", AF_INET, STREAM, 0), DENIED),
            ("call the server", ("socket", AF_UNIX, STREAM, 0), DENIED),
            ("fork", ("fork",), DENIED),
            ("vfork", ("vfork",), DENIED),
            ("clone", ("clone", SIGCHLD), DENIED),
            ("clone3", ("clone3", b"\0" * 88, 88), DENIED),
            ("start a program", ("execve", b"/bin/true", 0, 0), DENIED),
            ("signal its parent", ("kill", parent, 0), DENIED),
            ("trace its parent", ("ptrace", 16, parent), DENIED),
            ("read its parent", ("process_vm_readv", parent, 0, 0, 0, 0), DENIED),
            ("mount", ("mount", b"none", b"/tmp", b"tmpfs", 0, 0), DENIED),
            ("leave its namespaces", ("unshare", 0x10000000), DENIED),
            ("load a program into the kernel", ("bpf", 0, 0, 0), DENIED),
            ("use kernel keys", ("keyctl", 0), DENIED),
            ("use io_uring", ("io_uring_setup", 1, b"\0" * 120), DENIED),
            ("count events", ("perf_event_open", b"\0" * 112, 0, -1, -1, 0), DENIED),
            ("handle page faults", ("userfaultfd", 0), DENIED),
            ("raise a limit", ("prlimit64", 0, RLIMIT_AS, unlimited, 0), DENIED),
            ("take all memory", ("mmap", 0, TIB, PROT_READ, MAP_PRIVATE_ANONYMOUS, -1, 0), (-errno.ENOMEM,)),
        ]

    def try_all(self, child):
        """What got through, None if the child ended meanwhile: that is its right."""
        through = {}
        try:
            with inside.Inside(child.pid) as tried:
                for what, call, fine in self.attempts(child.parent):
                    result = tried.call(*call)
                    if result not in fine:
                        through[what] = result
        except (inside.Gone, OSError):
            return through or None
        return through

    def test_nothing_gets_out_of_a_build_or_a_run(self):
        (self.folder / "secret").write_text("keep me")
        caller = self.start_server(lease_ms=60_000)
        one = self.start_worker("one")
        tried = {"build": set(), "run": set()}

        def look():
            for child in self.leaves():
                kind = "run" if child.nice == -20 else "build"
                if len(tried[kind]) >= 2 or child.pid in tried[kind] or not child.sandboxed() or child.state == "T":
                    continue
                through = self.try_all(child)
                if through is None:
                    continue
                self.assertEqual(through, {}, f"from a child that is to {kind}")
                tried[kind].add(child.pid)
            return all(len(pids) >= 2 for pids in tried.values())

        self.watch(caller, look, "builds and runs to try it in")
        self.finish_all(caller)
        self.assertEqual((self.folder / "secret").read_text(), "keep me")
        self.assertFalse((self.folder / "stolen").exists())
        self.assertEqual(caller.line("one").state, lab.worker.READY)
        self.leave(one)
        self.check()

    def test_the_calls_are_really_made(self):
        """The same calls from a process without a sandbox: they succeed."""
        secret = self.folder / "secret"
        secret.write_text("keep me")
        free = self.start(["sleep", "60"])
        self.until(lambda: "libc.so" in pathlib.Path(f"/proc/{free.pid}/maps").read_text() and
                   hostile_test.Child(free.pid).state == "S", "the sleep")
        with inside.Inside(free.pid) as tried:
            self.assertGreaterEqual(tried.call("open", str(secret).encode(), os.O_RDONLY), 0)
            self.assertGreaterEqual(tried.call("socket", AF_INET, STREAM, 0), 0)
            self.assertEqual(tried.call("kill", os.getpid(), 0), 0)
            self.assertGreater(tried.call("mmap", 0, TIB, PROT_READ, MAP_PRIVATE_ANONYMOUS | 0x4000, -1, 0), 0)
            self.assertEqual(tried.call("open", b"/nowhere", os.O_RDONLY), -errno.ENOENT)
        self.assertIsNone(free.poll())


if __name__ == "__main__":
    lab.main()
