"""mlc-tune follows a job while its server is killed, stopped, restarted, or stays away."""
import json
import signal
import unittest

import lab


NOTICE = "no answer from the server"


class FollowTest(lab.Lab):
    """A server, a job that waits for a worker, and mlc-tune that watches it."""

    def setUp(self):
        super().setUp()
        self.caller = self.start_server()
        self.workers = []

    def begin(self, *flags):
        self.job = self.submit(self.caller, 200, self.target())
        self.tune = self.start_tune("watch", self.job, *flags)
        self.until(lambda: "trials/s" in self.messages(), "the watcher's first line")

    def start_raw_worker(self):
        worker = lab.RawWorker(self.address, f"worker{len(self.workers)}", self.target(), hurry=0.05)
        worker.start()
        self.workers.append(worker)
        return worker

    def kill_server(self):
        notices = self.messages().count(NOTICE)
        self.caller.close()
        self.server.kill()
        self.server.wait()
        self.until(lambda: self.messages().count(NOTICE) > notices, "the watcher's notice")

    def end(self, code):
        self.assertEqual(self.tune.wait(lab.TIMEOUT), code, self.messages()[-2000:])

    def finish_and_check(self):
        self.start_raw_worker()
        self.until(lambda: self.caller.progress(self.job).state == lab.tuner.DONE, "the end of the job")
        for worker in self.workers:
            if worker.is_alive():
                worker.stop()
        self.jobs.clear()  # it may end before its trials are used up
        self.check(self.workers)

    def test_restarts_change_nothing_of_the_result(self):
        self.begin("--json")
        for _ in range(2):
            worker = lab.RawWorker(self.address, f"worker{len(self.workers)}", self.target())
            self.workers.append(worker)
            self.until(lambda one=worker: one.step() and one.acknowledged, "trials of this server")
            self.kill_server()
            lines = self.messages().count("trials/s")
            self.caller = self.start_server()
            self.until(lambda seen=lines: self.messages().count("trials/s") > seen, "progress of the new server")
        self.start_raw_worker()
        self.end(0)
        again = self.start_tune("watch", self.job, "--json", "-q", output="again")
        self.assertEqual(again.wait(lab.TIMEOUT), 0)
        tables = [json.loads((self.folder / name).read_text()) for name in ("table", "again")]
        self.assertEqual(tables[0], tables[1])
        self.assertEqual(tables[0]["state"], "done")
        self.finish_and_check()

    def test_a_server_that_stays_away(self):
        self.begin("--reconnect-timeout", "2s")
        self.kill_server()
        self.end(69)
        said = self.messages()
        self.assertIn(f"s for the server at {self.address}: ", said)
        self.assertIn("The job continues when the server is back. Watch it with:\n"
                      f"  mlc-tune watch {self.job} --server {self.address}\n", said)
        self.caller = self.start_server()
        self.assertEqual(self.caller.progress(self.job).state, lab.tuner.RUNNING)
        self.finish_and_check()

    def test_whoever_leaves_need_not_wait(self):
        self.begin()
        self.kill_server()
        self.tune.send_signal(signal.SIGINT)
        self.end(130)
        self.assertIn("The job goes on at the server.", self.messages())
        self.caller = self.start_server()
        self.finish_and_check()

    def test_a_server_that_hangs(self):
        self.begin()
        self.server.send_signal(signal.SIGSTOP)
        # Its connection stands; no cable was cut.
        self.until(lambda: NOTICE in self.messages(), "the watcher's notice")
        self.server.send_signal(signal.SIGCONT)
        lines = self.messages().count("trials/s")
        self.until(lambda: self.messages().count("trials/s") > lines, "progress again")
        self.server.send_signal(signal.SIGSTOP)
        self.tune.send_signal(signal.SIGHUP)
        self.end(130)
        self.server.send_signal(signal.SIGCONT)
        self.finish_and_check()


if __name__ == "__main__":
    lab.main()
