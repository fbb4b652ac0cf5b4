"""A full disk under the server: refused in words, read as before, and going on by itself when there is space again."""
import ctypes
import os
import subprocess
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


@unittest.skipUnless(own_mounts(), "needs root and a kernel that lets us make mount namespaces")
class DiskTest(lab.Lab):
    def test_a_full_disk_refuses_and_goes_on_when_there_is_space(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if not mount(disk, 8):
            self.skipTest("this system mounts nothing")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        self.log = disk / "tuning.db"
        caller = self.start_server(lease_ms=60_000)
        target = self.target()
        raw = lab.RawWorker(self.address, "raw", target)
        raw.start()
        job = self.submit(caller, 20_000, target, sizes=(16, 24, 40, 56))
        self.until(lambda: len(raw.acknowledged) >= 64, "the first results")
        self.assertEqual(caller.serving("mlc.proto.Workers"), 1)

        # The disk fills up by somebody else's doing, to the last byte.
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filler, b"x" * 4096)
        except OSError:
            pass
        self.until(lambda: raw.errors, "a refusal")
        self.until(lambda: caller.serving("mlc.proto.Workers") == 2, "the state NOT_SERVING of the log")
        code, words = raw.errors[-1]
        self.assertEqual(code, lab.grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("disk", words)
        # Whoever reads is answered, and told the truth.
        summary = caller.call("Tuner", "GetJob", lab.tuner.GetJobRequest(job=job)).summary
        self.assertEqual(summary.state, lab.tuner.RUNNING)
        with self.assertRaises(lab.grpc.RpcError) as watching:
            caller.progress(job)
        self.assertIn("results cannot be kept", watching.exception.details())
        digest = self.rows("SELECT lower(hex(key)) FROM workload ORDER BY id LIMIT 1")[0][0]
        best = caller.call("Tuner", "Best", lab.tuner.BestRequest(workloads=[digest], target=target))
        self.assertEqual(len(best.best), 1)
        self.assertEqual(caller.serving("mlc.proto.Tuner"), 1)
        # New jobs are not taken, with the reason.
        with self.assertRaises(lab.grpc.RpcError) as refused:
            self.submit(caller, 8, target, sizes=(72,))
        self.assertEqual(refused.exception.code(), lab.grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("disk", refused.exception.details())
        stuck = len(raw.acknowledged)
        held = len(raw.results)
        self.assertGreater(held, 0)

        os.ftruncate(filler, 0)
        os.close(filler)
        self.until(lambda: len(raw.acknowledged) >= stuck + 64, "results after the disk has space")
        self.until(lambda: caller.serving("mlc.proto.Workers") == 1, "the state SERVING of the log")
        # The whole job would not fit: it ends here.
        caller.call("Tuner", "CancelJob", lab.tuner.CancelJobRequest(job=job))
        self.jobs.pop(job)
        raw.stop()
        self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])
        self.check([raw])


if __name__ == "__main__":
    lab.main()
