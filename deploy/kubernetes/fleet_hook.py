#!/usr/bin/env python3
"""Places workers as Kubernetes jobs, for mlc-server --fleet exec (docs/reference/fleet-file.md has the documents).

    "command": ["/opt/mlc/share/deploy/kubernetes/fleet_hook.py", "/etc/mlc/fleet/worker-job.json", "mlc"]

Arguments: the template of a job (deploy/kubernetes/worker-job.json is one) and the namespace. A pool may have a template of its own
beside it: worker-job-POOL.json, for example with nvidia.com/gpu among its resources. Needs kubectl, with the rights that
deploy/kubernetes/fleet.yaml grants. A job has one pod and is not retried: the server replaces what is lost."""
import hashlib
import json
import pathlib
import subprocess
import sys

SCHEMA = "mlc.fleet/1"
FLEET, POOL, WORKER = "mlc.dev/fleet", "mlc.dev/pool", "mlc.dev/worker"
# Below the server's command_timeout_s, so that a cluster that does not answer is told of in kubectl's words.
REQUEST_TIMEOUT = "--request-timeout=20s"
LONGEST_NAME = 63
# What a container waits for on its way to a start; anything else is trouble.
STARTING = (None, "ContainerCreating", "PodInitializing")


def kubectl(namespace, *words, document=None, forgiven="(no such words)"):
    """What it prints. Errors whose line has the words `forgiven` are none."""
    done = subprocess.run(["kubectl", "--namespace", namespace, REQUEST_TIMEOUT, *words], capture_output=True, text=True,
                          check=False, input=None if document is None else json.dumps(document))
    if done.returncode == 0:
        return done.stdout
    said = [line for line in done.stderr.splitlines() if line and not line.startswith("Warning:")]
    trouble = [line for line in said if forgiven not in line]
    if trouble or not said:
        raise RuntimeError(f"kubectl {words[0]}: " + ("; ".join(trouble) or f"exit code {done.returncode}"))
    return done.stdout


def object_name(worker):
    """Names of objects have no underscores; names of fleets and pools may. Longer ones than a label holds are cut."""
    name = worker.replace("_", ".")
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return name[:LONGEST_NAME - 11].rstrip("-.") + "-" + digest


def job_of(template, fleet, pool, worker):
    """The template with the worker's name, its labels and its command line."""
    job = json.loads(json.dumps(template))
    labels = {FLEET: fleet, POOL: pool}
    metadata = job.setdefault("metadata", {})
    metadata["name"] = object_name(worker["name"])
    metadata.setdefault("labels", {}).update(labels)
    metadata.setdefault("annotations", {})[WORKER] = worker["name"]
    job["spec"]["backoffLimit"] = 0
    pod = job["spec"]["template"]
    pod.setdefault("metadata", {}).setdefault("labels", {}).update(labels)
    pod["spec"]["restartPolicy"] = "Never"
    pod["spec"]["containers"][0]["command"] = worker["command"]
    return job


def holds(thing, *types):
    conditions = thing.get("status", {}).get("conditions") or []
    return any(c["type"] in types and c["status"] == "True" for c in conditions)


def trouble_of(pod):
    """Why a container of a pod that has a node does not start, for example ImagePullBackOff; empty: nothing is wrong."""
    for container in pod.get("status", {}).get("containerStatuses") or []:
        reason = (container.get("state", {}).get("waiting") or {}).get("reason")
        if reason not in STARTING:
            return reason
    return ""


def placed(job, pod):
    """The worker of a job and of its pod, if it has one; None if it is over."""
    metadata = job["metadata"]
    worker = {"name": metadata["annotations"][WORKER], "pool": metadata["labels"][POOL], "state": "pending",
              "where": f"job {metadata['name']}"}
    if metadata.get("deletionTimestamp"):
        return {**worker, "state": "ending"}
    if holds(job, "Complete", "Failed"):
        return None
    if pod is None:
        return worker
    phase, node = pod.get("status", {}).get("phase"), pod["spec"].get("nodeName")
    if phase in ("Succeeded", "Failed"):
        return None
    if node:
        worker["where"] = f"{node}: {trouble_of(pod)}" if trouble_of(pod) else node
    # A place whose container does not start is not waiting for a place: start_timeout_s ends it.
    if phase != "Pending" or trouble_of(pod):
        worker["state"] = "running"
    if pod["metadata"].get("deletionTimestamp") or holds(pod, "DisruptionTarget"):
        worker["evicted"] = f"its pod on {node} is taken away"
    return worker


def listing(namespace, fleet):
    answer = json.loads(kubectl(namespace, "get", "jobs,pods", "--selector", f"{FLEET}={fleet}", "--output", "json"))
    pods = {}
    for pod in (item for item in answer["items"] if item["kind"] == "Pod"):
        for owner in pod["metadata"].get("ownerReferences") or []:
            pods[owner["uid"]] = pod
    workers = []
    for job in (item for item in answer["items"] if item["kind"] == "Job"):
        # Somebody else's jobs may have the label.
        if WORKER in (job["metadata"].get("annotations") or {}) and POOL in job["metadata"]["labels"]:
            workers.append(placed(job, pods.get(job["metadata"]["uid"])))
    return {"workers": [worker for worker in workers if worker is not None]}


def template_of(path, pool):
    """The pool's own, or that of all."""
    own = path.with_name(f"{path.stem}-{pool}{path.suffix}")
    return json.loads((own if own.exists() else path).read_text(encoding="utf-8"))


def ensure(namespace, path, document):
    """All in one call. A job that exists already, even one that is over, is left alone."""
    template = template_of(path, document["pool"])
    jobs = [job_of(template, document["fleet"], document["pool"], worker) for worker in document["workers"]]
    kubectl(namespace, "create", "--filename", "-", document={"apiVersion": "v1", "kind": "List", "items": jobs},
            forgiven="(AlreadyExists)")
    return {}


def drain(namespace, worker):
    """TERM for the pod, and KILL after its grace period. The job is listed until the pod is gone."""
    kubectl(namespace, "delete", "job", object_name(worker), "--ignore-not-found", "--wait=false", "--cascade=foreground")
    return {}


def kill(namespace, worker):
    """The job first: it must not make another pod."""
    drain(namespace, worker)
    kubectl(namespace, "delete", "pods", "--selector", f"job-name={object_name(worker)}", "--ignore-not-found", "--wait=false",
            "--grace-period=0", "--force")
    return {}


def answer_to(document, path, namespace):
    if document.get("schema") != SCHEMA:
        raise RuntimeError(f"expected schema {SCHEMA}")
    operation = document["operation"]
    if operation == "list":
        return listing(namespace, document["fleet"])
    if operation == "ensure":
        return ensure(namespace, path, document)
    if operation == "drain":
        return drain(namespace, document["worker"])
    if operation == "kill":
        return kill(namespace, document["worker"])
    raise RuntimeError(f"no operation {operation}")


def main():
    try:
        if len(sys.argv) != 3:
            raise RuntimeError("usage: fleet_hook.py TEMPLATE NAMESPACE")
        result = answer_to(json.load(sys.stdin), pathlib.Path(sys.argv[1]), sys.argv[2])
    except FileNotFoundError as error:
        result = {"error": f"{error.filename} is not there"}
    except KeyError as error:
        result = {"error": f"a document or an object lacks {error}"}
    except (RuntimeError, ValueError, OSError) as error:
        result = {"error": str(error)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
