"""What no schema says of deploy/kubernetes: names that have to be the same in two places, and what a namespace with the restricted
standard for pods admits. No cluster is needed."""

import json

NAMESPACE = "mlc"
PART_OF = "app.kubernetes.io/name"


def pods_of(document):
    """The template of a workload's pods, if it is one."""
    template = document.get("spec", {}).get("template")
    return template if isinstance(template, dict) and "spec" in template else None


def restricted_problems(where, spec):
    """The rules of the restricted standard that concern what is used here."""
    pod = spec.get("securityContext", {})
    if pod.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield f"{where}: no seccomp profile, the namespace refuses its pods"
    if pod.get("runAsNonRoot") is not True or pod.get("runAsUser", 0) == 0:
        yield f"{where}: it may run as root"
    for container in spec["containers"]:
        own = container.get("securityContext", {})
        # The sandboxes of workers need no_new_privs, too.
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"{where}: {container['name']} may gain privileges"
        if own.get("capabilities", {}).get("drop") != ["ALL"]:
            yield f"{where}: {container['name']} keeps capabilities"
        if own.get("readOnlyRootFilesystem") is not True:
            yield f"{where}: {container['name']} may write its image"


def volume_problems(where, document, spec):
    claims = [claim["metadata"]["name"] for claim in document["spec"].get("volumeClaimTemplates", [])]
    known = [volume["name"] for volume in spec.get("volumes", [])] + claims
    mounts = [mount for container in spec["containers"] for mount in container.get("volumeMounts", [])]
    for mount in mounts:
        if mount["name"] not in known:
            yield f"{where}: there is no volume {mount['name']}"
    for name in set(known) - {mount["name"] for mount in mounts}:
        yield f"{where}: volume {name} is mounted nowhere"


def port_problems(where, spec):
    for container in spec["containers"]:
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            action = container.get(probe, {})
            port = (action.get("tcpSocket") or action.get("httpGet") or {}).get("port")
            if port is not None and port not in ports:
                yield f"{where}: {probe} asks port {port}, which {container['name']} has not"


def path_problems(where, spec, words):
    """Files in flags lie in something that is mounted."""
    mounts = [mount["mountPath"] for container in spec["containers"] for mount in container.get("volumeMounts", [])]
    for word in words:
        flag, _, path = str(word).partition("=")
        if path.startswith("/") and not any(path == mount or path.startswith(mount + "/") for mount in mounts):
            yield f"{where}: {flag} names {path}, where nothing is mounted"


def selector_problems(documents):
    labels = [pods_of(document)["metadata"]["labels"] for document in documents if pods_of(document)]
    for document in documents:
        where = f"{document['kind']} {document['metadata']['name']}"
        spec = document.get("spec", {})
        wanted = spec.get("selector") if document["kind"] == "Service" else spec.get("podSelector", {}).get("matchLabels")
        if wanted and not any(wanted.items() <= own.items() for own in labels):
            yield f"{where}: selects no pods"
        if pods_of(document) and "selector" in spec:
            if not spec["selector"]["matchLabels"].items() <= pods_of(document)["metadata"]["labels"].items():
                yield f"{where}: does not select its own pods"
        if document["kind"] != "Namespace" and document["metadata"].get("namespace") != NAMESPACE:
            yield f"{where}: is not in the namespace {NAMESPACE}"


def address_problems(where, words, documents):
    services = {(d["metadata"]["name"], port["port"]) for d in documents if d["kind"] == "Service" for port in d["spec"]["ports"]}
    for word in words:
        if str(word).startswith("--server="):
            host, _, port = word.removeprefix("--server=").rpartition(":")
            if (host.removesuffix(f".{NAMESPACE}.svc"), int(port)) not in services:
                yield f"{where}: there is no service {host}:{port}"


def rights_problems(documents, hook):
    """The role has what the hook's kubectl does, no more, and somebody has the role."""
    role = next(d for d in documents if d["kind"] == "Role")
    granted = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    needed = {("jobs", verb) for verb in ("get", "list", "create", "delete")} | {("pods", verb) for verb in ("get", "list", "delete")}
    if granted != needed:
        yield f"Role {role['metadata']['name']}: grants {sorted(granted)}, the hook needs {sorted(needed)}"
    for words in ('"get", "jobs,pods"', '"create"', '"delete", "job"', '"delete", "pods"'):
        if words not in hook:
            yield f"fleet_hook.py does not say {words} any more: see which rights it needs"
    binding = next(d for d in documents if d["kind"] == "RoleBinding")
    accounts = {(d["kind"], d["metadata"]["name"]) for d in documents}
    for who in [binding["roleRef"], *binding["subjects"]]:
        if (who["kind"], who["name"]) not in accounts:
            yield f"RoleBinding {binding['metadata']['name']}: there is no {who['kind']} {who['name']}"


def patch_problems(server, patch, documents):
    """The patched server is the other one, and more."""
    before, after = pods_of(server)["spec"], pods_of(patch)["spec"]
    if patch["metadata"] != {key: server["metadata"][key] for key in ("name", "namespace")}:
        yield "fleet-patch.yaml: is for another object"
    old, new = before["containers"][0], after["containers"][0]
    if new["name"] != old["name"] or new["args"][:len(old["args"])] != old["args"]:
        yield "fleet-patch.yaml: its server is not started as that of server.yaml is"
    accounts = {d["metadata"]["name"] for d in documents if d["kind"] == "ServiceAccount"}
    if after["serviceAccountName"] not in accounts or after["automountServiceAccountToken"] is not True:
        yield "fleet-patch.yaml: its server has no account"
    spec = {"containers": [{**new, "volumeMounts": old["volumeMounts"] + new["volumeMounts"]}]}
    yield from path_problems("fleet-patch.yaml", spec, new["args"])


def problems(folder, manifests):
    """`manifests`: the objects of each file by its name."""
    job = json.loads((folder / "worker-job.json").read_text())
    job["metadata"].update({"name": "of the fleet", "namespace": NAMESPACE})
    fleet = json.loads((folder / "fleet.json").read_text())
    documents = [document for name in ("server.yaml", "worker.yaml", "fleet.yaml") for document in manifests[name]] + [job]
    yield from selector_problems(documents)
    for document in documents:
        if not pods_of(document):
            continue
        where, spec = f"{document['kind']} {document['metadata']['name']}", pods_of(document)["spec"]
        words = fleet["pools"][0]["worker"] if document is job else spec["containers"][0]["args"]
        yield from restricted_problems(where, spec)
        yield from volume_problems(where, document, spec)
        yield from port_problems(where, spec)
        yield from path_problems(where, spec, words)
        yield from address_problems(where, words, documents)
    yield from address_problems("fleet.json", [f"--server={fleet['server']}"], documents)
    if fleet["command"][2] != NAMESPACE or not fleet["command"][1].endswith("/worker-job.json"):
        yield "fleet.json: the command is for another namespace or template"
    server = next(d for d in documents if d["kind"] == "StatefulSet")
    yield from patch_problems(server, manifests["fleet-patch.yaml"][0], documents)
    yield from rights_problems(documents, (folder / "fleet_hook.py").read_text())
