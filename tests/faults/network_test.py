"""Cut cables, packets dropped one way, and cables that are slow and lose packets, between network namespaces of the
test's own."""
import os
import shutil
import signal
import subprocess
import time
import unittest

import lab
import wire

SERVER, WORKER = "10.78.0.1", "10.78.0.2"


def have_namespaces():
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("iptables"):
        return False
    name = f"mlcfault{os.getpid()}try"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode != 0:
        return False
    try:
        inside = ["ip", "netns", "exec", name]
        made = subprocess.run([*inside, "ip", "link", "add", "try0", "type", "veth", "peer", "name", "try1"],
                              capture_output=True, check=False)
        drop = subprocess.run([*inside, "iptables", "-A", "INPUT", "-s", WORKER, "-j", "DROP"], capture_output=True,
                              check=False)
        return made.returncode == 0 and drop.returncode == 0
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@unittest.skipUnless(have_namespaces(), "needs root, iproute2, iptables and a kernel that lets us make network namespaces")
class Machines(lab.Lab):
    """A server's machine, a worker's, and a cable between them."""

    def setUp(self):
        super().setUp()
        self.net = {side: f"mlc{self.mark[-8:]}{side}" for side in "sw"}
        self.address = f"{SERVER}:7443"
        self.metrics = None
        for side in "sw":
            self.ip("netns", "add", self.net[side])
            self.addCleanup(subprocess.run, ["ip", "netns", "del", self.net[side]], check=False)
        self.connect()
        for side, address in (("s", SERVER), ("w", WORKER)):
            self.ip("-n", self.net[side], "addr", "add", address + "/24", "dev", "eth0")
            self.ip("-n", self.net[side], "link", "set", "lo", "up")
            self.ip("-n", self.net[side], "link", "set", "eth0", "up")
        # Whoever asks stands beside the server, on a socket that no cable reaches.
        self.caller_address = f"unix:{self.folder}/socket"

    def connect(self):
        self.ip("-n", self.net["s"], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.net["w"])

    @staticmethod
    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True)

    def inside(self, side):
        return ["ip", "netns", "exec", self.net[side]]

    def drop(self, side, source, start):
        subprocess.run([*self.inside(side), "iptables", "-A" if start else "-D", "INPUT", "-s", source, "-j", "DROP"],
                       check=True)

    def ask(self, *flags):
        """A call from beside the server, as its own process: this one is in another namespace."""
        return subprocess.run([*self.inside("s"), self.program("mlc-tune"), "--server", self.address, *flags],
                              capture_output=True, text=True, check=False)

    def trials(self):
        return self.rows("SELECT count(*) FROM record")[0][0]

    def begin(self, lease_ms):
        model = self.folder / "model.onnx"
        subprocess.run(["/usr/bin/python3", "-c", MODEL, model], check=True)
        self.start_server("--insecure-listen", lease_ms=lease_ms, before=self.inside("s"), reachable=False)
        self.model = model
        self.worker = self.start_worker("one", before=self.inside("w"))

    def tune(self, trials, *flags, side="s"):
        self.wanted = trials
        return self.start_tune("--model", self.model, "--trials", trials, "--threads", 1, *(flags or ["-q"]),
                               before=self.inside(side), output="messages")

    def wait_for_trials(self, count):
        self.until(lambda: self.trials() >= count, f"{count} trials")

    def end(self, tune):
        self.assertEqual(tune.wait(lab.TIMEOUT), 0, self.messages()[-2000:])
        self.stop(self.worker)
        self.check()
        rows = self.rows("SELECT state, trials FROM job")
        self.assertEqual(rows, [(lab.tuner.DONE, self.wanted)])


