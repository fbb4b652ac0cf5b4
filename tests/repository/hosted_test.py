#!/usr/bin/env python3
"""Holds what the code host reads against the rules of the host and against the tree: workflows,
issue forms, the template of changes, owners, the dev container.

  hosted_test.py SOURCE_FOLDER

Exits with 77 if PyYAML is missing.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
sys.path.append(str(SOURCE / "build/python"))  # where deploy/setup.sh puts what Debian lacks
try:
    import yaml
except ImportError:
    print("SKIPPED: there is no PyYAML: deploy/setup.sh fetches it with kubernetes-validate")
    sys.exit(77)

WORKFLOWS = sorted((SOURCE / ".github/workflows").glob("*.yml"))
FORMS = sorted((SOURCE / ".github/ISSUE_TEMPLATE").glob("*.yml"))
# Keys that the project uses; the list of all of them:
# https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax
JOB_KEYS = {
    "name",
    "needs",
    "if",
    "runs-on",
    "timeout-minutes",
    "strategy",
    "container",
    "env",
    "defaults",
    "concurrency",
    "steps",
}
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "env", "shell", "working-directory"}
EVENTS = {"push", "pull_request", "workflow_dispatch", "schedule"}
FIELD_TYPES = {"markdown", "input", "textarea", "dropdown", "checkboxes"}


class UniqueKeys(yaml.SafeLoader):
    """Refuses a mapping that has a key twice, which YAML parsers take in silence."""


def unique_mapping(loader, node, deep=False):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.constructor.ConstructorError(
            None, None, f"keys occur twice: {twice}", node.start_mark
        )
    return loader.construct_mapping(node, deep)


UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, unique_mapping)


def load(path):
    return yaml.load(path.read_text(), Loader=UniqueKeys)


def step_problems(step):
    if not isinstance(step, dict):
        yield "a step is a mapping"
        return
    if ("uses" in step) == ("run" in step):
        yield f"a step has either 'uses' or 'run': {step}"
    if set(step) - STEP_KEYS:
        yield f"unknown keys of a step: {set(step) - STEP_KEYS}"
    if "uses" in step and not re.fullmatch(
        r"[\w.-]+/[\w.-]+(/[\w.-]+)*@(v\d+|[0-9a-f]{40})", step["uses"]
    ):
        yield f"an action has a version: {step['uses']}"
    if "run" in step:
        script = re.sub(r"\$\{\{.*?\}\}", "expression", step["run"])
        parsed = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        if parsed.returncode != 0:
            yield f"a script does not parse: {parsed.stderr}"
        # Text of a change, such as its title, goes through the environment: in a script it would be
        # code.
        if re.search(r"\$\{\{\s*github\.(event|head_ref)", step["run"]):
            yield f"text of a change stands in a script: {step['run']}"
        for path in re.findall(
            r"(?<![\w./-])(?:\./)?((?:tests|deploy)/[\w./-]+\.(?:sh|py))", step["run"]
        ):
            if not (SOURCE / path).is_file():
                yield f"there is no {path}"


def workflow_problems(workflow):
    """Lines that say what the code host would refuse, or run otherwise than meant."""
    missing = {"name", True, "permissions", "jobs"} - set(
        workflow
    )  # YAML 1.1 reads the key 'on' as true
    if missing:
        yield f"keys are missing: {missing}"
        return
    events = workflow[True] if isinstance(workflow[True], dict) else {workflow[True]: None}
    if set(events) - EVENTS:
        yield f"unknown events: {set(events) - EVENTS}"
    if workflow["permissions"] != {"contents": "read"}:
        yield "a workflow reads the repository and does no more"
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        missing = {"runs-on", "timeout-minutes", "steps"} - set(job)
        if missing or set(job) - JOB_KEYS:
            yield f"{name}: missing {missing}, unknown {set(job) - JOB_KEYS}"
            continue
        needs = job.get("needs", [])
        for needed in [needs] if isinstance(needs, str) else needs:
            if needed not in jobs:
                yield f"{name}: needs {needed}, which is no job"
        matrix = job.get("strategy", {}).get("matrix", {})
        for used in re.findall(r"matrix\.([\w-]+)", json.dumps(job)):
            if used not in matrix:
                yield f"{name}: the matrix has no {used}"
        for step in job["steps"]:
            for problem in step_problems(step):
                yield f"{name}: {problem}"


def form_problems(form):
    missing = {"name", "description", "body"} - set(form)
    if missing or set(form) - {"name", "description", "title", "labels", "assignees", "body"}:
        yield f"missing {missing}, or unknown keys: {sorted(form)}"
        return
    ids = [field["id"] for field in form["body"] if "id" in field]
    if len(ids) != len(set(ids)):
        yield f"ids occur twice: {ids}"
    if all(field.get("type") == "markdown" for field in form["body"]):
        yield "nothing can be filled in"
    for field in form["body"]:
        attributes = field.get("attributes", {})
        wanted = "value" if field.get("type") == "markdown" else "label"
        if field.get("type") not in FIELD_TYPES or wanted not in attributes:
            yield f"a field needs a known type and '{wanted}': {field}"
        if set(field.get("validations", {})) - {"required"}:
            yield f"unknown validations: {field['validations']}"


class HostedTest(unittest.TestCase):
    def test_workflows_keep_the_rules_of_the_host(self):
        self.assertEqual([path.name for path in WORKFLOWS], ["ci.yml", "gpu.yml"])
        for path in WORKFLOWS:
            self.assertEqual(list(workflow_problems(load(path))), [], path.name)

    def test_faults_of_a_workflow_are_found(self):
        step = {"run": "true"}
        job = {"runs-on": "ubuntu-24.04", "timeout-minutes": 1, "steps": [step]}
        good = {
            "name": "n",
            True: {"push": None},
            "permissions": {"contents": "read"},
            "jobs": {"a": job},
        }
        self.assertEqual(list(workflow_problems(good)), [])
        for fault in (
            {"steps": [{"run": "if"}]},
            {"steps": [{"uses": "actions/checkout"}]},
            {"needs": "b"},
            {"steps": [{"run": "tests/missing.sh"}]},
            {"steps": [{"run": "echo ${{ github.event.x }}"}]},
            {"steps": [{"run": "true", "uses": "a/b@v1"}]},
            {"runs_on": "x"},
            {"name": "${{ matrix.x }}"},
        ):
            bad = {**good, "jobs": {"a": {**job, **fault}}}
            self.assertNotEqual(list(workflow_problems(bad)), [], fault)
        with self.assertRaises(yaml.YAMLError):
            yaml.load("a: 1\na: 2\n", Loader=UniqueKeys)

    def test_jobs_are_the_parts_of_the_test_script(self):
        script = (SOURCE / "tests/run.sh").read_text()
        parts = re.search(r"--only takes ([\w, ]+)\"", script)[1].replace(" or ", ", ").split(", ")
        job = load(SOURCE / ".github/workflows/ci.yml")["jobs"]["test"]
        self.assertEqual(sorted(job["strategy"]["matrix"]["part"]), sorted(parts))
        self.assertIn(
            "tests/run.sh --only ${{ matrix.part }}",
            "".join(step.get("run", "") for step in job["steps"]),
        )

    def test_only_a_label_starts_the_machine_with_a_gpu(self):
        workflow = load(SOURCE / ".github/workflows/gpu.yml")
        self.assertEqual(workflow[True]["pull_request"], {"types": ["labeled"]})
        self.assertIn("github.event.label.name == 'gpu-tests'", workflow["jobs"]["bundle"]["if"])
        own = [name for name, job in workflow["jobs"].items() if "self-hosted" in job["runs-on"]]
        self.assertEqual(own, ["test"])
        self.assertEqual(workflow["jobs"]["test"]["needs"], "bundle")

    def test_issue_forms_keep_the_rules_of_the_host(self):
        forms = [path for path in FORMS if path.name != "config.yml"]
        self.assertGreaterEqual(len(forms), 3)
        for path in forms:
            self.assertEqual(list(form_problems(load(path))), [], path.name)
        config = load(SOURCE / ".github/ISSUE_TEMPLATE/config.yml")
        self.assertEqual(set(config), {"blank_issues_enabled", "contact_links"})
        for link in config["contact_links"]:
            self.assertEqual(set(link), {"name", "url", "about"})

    def test_files_that_the_templates_name_exist(self):
        pages = [
            SOURCE / "SECURITY.md",
            SOURCE / "CHANGELOG.md",
            SOURCE / ".github/pull_request_template.md",
            *FORMS,
        ]
        for page in pages:
            for path in re.findall(
                r"(?<![\w./-])((?:[\w-]+/)*[\w-]+\.(?:md|sh))\b", page.read_text()
            ):
                if "github.com" not in path:
                    self.assertTrue((SOURCE / path).is_file(), f"{page.name} names {path}")

    def test_owners_own_files_that_exist(self):
        lines = (SOURCE / ".github/CODEOWNERS").read_text().splitlines()
        rows = [line.split() for line in lines if line and not line.startswith("#")]
        self.assertEqual(rows[0][0], "*")
        for pattern, *owners in rows:
            self.assertTrue(owners, pattern)
            for owner in owners:
                self.assertRegex(owner, r"^@[\w-]+/[\w-]+$")
            if pattern != "*":
                self.assertTrue(pattern.startswith("/"), pattern)
                path = SOURCE / pattern.strip("/")
                self.assertTrue(path.is_dir() if pattern.endswith("/") else path.is_file(), pattern)

    def test_the_dev_container_has_the_packages_of_the_set_up(self):
        folder = SOURCE / ".devcontainer"
        container = json.loads((folder / "devcontainer.json").read_text())
        context = (folder / container["build"]["context"]).resolve()
        self.assertEqual(context, SOURCE)
        dockerfile = (folder / container["build"]["dockerfile"]).read_text()
        self.assertRegex(dockerfile, r"(?m)^FROM debian:12$")
        self.assertIn("setup.sh --packages-only", dockerfile)
        self.assertIn("--packages-only ]]", (SOURCE / "deploy/setup.sh").read_text())
        for copied in re.findall(r"(?m)^COPY (.*) \S+$", dockerfile):
            for path in copied.split():
                self.assertTrue((context / path).is_file(), path)
        self.assertRegex(dockerfile, rf"useradd .*\b{container['remoteUser']}\b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
