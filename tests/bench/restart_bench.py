#!/usr/bin/env python3
"""How long is a server away that was killed? Starts mlc-server on a log, kills it with SIGKILL, starts it again, and says how
long each start took until it served. log_bench makes logs of a million records.
usage: restart_bench.py BUILD LOG.db [STARTS=10]"""
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time


def main():
    build, log = sys.argv[1:3]
    starts = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(starts):
            begin = time.monotonic()
            server = subprocess.Popen([pathlib.Path(build) / "bin/mlc-server", "--log", log, "--listen",
                                       f"unix:{folder}/socket", "--log-file", f"{folder}/messages"], stdout=subprocess.PIPE, text=True)
            if not server.stdout.readline().startswith("listening"):
                sys.exit(f"mlc-server ended with code {server.wait()}")
            times.append(time.monotonic() - begin)
            server.send_signal(signal.SIGKILL)
            server.wait()
    print(f"{starts} starts after a kill: median {statistics.median(times) * 1000:.0f} ms, longest {max(times) * 1000:.0f} ms")


main()