class CutCableTest(Machines):
    def cut_and_heal(self, cut, heal, lease_ms, lost):
        self.begin(lease_ms)
        tune = self.tune(160)
        self.wait_for_trials(8)
        before = self.descriptors()
        cut()
        lost()
        heal()
        healed = self.trials()
        self.wait_for_trials(healed + 8)
        self.until(lambda: self.descriptors() <= before + 4, "the end of dead connections")
        self.end(tune)

    def pause(self, seconds):
        """The fault's own length, not a wait for something."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, "time")

    def cable(self, state):
        self.ip("-n", self.net["w"], "link", "set", "eth0", state)

    def test_a_cut_shorter_than_the_lease_costs_nothing(self):
        self.cut_and_heal(lambda: self.cable("down"), lambda: self.cable("up"), 30_000, lambda: self.pause(5))
        self.assertNotIn("given up", self.messages())

    def test_a_cut_of_many_leases_and_keepalives(self):
        # Longer than the keepalive of both ends, 15 s, and than twenty leases: the server has forgotten the worker.
        self.cut_and_heal(lambda: self.cable("down"), lambda: self.cable("up"), 2500, lambda: self.pause(60))
        self.assertNotIn("given up", self.messages())

    def test_what_the_worker_says_is_dropped(self):
        self.cut_and_heal(lambda: self.drop("s", WORKER, True), lambda: self.drop("s", WORKER, False), 2500,
                          lambda: self.pause(18))

    def test_what_the_server_says_is_dropped(self):
        # Results arrive and their acknowledgements do not: they come again, and are stored once.
        self.cut_and_heal(lambda: self.drop("w", SERVER, True), lambda: self.drop("w", SERVER, False), 2500,
                          lambda: self.pause(18))

    def test_who_watches_is_cut_off(self):
        self.begin(30_000)
        tune = self.tune(160, "-v", side="w")
        other = self.tune(160, "-q", side="w")
        self.until(lambda: "running already: joined" in self.messages(), "the second watcher")
        self.wait_for_trials(8)
        self.cable("down")
        other.send_signal(signal.SIGINT)
        self.assertEqual(other.wait(lab.TIMEOUT), 130, self.messages()[-2000:])
        self.until(lambda: "no answer from the server" in self.messages(), "the watcher's notice")
        self.cable("up")
        self.end(tune)


class SlowCableTest(Machines):
    """The same machines, and a cable that is far too long or damaged. Leases last longer than any call."""
    CABLES = {
        "test_two_seconds_there_and_back_cost_no_trial": {"delay": 1.0},
        "test_lost_doubled_and_overtaking_packets_change_nothing":
            {"delay": 0.15, "jitter": 0.1, "loss": 0.05, "doubling": 0.05},
    }

    def connect(self):
        try:
            self.wire = wire.Wire(self.net["s"], self.net["w"], **self.CABLES[self._testMethodName])
        except OSError as error:
            self.skipTest(f"this system has no tap devices: {error}")
        self.addCleanup(self.wire.stop)
        self.wire.start()

    def work(self, trials):
        self.begin(30_000)
        self.end(self.tune(trials))
        self.assertNotIn("given up", self.messages())
        self.assertGreater(self.wire.carried, trials)

    def test_two_seconds_there_and_back_cost_no_trial(self):
        self.work(16)
        self.assertEqual(self.rows("SELECT count(*) FROM record")[0][0], 16)

    def test_lost_doubled_and_overtaking_packets_change_nothing(self):
        self.work(40)
        self.assertGreater(self.wire.lost, 0, f"seed {self.wire.seed}")
        self.assertGreater(self.wire.overtaken, 0)


MODEL = """
import sys, numpy, onnx
from onnx import helper, numpy_helper, TensorProto
weights = [numpy_helper.from_array(numpy.ones(shape, numpy.float32), name) for name, shape in (("v", (48, 32)), ("w", (32, 40)))]
nodes = [helper.make_node("MatMul", ["x", "v"], ["y"]), helper.make_node("MatMul", ["y", "w"], ["z"])]
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, n]) for name, n in (("x", 48), ("z", 40))]
graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""

if __name__ == "__main__":
    lab.main()
