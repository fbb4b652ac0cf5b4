"""Kernels that crash or hang, a machine that kills, texts that no honest server sends, and the sandbox around it all, in
the children of real workers. Crashes and hangs are sent to the children as signals: families make no such kernels."""
import contextlib
import os
import pathlib
import signal
import threading

import lab

TICKS = os.sysconf("SC_CLK_TCK")


class Child:
    """What /proc says of a process."""

    def __init__(self, pid):
        self.pid = pid
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        self.state, self.parent, self.nice = fields[0], int(fields[1]), int(fields[16])
        self.cpu_s = (int(fields[11]) + int(fields[12])) / TICKS
        self.status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())

    def sandboxed(self):
        return (self.status["Seccomp"].strip() == "2" and self.status["NoNewPrivs"].strip() == "1"
                and int(self.status["CapEff"], 16) == 0)


class Children(lab.Lab):
    """Finds the children of a worker that build and run."""

    def setUp(self):
        super().setUp()
        self.engines = []
        self.said = None

    def leaves(self):
        """The children that build and run: those of the worker's engine."""
        if not any(os.path.exists(f"/proc/{pid}") for pid in self.engines):
            seen = {}
            for pid in self.processes("mlc-engine"):
                with contextlib.suppress(OSError, KeyError):
                    seen[pid] = Child(pid)
            self.engines = [pid for pid, child in seen.items() if child.parent not in seen]
        found = []
        for engine in self.engines:
            with contextlib.suppress(OSError):
                pids = pathlib.Path(f"/proc/{engine}/task/{engine}/children").read_text().split()
                for pid in map(int, pids):
                    with contextlib.suppress(OSError, KeyError):
                        found.append(Child(pid))
        return [child for child in found if child.state != "Z"]

    def watch(self, caller, seen, what):
        """Looks closely until `seen()`. There is work all the while: when a job has ended, the next one begins."""
        def busy():
            if not self.jobs or caller.progress(list(self.jobs)[-1]).state in lab.ENDED:
                n = 96 + 16 * len(self.jobs)
                self.submit(caller, 96, self.said, sizes=(n, n + 64), seed=len(self.jobs))
            return any(seen() for _ in range(20))

        self.said = self.said or self.target()
        self.until(busy, what)

    def measured(self, caller):
        return sum(caller.progress(job).trials for job in self.jobs)

    def finish_all(self, caller):
        for job in self.jobs:
            self.finish(caller, job)

    def runners(self):
        """They alone raise their priority; and then the sandbox is active before the first kernel."""
        return [child for child in self.leaves() if child.nice == -20 and child.sandboxed()]

    def leave(self, worker):
        self.stop(worker)


