"""Clocks that step by a day: leases last as long as before, records say when they were stored, and a server or worker that
was set back ends in order and is started again: timers of gRPC would rest until the clock has caught up. mlc-tune does
without them and goes on."""
import pathlib
import threading
import time
import unittest

import lab

SHIM = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
DAY_US = 86_400 * 1_000_000
NOTICE = "no answer from the server"


@unittest.skipIf(SHIM is None, "libfaketime is not installed")
class ClockTest(lab.Lab):
    def stepped(self, name):
        """An environment whose wall clock follows a file; the clock of leases is steady and stays."""
        self.clock = self.folder / f"clock-{name}"
        self.step("+0")
        return {"LD_PRELOAD": str(SHIM), "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}

    def step(self, to):
        new = self.clock.with_suffix(".new")
        new.write_text(to + "\n")
        new.replace(self.clock)

    def created(self):
        return [row[0] for row in self.rows("SELECT created_us FROM record ORDER BY id")]

    def test_a_step_of_the_servers_clock_costs_no_lease(self):
        # One lease time is longer than the test: a lease that ends at all was ended by the step.
        env = self.stepped("server")
        caller = self.start_server("--metrics", "127.0.0.1:0", lease_ms=600_000, env=env)
        target = self.target()
        holder = lab.RawWorker(self.address, "holder", target)
        holder.request.want = 4
        job = self.submit(caller, 48, target)
        self.until(lambda: holder.step().leases, "leases")
        held = set(holder.results)
        self.step("+1d")
        other = lab.RawWorker(self.address, "other", target)
        other.start()
        self.finish(caller, self.submit(caller, 16, target, sizes=(40,)))
        other.stop()
        self.assertFalse(held & other.acknowledged, "a lease was given to another worker")
        self.assertEqual(caller.line("holder").holding, len(held))
        holder.start()
        self.until(lambda: held <= holder.acknowledged, "the results of the leases")
        self.assertEqual(holder.errors, [])

        # While a job is watched: its watchers do not hold up the end.
        watcher = caller.watch(job)
        next(watcher)
        self.step("-1d")
        self.assertEqual(self.server.wait(lab.TIMEOUT), 75, self.messages()[-2000:])
        self.assertIn("the clock was set back by", self.messages())
        watcher.cancel()
        caller.close()
        caller = self.start_server(lease_ms=600_000, env=env)
        self.finish(caller, job)
        holder.stop()
        self.check([holder, other])
        now = time.time() * 1e6
        days = {round((us - now) / DAY_US) for us in self.created()}
        self.assertLessEqual(days, {-1, 0, 1})
        self.assertIn(1, days, "the server's clock did not step")

    def test_a_step_of_a_workers_clock_does_not_reach_the_log(self):
        caller = self.start_server(lease_ms=5000)
        target = self.target()
        env = self.stepped("worker")
        one = self.start_worker("one", env=env)
        job = self.submit(caller, 48, target)
        for step, trials in (("+1d", 8), ("-1d", 24)):
            self.until(lambda count=trials: caller.progress(job).trials >= count, "the trials before the step")
            self.step(step)
        # It finishes what it holds, and its supervisor starts it again.
        self.assertEqual(one.wait(lab.TIMEOUT), 75, self.messages()[-2000:])
        one = self.start_worker("one", env=env)
        self.finish(caller, job)
        self.assertEqual(caller.line("one").failures, 0)
        self.stop(one)
        self.check()
        now = time.time() * 1e6
        for us in self.created():
            self.assertLess(abs(us - now), DAY_US / 2)

    def test_steps_of_a_watchers_clock(self):
        # Without a worker the job never ends, and its watcher hears of it several times a second.
        caller = self.start_server()
        job = self.submit(caller, 100, self.target())
        tune = self.start_tune("watch", job, "--json-lines", env=self.stepped("watcher"), output="events")
        events = self.folder / "events"

        def hears(what):
            seen = events.stat().st_size
            self.until(lambda: events.stat().st_size > seen + 4000, "events " + what)

        def lose_server():
            notices = self.messages().count(NOTICE)
            caller.close()
            self.server.kill()
            self.server.wait()
            self.until(lambda: self.messages().count(NOTICE) > notices, "the watcher's notice")
        for step in ("+1d", "-1d"):
            hears("before the step")
            self.step(step)
            hears(f"after a step of {step}")
            lose_server()
            caller = self.start_server()
            hears("of the new server")
        for step in ("+3d", "-3d"):
            lose_server()
            self.step(step)
            caller = self.start_server()
            hears(f"of the new server, after a step of {step} without one")
        caller.call("Tuner", "CancelJob", lab.tuner.CancelJobRequest(job=job))
        self.assertEqual(tune.wait(lab.TIMEOUT), 130, self.messages()[-2000:])
        self.assertIn('"cancelled"', events.read_text())
        self.jobs.clear()
        self.check()

    def test_steps_during_a_call(self):
        entered, answer = threading.Event(), threading.Event()

        def hold(_request, _context):
            entered.set()
            answer.wait()
            return lab.tuner.ListJobsReply()
        self.serve(hold, "Tuner", "ListJobs")
        self.addCleanup(answer.set)
        env = self.stepped("caller")
        for step in ("+1d", "-1d"):
            entered.clear()
            answer.clear()
            tune = self.start_tune("jobs", env=env)
            self.assertTrue(entered.wait(lab.TIMEOUT))
            self.step(step)
            answer.set()
            self.assertEqual(tune.wait(lab.TIMEOUT), 0, self.messages()[-2000:])
        # What never comes is given up.
        entered.clear()
        answer.clear()
        tune = self.start_tune("jobs", env=env)
        self.assertTrue(entered.wait(lab.TIMEOUT))
        self.step("+1d")
        self.assertEqual(tune.wait(lab.TIMEOUT), 75, self.messages()[-2000:])
        self.assertIn("no answer from " + self.address, self.messages())


if __name__ == "__main__":
    lab.main()
