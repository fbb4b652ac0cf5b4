#!/usr/bin/env python3
"""Holds what deploy/ ships against the programs: Kubernetes manifests against the schemas of Kubernetes, flags in units,
containers and manifests against --help, alerts against the metrics that the server counts.

  manifests_test.py PROGRAMS_FOLDER SOURCE_FOLDER
"""

import json
import pathlib
import re
import subprocess
import sys

import kubernetes_consistency

# Not objects of a cluster, or parts of one.
PARTIAL = ("kustomization.yaml", "fleet-patch.yaml")
# Images by the program that they start, where the names differ.
PROGRAMS = {"mlc-server-kubernetes": "mlc-server"}
# Where deploy/setup.sh puts the packages that Debian lacks.
BUILD_PYTHON = "build/python"


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def documents(yaml, path):
    """All objects of a manifest, the items of lists one by one."""
    for document in yaml.safe_load_all(path.read_text()):
        if document is None:
            continue
        if document["kind"] == "List":
            yield from document["items"]
        else:
            yield document


def kubernetes_problems(yaml, source):
    import kubernetes_validate

    for path in sorted((source / "deploy/kubernetes").glob("*.yaml")):
        if path.name in PARTIAL:
            continue
        found = list(documents(yaml, path))
        if not found:
            yield f"{path.name}: no objects"
        for document in found:
            name = f"{path.name}: {document['kind']} {document['metadata']['name']}"
            try:
                kubernetes_validate.validate(document, "1.30", strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{name}: {error.message} at {error.path}"
    job = json.loads((source / "deploy/kubernetes/worker-job.json").read_text())
    job["metadata"]["name"] = "of-the-fleet"
    try:
        kubernetes_validate.validate(job, "1.30", strict=True)
    except kubernetes_validate.ValidationError as error:
        yield f"worker-job.json: {error.message} at {error.path}"
    manifests = {path.name: list(documents(yaml, path)) for path in (source / "deploy/kubernetes").glob("*.yaml")}
    yield from kubernetes_consistency.problems(source / "deploy/kubernetes", manifests)
    for resource in manifests["kustomization.yaml"][0]["resources"]:
        if resource not in manifests:
            yield f"kustomization.yaml: there is no {resource}"


def containers(node):
    """Every container of a manifest, however deep."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "containers":
                yield from value
            else:
                yield from containers(value)
    elif isinstance(node, list):
        for item in node:
            yield from containers(item)


def command_lines(yaml, source):
    """(where, program, words) of all command lines in deploy/."""
    for path in sorted((source / "deploy/systemd").glob("*.service")):
        text = path.read_text().replace("\\\n", " ")
        for line in re.findall(r"^ExecStart=(.*)$|^#   MLC_\w+_FLAGS=(.*)$", text, re.M):
            words = (line[0] or line[1]).split()
            program = path.stem if line[1] or "/bin/mlc-" in words[0] else None
            if program:
                yield path.name, program, words
    text = (source / "deploy/containers/Containerfile").read_text()
    program = None
    for line in text.splitlines():
        entry = re.match(r"ENTRYPOINT (\[.*\])|CMD (\[.*\])", line)
        if entry:
            words = yaml.safe_load(entry[1] or entry[2])
            program = pathlib.Path(words[0]).name if entry[1] else program
            yield "Containerfile", program, words
    services = yaml.safe_load((source / "deploy/containers/compose.yaml").read_text())["services"]
    for name, service in services.items():
        if service["image"].startswith("mlc-"):
            yield "compose.yaml: " + name, service["image"], service["command"]
    for path in sorted((source / "deploy/kubernetes").glob("*.yaml")):
        for document in documents(yaml, path):
            for container in containers(document):
                image = container["image"]
                yield path.name, PROGRAMS.get(image, image), container["args"]
    for pool in json.loads((source / "deploy/kubernetes/fleet.json").read_text())["pools"]:
        yield "fleet.json", "mlc-worker", pool["worker"]


def flag_problems(yaml, source, programs):
    helps = {}
    checked = 0
    for where, program, words in command_lines(yaml, source):
        if program not in helps:
            shown = subprocess.run([programs / program, "--help"], capture_output=True, text=True, check=True)
            helps[program] = set(re.findall(r"(--[a-z][a-z0-9-]*)", shown.stdout))
        for word in words:
            flag = str(word).split("=")[0]
            if flag.startswith("--"):
                checked += 1
                if flag not in helps[program]:
                    yield f"{where}: {program} has no {flag}"
    if checked < 40:
        yield f"only {checked} flags were found in deploy/: this test reads it wrongly"


def alert_problems(yaml, source):
    known = set(re.findall(r'"(mlc_[a-z_]+)"', (source / "server/metrics/metrics.cc").read_text()))
    described = source / "docs/reference/metrics.md"
    documented = described.read_text() if described.exists() else ""
    rules = yaml.safe_load((source / "deploy/prometheus/alerts.yml").read_text())["groups"][0]["rules"]
    for rule in rules:
        for name in re.findall(r"\bmlc_[a-z_]+", rule["expr"]):
            if name not in known and name.removesuffix("_bucket") not in known:
                yield f"alerts.yml: {rule['alert']} uses {name}, which the server does not count"
        if rule["alert"] not in documented:
            yield f"docs/reference/metrics.md does not say what to do about {rule['alert']}"
    for name in known:
        if name not in documented:
            yield f"docs/reference/metrics.md lacks {name}"
    yield from dashboard_problems(known, source)


def dashboard_problems(known, source):
    """Every panel of the dashboard asks for what the server counts."""
    panels = json.loads((source / "deploy/grafana/mlc-server.json").read_text())["panels"]
    asked = 0
    for panel in panels:
        for target in panel["targets"]:
            names = re.findall(r"\bmlc_[a-z_]+", target["expr"])
            asked += len(names)
            if not names:
                yield f"mlc-server.json: '{panel['title']}' asks for nothing"
            for name in names:
                if not known & {name, name.removesuffix("_bucket"), name.removesuffix("_sum")}:
                    yield f"mlc-server.json: '{panel['title']}' uses {name}, which the server does not count"
    if asked < 20:
        yield f"only {asked} metrics were found in mlc-server.json: this test reads it wrongly"


def unit_problems(source):
    """What is mended without a word to systemd, such as a file's owner or a full disk, must not leave the server down."""
    unit = (source / "deploy/systemd/mlc-server.service").read_text()
    prevented = re.findall(r"^RestartPreventExitStatus=(.*)$", unit, re.M)
    if prevented != ["2 78"]:
        yield f"mlc-server.service: after these exit codes it stays down: {prevented}"
    if "Restart=always" not in unit or "StartLimitIntervalSec=0" not in unit:
        yield "mlc-server.service: gives up after some tries"


def main():
    programs, source = (pathlib.Path(argument) for argument in sys.argv[1:3])
    sys.path.insert(0, str(source / BUILD_PYTHON))
    try:
        import kubernetes_validate  # noqa: F401
        import yaml
    except ImportError as error:
        skip(f"{error.name} is not there: deploy/setup.sh installs it")
    problems = [
        *kubernetes_problems(yaml, source),
        *flag_problems(yaml, source, programs),
        *alert_problems(yaml, source),
        *unit_problems(source),
    ]
    print("\n".join(problems) or "deploy/ fits the programs")
    sys.exit(1 if problems else 0)


main()
