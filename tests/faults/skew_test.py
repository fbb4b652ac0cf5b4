"""Programs of neighbouring versions, made here since there are none yet: what one leaves unsaid is done without, what one
adds is passed over, and one that speaks another protocol is refused with the side to upgrade."""
import subprocess

import lab

PROTOCOL = 1
UNKNOWN_FIELD = b"\xfa\x3f\x05newer"  # field 1023, five bytes
UNKNOWN_OUTCOME = 99


class Raw:
    """A message with more in it than its type knows."""

    def __init__(self, message):
        self.message = message

    def SerializeToString(self):
        return self.message.SerializeToString() + UNKNOWN_FIELD


class SkewTest(lab.Lab):
    def test_a_worker_and_a_client_that_say_the_least_have_their_trials_made(self):
        # Such a worker tells no capabilities and no trial's cost, counts no calls and opens no stream; such a client names
        # nobody and nothing.
        caller = self.start_server()
        target = self.target()
        least = lab.RawWorker(self.address, "least", target)
        least.request.build = ""
        least.counts = 0
        least.start()
        request = lab.tuner.SubmitJobRequest(protocol=PROTOCOL, target=target)
        request.tasks.add(occurrences=1, workload=(
            "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[16,48]\n  %1 = weight() : f32[48,32]\n"
            "  %2 = matmul(%0, %1) : f32[16,32]\n  return %2\n}\n"))
        request.options.trials = 24
        job = caller.call("Tuner", "SubmitJob", request).job
        self.jobs[job] = 24
        self.finish(caller, job)
        least.stop()
        self.assertEqual(least.errors, [])
        self.check([least])

    def test_what_a_newer_worker_adds_is_passed_over(self):
        caller = self.start_server()
        target = self.target()
        new = lab.RawWorker(self.address, "new", target)
        strange = []
        stub = new.caller.channel.unary_unary("/mlc.proto.Workers/Synchronize", Raw.SerializeToString,
                                              lab.worker.SynchronizeReply.FromString)

        def synchronize(_service, _method, request, timeout):
            for one in request.finished:
                if len(strange) < 3:
                    one.measurement.outcome = UNKNOWN_OUTCOME
                    strange.append(bytes(one.task_uid))
            return stub(Raw(request), timeout=timeout)

        new.caller.call = synchronize
        new.start()
        job = self.submit(caller, 32, target)
        self.finish(caller, job)
        new.stop()
        self.assertEqual(len(strange), 3)
        # What nobody here understands is no time and no failure of the kernel: the trial is made again.
        self.assertEqual(dict(self.rows("SELECT outcome, count(*) FROM record GROUP BY outcome")), {lab.common.OK: 32})
        self.check()

    def test_another_protocol_is_refused_with_the_side_to_upgrade(self):
        caller = self.start_server()
        target = self.target()

        def calls(protocol):
            job = lab.tuner.SubmitJobRequest(protocol=protocol, target=target)
            yield "worker", "Workers", "Synchronize", lab.worker.SynchronizeRequest(
                protocol=protocol, worker="w", incarnation="1", target=target)
            yield "client", "Tuner", "SubmitJob", job
            yield "client", "Tuner", "SubmitUserKernel", lab.tuner.SubmitUserKernelRequest(job=job)

        for protocol in (PROTOCOL + 1, PROTOCOL - 1):
            for peer, service, method, request in calls(protocol):
                old = {"worker": "mlc-worker", "client": "mlc-tune"}[peer] if protocol < PROTOCOL else "mlc-server"
                with self.assertRaises(lab.grpc.RpcError) as refused:
                    caller.call(service, method, request)
                self.assertEqual(refused.exception.code(), lab.grpc.StatusCode.FAILED_PRECONDITION)
                self.assertEqual(refused.exception.details(),
                                 f"the {peer} speaks protocol {protocol}, this server {PROTOCOL}: upgrade {old}")
        self.check()

    def test_a_worker_serves_a_server_that_says_the_least(self):
        # One that knows Synchronize alone and says little in its replies.
        caller = self.start_server()
        one = self.start_worker("one")
        self.finish(caller, self.submit(caller, 8, self.target(), sizes=(32,)))
        self.stop(one)
        caller.close()
        self.check()
        self.server = None
        self.jobs.clear()
        trials = {bytes([n]) * 16: pair for n, pair in enumerate(self.rows(
            "SELECT text, config FROM record JOIN workload ON workload.id = record.workload WHERE outcome = 0"), start=1)}
        give, results, costs, devices = dict(trials), {}, [], set()

        def synchronize(request, _):
            devices.add(request.capabilities.devices)
            for result in request.finished:
                results[bytes(result.task_uid)] = result.measurement.outcome
                costs.append(result.device_s)
            reply = lab.worker.SynchronizeReply(acknowledged=[result.task_uid for result in request.finished])
            for uid in list(give)[:max(request.want, 0)]:
                workload, config = give.pop(uid)
                reply.leases.add(task_uid=uid, workload=workload, config=config, seed=1)
            return reply

        self.serve(synchronize)
        one = self.start_worker("one")
        self.until(lambda: set(results) == set(trials) or one.poll() is not None, "a result of every trial")
        self.assertEqual(set(results.values()), {lab.common.OK})
        # What such a server passes over.
        self.assertEqual(devices, {1})
        self.assertGreater(min(costs), 0)
        self.stop(one)

    def test_a_worker_of_another_protocol_ends_and_says_what_to_upgrade(self):
        def synchronize(_, context):
            context.abort(lab.grpc.StatusCode.FAILED_PRECONDITION,
                          "the worker speaks protocol 1, this server 2: upgrade mlc-worker")

        self.serve(synchronize)
        one = self.start_worker("one")
        self.assertEqual(one.wait(lab.TIMEOUT), 78, self.messages()[-2000:])
        self.assertIn("upgrade mlc-worker", self.messages())
        self.until(lambda: not self.processes(), "the end of every process")

    def test_a_log_of_another_version_is_refused(self):
        caller = self.start_server()
        caller.close()
        self.check()
        self.server = None
        with lab.contextlib.closing(lab.sqlite3.connect(self.log)) as log:
            version = log.execute("PRAGMA user_version").fetchone()[0]
        for other, of_server, of_reader in ((version + 1, "is from a newer mlc-tune", "is from a newer mlc-tune"),
                                            (0, "has no migration to", "has the older schema")):
            with lab.contextlib.closing(lab.sqlite3.connect(self.log)) as log:
                log.execute(f"PRAGMA user_version = {other}")
            server = self.start([self.program("mlc-server"), "--log", self.log, "--listen", self.address])
            self.assertEqual(server.wait(lab.TIMEOUT), 78, self.messages()[-2000:])
            self.assertIn(of_server, self.messages())
            stats = subprocess.run([self.program("mlc-log"), "stats", self.log], capture_output=True, text=True, check=False)
            self.assertEqual(stats.returncode, 78, stats.stderr)
            self.assertIn(of_reader, stats.stderr)


if __name__ == "__main__":
    lab.main()
