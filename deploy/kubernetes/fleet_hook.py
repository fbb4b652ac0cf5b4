#!/usr/bin/env python3
"""Places workers as Kubernetes jobs, for mlc-server --fleet exec (docs/fleet.md has the documents).

    "command": ["/opt/mlc/share/deploy/kubernetes/fleet_hook.py", "/etc/mlc/worker-job.json", "mlc"]

Arguments: the template of a job (deploy/kubernetes/worker-job.json is one) and the namespace. Needs kubectl, with the rights to
get, create and delete jobs and pods there. A job has one pod and is not retried: the server replaces what is lost."""
import json
import pathlib
import subprocess
import sys

SCHEMA = "mlc.fleet/1"
FLEET, POOL = "mlc.dev/fleet", "mlc.dev/pool"


def kubectl(namespace, *words, document=None):
    done = subprocess.run(["kubectl", "--namespace", namespace, *words], capture_output=True, text=True, check=False,
                          input=None if document is None else json.dumps(document))
    if done.returncode != 0:
        raise RuntimeError(f"kubectl {words[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def object_name(worker):
    """Names of objects have no underscores; names of fleets and pools may."""
    return worker.replace("_", ".")


def job_of(template, fleet, pool, worker):
    """The template with the worker's name, its labels and its command line."""
    job = json.loads(json.dumps(template))
    labels = {FLEET: fleet, POOL: pool}
    metadata = job.setdefault("metadata", {})
    metadata["name"] = object_name(worker["name"])
    metadata.setdefault("labels", {}).update(labels)
    metadata.setdefault("annotations", {})["mlc.dev/worker"] = worker["name"]
    pod = job["spec"]["template"]
    pod.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
    pod["spec"]["containers"][0]["command"] = worker["command"]
    return job


def state_of(job):
    """The state of a job, or None if it is over."""
    status = job.get("status", {})
    if job["metadata"].get("deletionTimestamp"):
        return "ending"
    if any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in status.get("conditions", [])):
        return None
    return "running" if status.get("ready", 0) > 0 else "pending"


def listing(namespace, fleet):
    jobs = json.loads(kubectl(namespace, "get", "jobs", "--selector", f"{FLEET}={fleet}", "--output", "json"))
    workers = []
    for job in jobs["items"]:
        state, metadata = state_of(job), job["metadata"]
        if state is not None:
            workers.append({"name": metadata["annotations"]["mlc.dev/worker"], "pool": metadata["labels"][POOL],
                            "state": state, "where": f"job {metadata['name']}"})
    return {"workers": workers}


def ensure(namespace, template, document):
    known = {worker["name"] for worker in listing(namespace, document["fleet"])["workers"]}
    for worker in document["workers"]:
        if worker["name"] not in known:
            kubectl(namespace, "create", "--filename", "-",
                    document=job_of(template, document["fleet"], document["pool"], worker))
    return {}


def drain(namespace, worker):
    """Deleting a job sends TERM to its pod, and KILL after the pod's grace period."""
    kubectl(namespace, "delete", "job", object_name(worker), "--ignore-not-found", "--wait=false", "--cascade=background")
    return {}


def kill(namespace, worker):
    kubectl(namespace, "delete", "pod", "--selector", f"job-name={object_name(worker)}", "--ignore-not-found", "--wait=false",
            "--grace-period=0", "--force")
    return drain(namespace, worker)


def answer(template, namespace, document):
    if document.get("schema") != SCHEMA:
        raise RuntimeError(f"expected schema {SCHEMA}")
    operation = document["operation"]
    if operation == "list":
        return listing(namespace, document["fleet"])
    if operation == "ensure":
        return ensure(namespace, template, document)
    if operation == "drain":
        return drain(namespace, document["worker"])
    if operation == "kill":
        return kill(namespace, document["worker"])
    raise RuntimeError(f"no operation {operation}")


def main():
    template = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        result = answer(template, sys.argv[2], json.load(sys.stdin))
    except (RuntimeError, KeyError, ValueError) as error:
        result = {"error": str(error)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
