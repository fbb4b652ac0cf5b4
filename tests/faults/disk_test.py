"""A full disk, and a file at its limit, under the server: refused in words, read as before, and going on by itself when there
is space again."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import lab

MIB = 1 << 20


def mount(folder, mib):
    """A small file system; None if this system does not let us."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "mlc-faults", str(folder)], capture_output=True,
                          check=False)
    return made.returncode == 0


def own_mounts():
    """A mount namespace for this process: what it mounts, nobody else sees, and it goes with it."""
    clone_newns, private = 0x00020000, 1 << 18 | 1 << 14
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(clone_newns) != 0:
        return False
    return libc.mount(None, b"/", None, ctypes.c_ulong(private), None) == 0


class Fullness:
    """What every kind of full disk has to look like from outside, and afterwards."""

    def begin(self, *flags):
        self.caller = self.start_server(*flags, lease_ms=60_000)
        self.raw = lab.RawWorker(self.address, "raw", self.target())
        self.raw.start()
        self.job = self.submit(self.caller, 20_000, self.target(), sizes=(16, 24, 40, 56))
        self.until(lambda: len(self.raw.acknowledged) >= 64, "the first results")
        self.assertEqual(self.caller.serving("mlc.proto.Workers"), 1)

    def refuses(self):
        caller, job = self.caller, self.job
        self.until(lambda: self.raw.errors, "a refusal")
        self.until(lambda: caller.serving("mlc.proto.Workers") == 2, "the state NOT_SERVING of the log")
        code, words = self.raw.errors[-1]
        self.assertEqual(code, lab.grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("disk", words)
        # Whoever reads is answered, and told the truth.
        summary = caller.call("Tuner", "GetJob", lab.tuner.GetJobRequest(job=job)).summary
        self.assertEqual(summary.state, lab.tuner.RUNNING)
        with self.assertRaises(lab.grpc.RpcError) as watching:
            caller.progress(job)
        self.assertIn("results cannot be kept", watching.exception.details())
        digest = self.rows("SELECT lower(hex(key)) FROM workload ORDER BY id LIMIT 1")[0][0]
        best = caller.call("Tuner", "Best", lab.tuner.BestRequest(workloads=[digest], target=self.target()))
        self.assertEqual(len(best.best), 1)
        self.assertEqual(caller.serving("mlc.proto.Tuner"), 1)
        # New jobs are not taken, with the reason.
        with self.assertRaises(lab.grpc.RpcError) as refused:
            self.submit(caller, 8, self.target(), sizes=(72,))
        self.assertEqual(refused.exception.code(), lab.grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("disk", refused.exception.details())
        self.stuck = len(self.raw.acknowledged)
        self.assertGreater(len(self.raw.results), 0)

    def goes_on(self):
        self.until(lambda: len(self.raw.acknowledged) >= self.stuck + 64, "results after the disk has space")
        self.until(lambda: self.caller.serving("mlc.proto.Workers") == 1, "the state SERVING of the log")
        # The whole job would take long, or not fit: it ends here.
        self.caller.call("Tuner", "CancelJob", lab.tuner.CancelJobRequest(job=self.job))
        self.jobs.pop(self.job)
        self.raw.stop()
        self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])
        self.check([self.raw])


@unittest.skipUnless(own_mounts(), "needs root and a kernel that lets us make mount namespaces")
class DiskTest(Fullness, lab.Lab):
    def test_a_full_disk_refuses_and_goes_on_when_there_is_space(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if not mount(disk, 8):
            self.skipTest("this system mounts nothing")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        self.log = disk / "tuning.db"
        said = disk / "server.log"
        self.begin("--log-file", said)

        # The disk fills up by somebody else's doing, to the last byte.
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        for step in (4096, 1):
            try:
                while True:
                    os.write(filler, b"x" * step)
            except OSError:
                pass
        self.refuses()
        # What the server has to say finds no space either, sooner or later.
        self.until(lambda: self.say_something(said) == 0, "a message that is lost")

        os.ftruncate(filler, 0)
        os.close(filler)
        self.goes_on()
        self.assertIn("messages were lost: No space left on device", said.read_text())

    def say_something(self, said):
        """Bytes that the server's messages grow by when there is one more: of a call that is refused."""
        before = said.stat().st_size
        with self.assertRaises(lab.grpc.RpcError):
            self.caller.call("Workers", "Synchronize", lab.worker.SynchronizeRequest(protocol=1, worker="nobody"))
        return said.stat().st_size - before


class LimitTest(Fullness, lab.Lab):
    """A file at its limit (EFBIG) and a quota that is used up (EDQUOT) are full disks to us, not I/O errors, which would
    end all writing until a restart; db/sqlite/full_disk.cc makes both the same."""

    def limit(self, size):
        subprocess.run(["prlimit", "--pid", str(self.server_pid()), f"--fsize={size}:unlimited"], check=True)

    def test_a_file_at_its_limit_refuses_and_goes_on_when_there_is_space(self):
        self.begin()
        self.limit(8192)
        self.refuses()
        self.limit("unlimited")
        self.goes_on()


@unittest.skipUnless(own_mounts(), "needs root and a kernel that lets us make mount namespaces")
class CompileTest(unittest.TestCase):
    def test_a_library_without_space_ends_with_a_documented_code(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="mlc-disk-"))
        self.addCleanup(shutil.rmtree, folder)
        disk = folder / "disk"
        disk.mkdir()
        if not mount(disk, 64):
            self.skipTest("this system mounts nothing")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        model = folder / "model.onnx"
        subprocess.run([sys.executable, lab.SOURCE / "tests/models/make_model.py", "resnet18", model, "--reduced"], check=True)
        codes = set()
        # From nothing to more than enough, so that space ends at every step of the writing.
        for free_kib in (0, 64, 256, 1024, 2048, 4096, 6144, 8192, 16384, 49152):
            with open(disk / "filler", "wb") as filler:
                os.posix_fallocate(filler.fileno(), 0, (64 * 1024 - free_kib) << 10)
            said = subprocess.run([lab.BUILD / "bin/mlc-compile", "--model", model, "--target", "cpu", "--threads", "1", "-o",
                                   disk / "library"], capture_output=True, text=True, check=False)
            codes.add(said.returncode)
            self.assertIn(said.returncode, (0, 73, 75), f"{free_kib} KiB free: {said.stderr}")
            self.assertEqual((disk / "library/liblibrary.so").exists(), said.returncode == 0)
            shutil.rmtree(disk / "library", ignore_errors=True)
        self.assertTrue(0 in codes and codes - {0}, codes)


if __name__ == "__main__":
    lab.main()
