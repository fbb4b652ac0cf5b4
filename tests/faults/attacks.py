"""What callers could do to a server: calls that cost more than they weigh, of every role, and floods by hand. For the test that
wants bounds kept, and for tests/bench/hostile_bench.py, which measures."""
import contextlib
import os
import pathlib
import subprocess
import threading
import time

import grpc
import http2

MIB = 1 << 20
TUNER, WORKERS = "/mlc.proto.Tuner/", "/mlc.proto.Workers/"


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def many_digests(count):
    return b"".join(field(1, f"{n:032x}".encode()) for n in range(count))


def request(rest):
    """Of a job, of a client of this protocol."""
    return b"\x08\x01" + rest


def report(target, rest):
    """Of a worker called w."""
    return b"\x08\x01" + field(2, b"w") + field(3, b"b") + field(5, target.encode()) + rest


# Name: (role, method, request). Requests are what the wire has, so that none need be well formed. 100 are under way at once.
CALLS = {
    "15 MiB of empty tasks": ("submit", TUNER + "SubmitJob", lambda _: request(b"\x12\x00" * (15 * MIB // 2))),
    "empty tasks": ("submit", TUNER + "SubmitJob", lambda _: request(b"\x12\x00" * (MIB // 2))),
    "as many tasks as may be": ("submit", TUNER + "SubmitJob", lambda _: request(b"\x12\x00" * 299_990)),
    "empty variants": ("submit", TUNER + "SubmitJob", lambda _: request(b"\x3a\x00" * (MIB // 2))),
    "a task of endless uses": ("submit", TUNER + "SubmitJob", lambda _: request(field(2, field(4, b"\x01" * (15 * MIB))))),
    "one endless text": ("submit", TUNER + "SubmitJob", lambda _: request(field(2, field(1, b"x" * (15 * MIB))))),
    "unknown fields": ("submit", TUNER + "SubmitJob", lambda _: b"\xf8\x01\x01" * (MIB // 3)),
    "groups in groups": ("submit", TUNER + "SubmitJob", lambda _: b"\xfb\x01" * 50 + b"\xfc\x01" * 50),
    "a raw kernel": ("submit", TUNER + "SubmitUserKernel", lambda _: field(1, request(b"")) + field(2, field(2, b"x" * (15 * MIB)))),
    "kernels for 10,000 workloads": ("read", TUNER + "Best", lambda _: many_digests(10_000) + field(4, b"k" * (14 * MIB)) + field(2, b"t")),
    "empty digests": ("read", TUNER + "Best", lambda _: b"\x0a\x00" * (MIB // 2)),
    "10,000 workloads": ("read", TUNER + "Best", lambda _: many_digests(10_000) + field(2, os.urandom(8).hex().encode())),
    "jobs in large": ("read", TUNER + "GetJob", lambda _: field(1, b"0" * (15 * MIB))),
    "lists in large": ("read", TUNER + "ListJobs", lambda _: b"\x08\x01" * (MIB // 2)),
    "empty results": ("work", WORKERS + "Synchronize", lambda target: report(target, b"\x42\x00" * (MIB // 2))),
    "results in no report": ("work", WORKERS + "Synchronize", lambda target: report(target, field(8, field(1, bytes(16))) * 9_000)),
    "holding without end": ("work", WORKERS + "Synchronize", lambda target: report(target, b"\x3a\x00" * (MIB // 2))),
    "a worker's endless name": ("work", WORKERS + "Synchronize", lambda _: field(2, b"w" * (15 * MIB))),
    "kernels of a worker": ("work", WORKERS + "Synchronize", lambda target: report(target, field(11, b"\x12\x00" * (MIB // 2)))),
    "compressed zeros": ("read", TUNER + "Best", None),
    "drains in large": ("admin", WORKERS + "DrainWorker", lambda _: field(2, b"r" * (15 * MIB))),
}


class Victim:
    """An mlc-server behind TLS that takes tokens, too; and what it is like."""

    def __init__(self, build, source, folder, target, environment=None):
        self.target = target
        self.folder = pathlib.Path(folder)
        for made in ("ca", "server localhost 127.0.0.1", "read x", "submit x", "work w", "work beat", "admin x", "token read y"):
            subprocess.run([source / "deploy/certificates.sh", folder, *made.split()], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        command = [build / "bin/mlc-server", "--log", self.folder / "tuning.db", "--listen", "127.0.0.1:0", "--canaries", "off",
                   "--tls-cert", self.folder / "server.pem", "--tls-key", self.folder / "server.key", "--tls-ca", self.folder / "ca.pem",
                   "--tokens", self.folder / "tokens", "--log-file", self.folder / "messages"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline()
        if not line.startswith("listening "):
            raise RuntimeError(f"mlc-server says {line!r}, and ends with {self.process.poll()}")
        self.address = line.split()[1]

    def _status(self, name):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        return 0

    def resident_mib(self):
        return self._status("VmRSS")

    def most_mib(self):
        return self._status("VmHWM")

    def forget_most(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def channel(self, who, number=0):
        read = lambda name: (self.folder / name).read_bytes()  # noqa: E731
        credentials = grpc.ssl_channel_credentials(read("ca.pem"), read(f"{who}.key"), read(f"{who}.pem"))
        options = [("grpc.use_local_subchannel_pool", 1), ("mlc.number", number), ("grpc.max_receive_message_length", 64 * MIB)]
        return grpc.secure_channel(self.address, credentials, options)

    def stop(self):
        self.process.terminate()
        code = self.process.wait()
        self.process.stdout.close()
        return code


class Heartbeat(threading.Thread):
    """A worker that calls ten times a second; how long the longest call took, and what went wrong."""

    def __init__(self, victim):
        super().__init__(daemon=True)
        self.channel = victim.channel("work-beat")
        self.call = self.channel.unary_unary(WORKERS + "Synchronize", None, None)
        self.request = b"\x08\x01" + field(2, b"beat") + field(3, b"boot") + field(5, victim.target.encode())
        self.longest_s = 0.0
        self.calls = 0
        self.errors = []
        self.stopping = threading.Event()
        self.call(self.request, timeout=20)  # connects

    def run(self):
        while not self.stopping.wait(0.1):
            begin = time.monotonic()
            try:
                self.call(self.request, timeout=20)
            except grpc.RpcError as error:
                self.errors.append((error.code(), error.details()))
            self.longest_s = max(self.longest_s, time.monotonic() - begin)
            self.calls += 1

    def stop(self):
        self.stopping.set()
        self.join()
        self.channel.close()


def call_at_once(victim, name, count=100, timeout=20, connections=100):
    """The calls of that name, `count` at once; the codes of their ends."""
    role, method, make = CALLS[name]
    who = "work-w" if role == "work" else f"{role}-x"
    options, request = {}, make(victim.target) if make else bytes(1024 * MIB // 8)
    if make is None:
        options["compression"] = grpc.Compression.Gzip
    channels = [victim.channel(who, n) for n in range(connections)]
    for channel in channels:
        grpc.channel_ready_future(channel).result(60)
    calls = [channels[n % connections].unary_unary(method, None, None).future(request, timeout=timeout, **options)
             for n in range(count if make else 8)]
    codes = {}
    for call in calls:
        code = call.code().name
        codes[code] = codes.get(code, 0) + 1
    for channel in channels:
        channel.close()
    return codes


def flood(victim, name, who, stop):
    """Says the same until it is told to stop, connecting anew when it is hung up on; bytes sent."""
    sent = 0
    while not stop.is_set():
        with contextlib.suppress(OSError), http2.connect(victim.address, victim.folder, who, timeout=5) as connection:
            http2.greet(connection)
            if who:
                http2.first_call(connection)
            for piece in http2.flood(name):
                if stop.is_set():
                    break
                connection.sendall(piece)
                sent += len(piece)
        stop.wait(0.01)
    return sent


def flood_at_once(victim, name, who=None, count=4, seconds=5.0):
    """From `count` connections for so long; bytes sent."""
    stop, sent = threading.Event(), []
    floods = [threading.Thread(target=lambda: sent.append(flood(victim, name, who, stop)), daemon=True) for _ in range(count)]
    for one in floods:
        one.start()
    stop.wait(seconds)
    stop.set()
    for one in floods:
        one.join()
    return sum(sent)


def crowd(victim, count, handshake=False):
    """Connections that idle, from many addresses of this machine, after their TLS handshake or before. Closed with the result."""
    stack = contextlib.ExitStack()
    refused = 0
    for n in range(count):
        try:
            source = f"127.0.{1 + n // 20_000}.{1 + n % 200}"
            connection = http2.connect(victim.address, victim.folder if handshake else None, source=source, timeout=5)
            if not handshake:
                connection.send(b"\x16\x03\x01\x02")
            stack.enter_context(connection)
        except OSError:
            refused += 1
    return stack, refused


FLOODS = [*http2.REPEATED, *http2.RESETS]
