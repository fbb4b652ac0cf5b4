"""Damaged pages of the log, at rest and under a running server: refused in words, named, never published."""
import shutil
import subprocess

import lab

PAGE = 4096


class CorruptionTest(lab.Lab):
    def setUp(self):
        super().setUp()
        caller = self.start_server()
        self.said = self.target()
        raw = lab.RawWorker(self.address, "raw", self.said)
        raw.start()
        self.job = self.submit(caller, 120, self.said)
        self.finish(caller, self.job)
        raw.stop()
        caller.close()
        self.check([raw])
        self.server = None
        self.whole = self.folder / "whole.db"
        shutil.copy(self.log, self.whole)
        self.pages = self.log.stat().st_size // PAGE
        self.assertGreater(self.pages, 8)

    def damage(self, page, words=b"\xa5" * 512, offset=1024):
        with open(self.log, "r+b") as log:
            log.seek(page * PAGE + offset)
            log.write(words)

    def heal(self):
        shutil.copy(self.whole, self.log)

    def run_log(self, *arguments):
        return subprocess.run([self.program("mlc-log"), *map(str, arguments)], capture_output=True, text=True, check=False)

    def refuse(self, code):
        """A server that does not start, and its words."""
        offset = len(self.messages())
        server = self.start([self.program("mlc-server"), "--log", self.log, "--listen", self.address])
        self.assertEqual(server.wait(lab.TIMEOUT), code, self.messages()[offset:])
        words = self.messages()[offset:]
        self.assertIn(str(self.log), words)
        return words

    def test_a_log_without_its_first_page_is_refused(self):
        self.damage(0, b"nonsense", 0)
        before = self.log.read_bytes()
        self.refuse(74)
        self.assertNotEqual(self.run_log("verify", self.log).returncode, 0)
        self.assertEqual(self.log.read_bytes(), before, "a file that is no log was written")

    def test_every_damaged_page_is_named_and_never_published(self):
        snapshot = self.folder / "snapshot.db"
        self.assertEqual(self.run_log("snapshot", self.log, snapshot).returncode, 0)
        published = snapshot.read_bytes()
        seen = refused = 0
        for page in range(1, self.pages):
            self.heal()
            with open(self.log, "rb") as log:
                log.seek(page * PAGE)
                kind = log.read(1)[0]
            # Leaves and inner pages of tables and indices; others are free or hold the rest of a long text.
            if kind not in (2, 5, 10, 13):
                continue
            self.damage(page, b"\xa5" * 32, 0)
            seen += 1
            verify = self.run_log("verify", self.log)
            self.assertEqual(verify.returncode, 74, f"page {page}: {verify.stdout}{verify.stderr}")
            self.assertTrue(verify.stdout or verify.stderr)
            # A snapshot is written anew from the rows: without a page of an index it is whole all the same.
            again = self.run_log("snapshot", self.log, snapshot)
            refused += again.returncode == 74
            self.assertIn(again.returncode, (0, 74), f"page {page}: {again.stderr}")
            self.assertEqual(snapshot.read_bytes(), published, f"page {page} was published")
        self.assertGreater(seen, 5)
        self.assertGreater(refused, 0)

    def test_a_flipped_figure_of_a_record_is_never_published(self):
        # A sound file with another time in one record: only the record's digest tells.
        with lab.contextlib.closing(lab.sqlite3.connect(self.log)) as log:
            log.execute("UPDATE record SET median_ns = median_ns + 1, p90_ns = p90_ns + 1 WHERE outcome = 0 AND id IN "
                        "(SELECT id FROM record WHERE outcome = 0 ORDER BY id LIMIT 1)")
            log.commit()
        verify = self.run_log("verify", self.log)
        self.assertEqual(verify.returncode, 74, verify.stdout + verify.stderr)
        snapshots = self.folder / "snapshots"
        caller = self.start_server("--snapshots", snapshots)
        self.until(lambda: "snapshot" in self.messages().lower(), "the server's word of the snapshot")
        self.assertFalse(list(snapshots.glob("*.db")) if snapshots.exists() else [])
        # The record is not given to builds; whoever asks hears why.
        digest = self.rows("SELECT key FROM workload ORDER BY id LIMIT 1")[0][0].hex()
        try:
            best = caller.call("Tuner", "Best", lab.tuner.BestRequest(workloads=[digest], target=self.said))
            for one in best.best:
                self.assertIn(one.measurement.median_ns, (0, 20_000.0))
        except lab.grpc.RpcError as error:
            self.assertEqual(error.code(), lab.grpc.StatusCode.DATA_LOSS)
        self.stop(self.server)
        self.server = None

    def test_pages_that_rot_under_a_running_server(self):
        caller = self.start_server()
        size = self.log.stat().st_size
        for page in range(1, size // PAGE):
            self.damage(page)
        try:
            for _ in range(4):
                caller.call("Tuner", "ListJobs", lab.tuner.ListJobsRequest(limit=10))
        except lab.grpc.RpcError as error:
            self.assertIn(error.code(), (lab.grpc.StatusCode.DATA_LOSS, lab.grpc.StatusCode.INTERNAL))
        try:
            self.submit(caller, 64, self.said, sizes=(88,))
        except lab.grpc.RpcError as error:
            self.assertTrue(error.details())
        self.jobs.clear()
        self.assertIsNone(self.server.poll(), "the server fell over")
        self.assertEqual(caller.serving(""), 1)
        self.server.send_signal(15)
        self.server.wait(lab.TIMEOUT)
        self.server = None
        self.assertNotEqual(self.run_log("verify", self.log).returncode, 0)
        self.assertEqual(self.run_log("snapshot", self.log, self.folder / "no.db").returncode, 74)
        self.assertFalse((self.folder / "no.db").exists())


if __name__ == "__main__":
    lab.main()
