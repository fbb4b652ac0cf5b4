#!/usr/bin/env python3
"""A command for --fleet exec that places workers as processes of this machine, in sessions of their own.
hook.py FOLDER: keeps a file for each, and serves tests; docs/reference/fleet-file.md describes the documents."""
import json
import os
import pathlib
import signal
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
document = json.load(sys.stdin)
assert document["schema"] == "mlc.fleet/1"


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def send(name, number):
    note = folder / f"{name}.job"
    if note.exists() and alive(pid := json.loads(note.read_text())["pid"]):
        os.kill(pid, number)


def ensure():
    for worker in document["workers"]:
        note = folder / f"{worker['name']}.job"
        if note.exists():
            continue
        process = subprocess.Popen(worker["command"], start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        note.write_text(json.dumps({"pid": process.pid, "pool": document["pool"]}))


def listing():
    workers = []
    for note in folder.glob("*.job"):
        job = json.loads(note.read_text())
        if alive(job["pid"]):
            workers.append({"name": note.stem, "pool": job["pool"], "state": "running", "where": str(job["pid"])})
    return {"workers": workers}


answer = {}
operation = document["operation"]
if operation == "list":
    answer = listing()
elif operation == "ensure":
    ensure()
elif operation == "drain":
    send(document["worker"], signal.SIGTERM)
elif operation == "kill":
    send(document["worker"], signal.SIGKILL)
else:
    answer = {"error": f"no operation {operation}"}
json.dump(answer, sys.stdout)
