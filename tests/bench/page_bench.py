#!/usr/bin/env python3
"""What open pages cost a server: opens streams of one job's page and of the list of jobs while a worker tunes, and reads
the CPU time of the page's threads, which have a nice value of their own. Calls, waits for a lease and acknowledgements of
results are timed with and without them.

    page_bench.py BUILD_FOLDER [--pages 100] [--seconds 20]

Prints one JSON document. The server is one of this machine, on ports that it picks.
"""
import argparse
import json
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request

PAGE_NICE = 15  # server/page/listener.cc


def page_seconds(pid):
    """CPU time of the page's threads: those with its nice value. Each uses less than a tick of the kernel's clock in a
    second, so it is read in nanoseconds."""
    spent = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            fields = (thread / "stat").read_text().rsplit(") ", 1)[1].split()
            if int(fields[16]) >= PAGE_NICE:
                spent += int((thread / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return spent / 1e9


def words_of(path, pattern):
    for _ in range(1000):
        found = re.search(pattern, path.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    raise SystemExit(f"nothing of {pattern}: {path.read_text()}")


class Reader(threading.Thread):
    """One open page: reads its stream to the end."""

    def __init__(self, host, port, path):
        super().__init__(daemon=True)
        self.socket = socket.create_connection((host, port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        self.events = self.bytes = 0
        self.start()

    def run(self):
        while True:
            try:
                part = self.socket.recv(65536)
            except OSError:
                return
            if not part:
                return
            self.bytes += len(part)
            self.events += part.count(b"event: fragment")


def call_ms(tune, address, times):
    """The median time of a program that asks the server once."""
    taken = []
    for _ in range(times):
        begin = time.monotonic()
        subprocess.run([tune, "workers", "--server", address], check=True, capture_output=True)
        taken.append((time.monotonic() - begin) * 1e3)
    return sorted(taken)[len(taken) // 2]


def records_of(log, job):
    """Trials that the log has of the job."""
    with sqlite3.connect(f"file:{log}?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM record WHERE job_id = ?", (bytes.fromhex(job),)).fetchone()[0]


def sums_of(address):
    """Sum and count of the histograms of the metrics."""
    with urllib.request.urlopen(f"http://{address}/metrics") as reply:
        text = reply.read().decode()
    read = lambda name: float(re.search(rf"^mlc_server_{name} (\S+)$", text, re.M)[1])
    return {what: (read(f"{name}_sum"), read(f"{name}_count")) for what, name in
            (("lease_wait_ms", "trial_queue_seconds"), ("acknowledge_ms", "acknowledge_duration_seconds"))}


def means(before, after):
    """Of what was observed between two readings, in ms."""
    return {what: round(1e3 * (after[what][0] - total) / max(1, after[what][1] - count), 3)
            for what, (total, count) in before.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parents[2]
    program = lambda name: str(args.build / "bin" / name)
    with tempfile.TemporaryDirectory(prefix="mlc-page-bench-") as name:
        folder = pathlib.Path(name)
        model, log, words = folder / "resnet18.onnx", folder / "tuning.db", folder / "words"
        subprocess.run(["/usr/bin/python3", source / "tests/models/make_model.py", "resnet18", model, "--reduced"], check=True)
        with open(words, "a") as output:
            server = subprocess.Popen([program("mlc-server"), "--log", log, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                                       "--metrics", "127.0.0.1:0"], stdout=output, stderr=output)
            metrics = "127.0.0.1:" + words_of(words, r"metrics on port (\d+)")
            address = words_of(words, r"listening (\S+)")
            host, port = re.match(r"http://(.*):(\d+)$", words_of(words, r"the page is on (http://\S+)/")).groups()
            worker = subprocess.Popen([program("mlc-worker"), "--server", address, "--threads", "1", "--builders", "1",
                                       "--name", "bench"], stdout=output, stderr=output)
        try:
            while "bench" not in subprocess.run([program("mlc-tune"), "workers", "--server", address], check=True,
                                                capture_output=True, text=True).stdout:
                time.sleep(0.1)
            job = subprocess.run([program("mlc-tune"), "--server", address, "--model", model, "--trials", "1000000", "--target",
                                  "cpu", "--threads", "1", "--detach", "--quiet"], check=True, capture_output=True,
                                 text=True).stdout.split()[-1]
            time.sleep(5)
            alone_ms = call_ms(program("mlc-tune"), address, 11)
            before, sums, begin = records_of(log, job), sums_of(metrics), time.monotonic()
            time.sleep(args.seconds)
            alone_rate, alone = (records_of(log, job) - before) / (time.monotonic() - begin), means(sums, sums_of(metrics))
            pages = [Reader(host, int(port), path) for _ in range(args.pages // 2) for path in (f"/events/jobs/{job}", "/events/jobs")]
            time.sleep(2)
            before, sums = records_of(log, job), sums_of(metrics)
            spent, begin = page_seconds(server.pid), time.monotonic()
            time.sleep(args.seconds)
            wall = time.monotonic() - begin
            spent = page_seconds(server.pid) - spent
            rate, crowded = (records_of(log, job) - before) / wall, means(sums, sums_of(metrics))
            open_ms = call_ms(program("mlc-tune"), address, 11)
            print(json.dumps({"pages": len(pages), "core_percent": round(100 * spent / wall, 2),
                              "events_each_s": round(sum(page.events for page in pages) / len(pages) / (wall + 2), 2),
                              "kib_s": round(sum(page.bytes for page in pages) / 1024 / (wall + 2)),
                              "records_s": {"without": round(alone_rate, 2), "with": round(rate, 2)},
                              "call_ms": {"without": round(alone_ms, 1), "with": round(open_ms, 1)}}
                             | {what: {"without": alone[what], "with": crowded[what]} for what in alone}))
        finally:
            for process in (worker, server):
                process.send_signal(signal.SIGTERM)
                process.wait(60)


if __name__ == "__main__":
    main()