class HostileTest(Children):
    def outcomes(self):
        return dict(self.rows("SELECT outcome, count(*) FROM record GROUP BY outcome"))

    @staticmethod
    def timed(outcomes):
        return sum(outcomes.get(outcome, 0) for outcome in lab.TIMED)

    def hurt(self, how, times, after=None):
        """Sends runners the signal, `times` times, each to another one; returns the job's end."""
        caller = self.start_server(lease_ms=30_000)
        one = self.start_worker("one")
        self.watch(caller, lambda: self.measured(caller) >= 4, "the first trials")
        hit = set()

        def strike():
            for child in self.runners():
                if child.pid not in hit and child.state != "T":
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child.pid, how)
                        hit.add(child.pid)
                        return True
            return False

        for _ in range(times):
            self.watch(caller, strike, "a runner at work")
        self.assertEqual(len(hit), times)
        self.finish_all(caller)
        line = caller.line("one")
        self.leave(one)
        self.check()
        return len(hit), line, self.outcomes()

    def test_a_crash_is_one_trials_own(self):
        hit, _, outcomes = self.hurt(signal.SIGSEGV, 4)
        # The first trial of a runner is blamed; a later one gets a new runner before it would be.
        self.assertLessEqual(outcomes.get(lab.common.RUN_ERROR, 0), hit)
        self.assertGreaterEqual(self.timed(outcomes), sum(self.jobs.values()) - 2 * hit)

    def test_a_kill_by_the_machine_is_nobodys_fault(self):
        # Twice: a trial that a machine kills three times is given up.
        _, line, outcomes = self.hurt(signal.SIGKILL, 2)
        self.assertEqual(outcomes.get(lab.common.RUN_ERROR, 0), 0)
        self.assertEqual(line.state, lab.worker.READY, line.reason)

    def test_a_worker_killed_while_it_builds_or_runs_leaves_no_process(self):
        caller = self.start_server(lease_ms=4000)

        def at_work(kind):
            children = self.leaves()
            return [child for child in children if child.sandboxed() and (child.nice == -20) == (kind == "run")]

        for kind in ("build", "run"):
            victim = self.start_worker("victim")
            self.watch(caller, lambda what=kind: at_work(what), f"a {kind}")
            victim.kill()
            victim.wait()
            self.until(lambda: not self.processes("mlc-worker") and not self.processes("mlc-engine"), "the children's end")
        one = self.start_worker("one")
        self.finish_all(caller)
        self.leave(one)
        self.check()

    def test_a_hang_ends_with_the_watchdog_and_costs_one_trial(self):
        hit, _, outcomes = self.hurt(signal.SIGSTOP, 1)
        self.assertEqual(hit, 1)
        self.assertLessEqual(outcomes.get(lab.common.RUN_TIMEOUT, 0), 1)
        self.assertGreaterEqual(self.timed(outcomes), sum(self.jobs.values()) - 6)

    def test_every_child_that_computes_is_sandboxed(self):
        caller = self.start_server()
        one = self.start_worker("one")
        loose, seen = {}, set()

        def look():
            for child in self.leaves():
                seen.add(child.pid)
                # A fork has its parent's figures until it has entered the sandbox, which it does first.
                if child.cpu_s >= 0.05 and not child.sandboxed():
                    loose[child.pid] = child.status
                if child.sandboxed():
                    with contextlib.suppress(OSError):
                        links = {os.readlink(f"/proc/{child.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{child.pid}/fd")}
                        self.assertFalse([link for link in links if link.startswith("socket:") or link.endswith(".spool")])
                    with contextlib.suppress(OSError):
                        limits = pathlib.Path(f"/proc/{child.pid}/limits").read_text()
                        for line in limits.splitlines():
                            if line.startswith(("Max file size", "Max core", "Max open files", "Max cpu")):
                                self.assertNotIn("unlimited", line[:46], line)
            return len(seen) >= 64

        self.watch(caller, look, "children at work")
        self.finish_all(caller)
        self.assertEqual(loose, {})
        self.leave(one)
        self.check()

    def good_config(self):
        """A workload and a config of it that a worker has measured."""
        caller = self.start_server()
        one = self.start_worker("one")
        self.finish(caller, self.submit(caller, 8, self.target(), sizes=(32,)))
        self.leave(one)
        caller.close()
        self.check()
        self.server = None
        self.jobs.clear()
        return self.rows("SELECT text, config FROM record JOIN workload ON workload.id = record.workload WHERE outcome = 0")[0]

    def test_texts_of_a_hostile_server_harm_no_worker(self):
        text, config = self.good_config()
        huge = text.replace("f32[32,48]", "f32[1073741824,48]").replace("f32[32,32]", "f32[1073741824,32]")
        secret = self.folder / "secret"
        secret.write_text("keep me")
        hostile = [("", ""), ("workload", config), (text[:-9], config), (text, ""), (text, "nonsense"), (text, config * 40),
                   (text, config.replace("{", '{#include "/dev/zero" ')), (text, f"../../{secret}"), (huge, config),
                   ("workload v1 " + "(" * 200_000, config), (text, "$(touch stolen)"), (text.replace("matmul", "system"), config)]
        trials = {bytes([n]) * 16: pair for n, pair in enumerate([*hostile, (text, config)], start=1)}
        give, results, lock = dict(trials), {}, threading.Lock()

        def synchronize(request, _):
            with lock:
                for result in request.finished:
                    results.setdefault(bytes(result.task_uid), []).append(result.measurement)
                reply = lab.worker.SynchronizeReply(acknowledged=[result.task_uid for result in request.finished],
                                                    next_poll_ms=50)
                for uid in list(give)[:max(request.want, 0)]:
                    workload, knobs = give.pop(uid)
                    reply.leases.add(task_uid=uid, workload=workload, config=knobs, seed=1, attempt=1, lease_ms=60_000)
                return reply

        self.serve(synchronize)
        one = self.start_worker("one")
        self.until(lambda: set(results) == set(trials) or one.poll() is not None, "a result of every trial")
        self.assertIsNone(one.poll(), "the worker fell over")
        for uid, told in results.items():
            good = trials[uid] == (text, config)
            self.assertEqual({m.outcome == lab.common.OK for m in told}, {good}, f"{trials[uid][1][:60]}: {told}")
            if not good:
                self.assertTrue(told[0].detail)
                self.assertEqual(told[0].median_ns, 0)
                self.assertLess(len(told[0].detail), 20_000)
        self.assertEqual(secret.read_text(), "keep me")
        self.assertFalse(list(self.folder.glob("**/stolen")))
        self.leave(one)
        self.until(lambda: not self.processes(), "the end of every process")


if __name__ == "__main__":
    lab.main()
