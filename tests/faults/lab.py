"""A server, workers and callers as processes, for tests that hurt them, and what must hold afterwards.

Every process carries a mark in its environment, which its children inherit: so orphans are found, and nobody
else's processes are touched. A test ends with `Lab.check`: what was acknowledged is stored, once; no failure has a
time; every job got the trials that it asked for; no process and no descriptor is left over; `mlc-log verify` agrees.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import grpc
except ImportError:
    print("skipped: python3-grpcio is not installed")
    sys.exit(77)

BUILD = pathlib.Path(os.environ["MLC_BUILD"])
SOURCE = pathlib.Path(os.environ["MLC_SOURCE"])
# Whoever runs the tests in the background has these ignored, which children inherit; a handler they do not.
for sent in (signal.SIGINT, signal.SIGHUP):
    signal.signal(sent, signal.default_int_handler)
TIMEOUT = 300  # seconds, for what takes one on an idle machine
TIMED = (0, 6)  # outcomes with a time: OK, TOO_SLOW
INFRA = 7
MARK = "MLC_FAULT_LAB"


def generate():
    """The messages of proto/ as Python modules."""
    folder = tempfile.mkdtemp(prefix="mlc-faults-proto-")
    names = ["proto/common.proto", "proto/tuner.proto", "proto/worker.proto"]
    subprocess.run(["protoc", f"-I{SOURCE}", f"--python_out={folder}", *names], check=True)
    sys.path.insert(0, folder)
    from proto import common_pb2, tuner_pb2, worker_pb2
    subprocess.run(["rm", "-rf", folder], check=True)
    return common_pb2, tuner_pb2, worker_pb2


common, tuner, worker = generate()
ENDED = (tuner.DONE, tuner.CANCELLED, tuner.FAILED)


class Caller:
    """The calls of both services and of the health service, without a stub generator."""

    def __init__(self, address):
        # The least is also how long one attempt may take: on a busy machine a queue of handshakes takes its time, while
        # an attempt into a cut network should end soon.
        reconnect_ms = 20000 if address.startswith("unix:") else 500
        backoff = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", reconnect_ms),
                   ("grpc.max_reconnect_backoff_ms", 500), ("grpc.use_local_subchannel_pool", 1)]
        self.channel = grpc.insecure_channel(address, options=backoff)

    def call(self, service, method, request, timeout=TIMEOUT, wait=False):
        module = tuner if service == "Tuner" else worker
        others = {"GetJob": "JobDescription", "SubmitUserKernel": "SubmitJobReply"}
        reply = getattr(module, others.get(method, method + "Reply"))
        stub = self.channel.unary_unary(f"/mlc.proto.{service}/{method}", type(request).SerializeToString, reply.FromString)
        return stub(request, timeout=timeout, wait_for_ready=wait)

    def watch(self, job, timeout=TIMEOUT):
        stub = self.channel.unary_stream("/mlc.proto.Tuner/WatchJob", tuner.WatchJobRequest.SerializeToString,
                                         tuner.JobProgress.FromString)
        return stub(tuner.WatchJobRequest(job=job), timeout=timeout, wait_for_ready=True)

    def progress(self, job):
        stream = self.watch(job)
        first = next(stream)
        stream.cancel()
        return first

    def serving(self, service):
        """Of grpc.health.v1: 1 is SERVING, 2 is NOT_SERVING."""
        name = service.encode()
        stub = self.channel.unary_unary("/grpc.health.v1.Health/Check", lambda _: b"\n" + bytes([len(name)]) + name,
                                        lambda reply: reply[1] if len(reply) > 1 else 0)
        return stub(None, timeout=TIMEOUT)

    def line(self, name):
        for line in self.call("Workers", "ListWorkers", worker.ListWorkersRequest()).workers:
            if line.worker == name:
                return line
        return worker.WorkerLine()

    def close(self):
        self.channel.close()


class RawWorker(threading.Thread):
    """Answers every trial at once with the same time, and remembers what was acknowledged. `errors` are failed calls."""

    def __init__(self, address, name, target, hurry=0.0):
        super().__init__(daemon=True)
        self.caller = Caller(address)
        self.request = worker.SynchronizeRequest(protocol=1, worker=name, incarnation=f"{os.getpid()}-{time.monotonic_ns()}",
                                                 build="raw", target=target, want=16)
        self.results = {}
        self.acknowledged = set()
        self.refused = []
        self.errors = []
        self.stopping = threading.Event()
        self.hurry = hurry
        self.counts = 1  # 0: its calls are not counted

    def step(self):
        self.request.sequence += self.counts
        del self.request.finished[:]
        for uid, ns in self.results.items():
            self.request.finished.add(task_uid=uid, measurement=common.Measurement(
                outcome=common.OK, median_ns=ns, p10_ns=ns, p90_ns=ns, runs=9, machine_speed=1))
        reply = self.caller.call("Workers", "Synchronize", self.request, timeout=20)
        for uid in reply.acknowledged:
            self.acknowledged.add(bytes(uid))
            self.results.pop(uid, None)
        for refusal in reply.refused:
            self.refused.append((bytes(refusal.task_uid), refusal.reason))
            self.results.pop(refusal.task_uid, None)
        for lease in reply.leases:
            self.results[lease.task_uid] = 20_000.0
        return reply

    def run(self):
        while not self.stopping.is_set():
            try:
                reply = self.step()
                pause = 0 if self.results else min(reply.next_poll_ms / 1e3, 0.1)
            except grpc.RpcError as error:
                self.errors.append((error.code(), error.details()))
                pause = 0.1
            self.stopping.wait(max(pause, self.hurry))

    def stop(self):
        self.stopping.set()
        self.join()
        self.caller.close()


class Lab(unittest.TestCase):
    """A test case with a folder of its own and the means to start, hurt and check."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mlc-faults-"))
        self.mark = self.folder.name
        self.log = self.folder / "tuning.db"
        self.address = f"unix:{self.folder}/socket"
        self.server = None
        self.jobs = {}
        self.children = []
        self.addCleanup(self.tear_down)

    def tear_down(self):
        failed = any(error for _, error in getattr(self._outcome, "errors", []) or []) or \
            not getattr(self._outcome, "success", True)
        if failed and (self.folder / "messages").exists():
            print((self.folder / "messages").read_text(errors="replace")[-4000:], file=sys.stderr)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.wait()
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)

    # Processes.
    def start(self, arguments, before=(), env=None, output="messages"):
        """`before` is a command that starts another, such as `ip netns exec NAME`; `output` takes what it prints."""
        environment = {**os.environ, MARK: self.mark, **(env or {})}
        with open(self.folder / "messages", "ab") as messages, open(self.folder / output, "ab") as printed:
            process = subprocess.Popen([*before, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=printed,
                                       stderr=messages, env=environment)
        self.children.append(process)
        return process

    def start_tune(self, *flags, before=(), env=None, output="table"):
        """mlc-tune at the server."""
        return self.start([self.program("mlc-tune"), "--server", self.address, *flags], before=before, env=env, output=output)

    def program(self, name):
        return BUILD / "bin" / name

    def start_server(self, *flags, canaries="off", lease_ms=30_000, before=(), env=None, reachable=True):
        arguments = [self.program("mlc-server"), "--log", self.log, "--listen", self.address, "--canaries", canaries,
                     "--lease-ms", lease_ms, *flags]
        offset = len(self.messages())
        self.server = self.start(arguments, before=before, env=env)
        self.until(lambda: "listening " in self.messages()[offset:] or self.server.poll() is not None, "the server's start")
        self.assertIsNone(self.server.poll(), self.messages()[-2000:])
        return Caller(self.address) if reachable else None

    def serve(self, answer, service="Workers", method="Synchronize"):
        """A server of our own in this process that knows this one call."""
        # As our servers do, it bears the pings of our clients.
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), options=[("grpc.http2.max_ping_strikes", 0)])
        module = tuner if service == "Tuner" else worker
        handler = grpc.unary_unary_rpc_method_handler(answer, getattr(module, method + "Request").FromString,
                                                      getattr(module, method + "Reply").SerializeToString)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("mlc.proto." + service, {method: handler})])
        server.add_insecure_port(self.address)
        server.start()
        self.addCleanup(server.stop, 0)

    def start_worker(self, name, *flags, address=None, before=(), env=None):
        state = self.folder / f"state-{name}"
        state.mkdir(exist_ok=True)
        arguments = [self.program("mlc-worker"), "--server", address or self.address, "--threads", 1, "--builders", 1,
                     "--slots", 8, "--name", name, "--state", state, *flags]
        return self.start(arguments, before=before, env=env)

    def processes(self, name=None):
        """Of this lab, those of the program `name` alone if given."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                stat = (entry / "stat").read_text()
                if stat.rsplit(")", 1)[1].split()[0] == "Z" or mark not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                if name is None or stat.split("(", 1)[1].rsplit(")", 1)[0] == name:
                    found.append(int(entry.name))
        return found

    def server_pid(self):
        return self.processes("mlc-server")[0]

    def messages(self):
        path = self.folder / "messages"
        return path.read_text(errors="replace") if path.exists() else ""

    def until(self, condition, what, timeout=TIMEOUT):
        deadline = time.monotonic() + timeout
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what} did not happen\n{self.messages()[-3000:]}")
            threading.Event().wait(0.02)

    def descriptors(self, pid=None):
        return len(os.listdir(f"/proc/{pid or self.server_pid()}/fd"))

    def resident_mib(self, pid=None):
        for line in pathlib.Path(f"/proc/{pid or self.server_pid()}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    # Jobs.
    def target(self):
        """This machine with one thread, as a worker would say it, without the figures that take time."""
        for line in subprocess.run([self.program("mlc-worker"), "--doctor", "--threads", "1"], capture_output=True,
                                   text=True, check=False).stdout.splitlines():
            if "target v1 " in line:
                return line[line.index("target v1 "):].strip()
        raise RuntimeError("mlc-worker --doctor tells no target")

    def submit(self, caller, trials, target, sizes=(16, 24), seed=0):
        request = tuner.SubmitJobRequest(protocol=1, target=target, label=f"faults {seed}")
        for n in sizes:
            request.tasks.add(occurrences=1, workload=(
                f"workload v1 tolerance=1e-04 {{\n  %0 = input() : f32[{n},48]\n  %1 = weight() : f32[48,32]\n"
                f"  %2 = matmul(%0, %1) : f32[{n},32]\n  return %2\n}}\n"))
        request.options.trials = trials
        request.options.batch = 8
        request.options.seed = seed
        job = caller.call("Tuner", "SubmitJob", request).job
        self.jobs[job] = trials
        return job

    def finish(self, caller, job, timeout=TIMEOUT):
        self.until(lambda: caller.progress(job).state in ENDED, f"the end of job {job}", timeout)
        progress = caller.progress(job)
        self.assertEqual(progress.state, tuner.DONE, progress.detail)
        return progress

    # What must hold.
    def stop(self, process, code=0):
        """TERM, and the exit code. What an `ip netns exec` starts is the process itself."""
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(TIMEOUT), code, self.messages()[-2000:])

    def rows(self, query):
        with contextlib.closing(sqlite3.connect(f"file:{self.log}?mode=ro", uri=True)) as log:
            return log.execute(query).fetchall()

    def check(self, raw=()):
        """Stops the server, and holds its log against what its callers were told."""
        if self.server is not None:
            self.stop(self.server)
        self.until(lambda: not self.processes(), "the end of every process")
        verify = subprocess.run([self.program("mlc-log"), "verify", self.log], capture_output=True, text=True, check=False)
        self.assertEqual(verify.returncode, 0, verify.stdout + verify.stderr)
        records = self.rows("SELECT task_uid, outcome, median_ns, worker FROM record")
        uids = [uid for uid, _, _, _ in records]
        self.assertEqual(len(set(uids)), len(uids), "a trial is stored twice")
        for uid, outcome, median, _ in records:
            self.assertNotEqual(outcome, INFRA)
            self.assertEqual(median is not None, outcome in TIMED, uid.hex())
        for one in raw:
            lost = one.acknowledged - set(uids)
            self.assertFalse(lost, f"{len(lost)} acknowledged results are not stored")
        states = {row[0].hex(): row[1:] for row in self.rows("SELECT id, state, trials FROM job")}
        for job, trials in self.jobs.items():
            self.assertEqual(states[job], (tuner.DONE, trials), f"job {job} lost trials")
        return len(uids)


def main():
    """Like unittest.main; 77 if every test was skipped, which ctest shows as skipped."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)
