#!/usr/bin/env python3
"""deploy/kubernetes/fleet_hook.py against the states of a cluster that the other providers have no word for; the cluster is
kubectl/kubectl.  kubernetes_test.py SOURCE_FOLDER"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
HOOK = SOURCE / "deploy/kubernetes/fleet_hook.py"
TEMPLATE = SOURCE / "deploy/kubernetes/worker-job.json"
HERE = SOURCE / "tests/conformance/fleet"
TIMEOUT_S = 90


class KubernetesTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.path = f"{HERE / 'kubectl'}:{os.environ['PATH']}"
        self.addCleanup(self.end_all)

    def end_all(self):
        """The stand-ins of workers end with the folder that they are told of."""
        (self.folder / "work").rename(self.folder / "gone") if (self.folder / "work").exists() else None

    def ask_raw(self, document, template=TEMPLATE):
        environment = {**os.environ, "PATH": self.path, "FAKE_CLUSTER": str(self.folder)}
        done = subprocess.run([sys.executable, HOOK, template, "mlc"], input=json.dumps(document), capture_output=True,
                              text=True, env=environment, check=True)
        return json.loads(done.stdout)

    def ask(self, operation, **more):
        return self.ask_raw({"schema": "mlc.fleet/1", "fleet": "lab", "operation": operation, **more})

    def ensure(self, *names):
        (self.folder / "work").mkdir(exist_ok=True)
        workers = [{"name": name, "command": [str(HERE / "worker.sh"), str(self.folder / "work"), name]} for name in names]
        return self.ask("ensure", pool="cpu", workers=workers)

    def listed(self):
        return {worker["name"]: worker for worker in self.ask("list")["workers"]}

    def state(self, name):
        return self.listed().get(name, {}).get("state")

    def wish(self, file, text="yes"):
        (self.folder / file).write_text(text)

    def wait(self, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it did not come about")
            time.sleep(0.02)

    def test_waiting_for_a_place_is_pending(self):
        self.wish("lab-cpu-b-1.pod", "unschedulable")
        self.wish("lab-cpu-b-2.pod", "none")
        self.wish("lab-cpu-b-3.pod", "ContainerCreating")
        self.assertEqual(self.ensure("lab-cpu-b-1", "lab-cpu-b-2", "lab-cpu-b-3"), {})
        self.assertEqual({worker["state"] for worker in self.listed().values()}, {"pending"})
        self.assertEqual(len(self.listed()), 3)

    def test_a_place_whose_container_does_not_start_is_no_waiting(self):
        for reason in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"):
            with self.subTest(reason):
                name = "lab-cpu-b-" + reason.lower()
                self.wish(name + ".pod", reason)
                self.ensure(name)
                worker = self.listed()[name]
                self.assertEqual(worker["state"], "running", "start_timeout_s is to end it")
                self.assertEqual(worker["where"], f"node1: {reason}")
                self.assertEqual(self.ask("kill", worker=name), {})
                self.assertIsNone(self.state(name))

    def test_what_runs_has_its_node_and_what_is_over_is_not_listed(self):
        self.ensure("lab-cpu-b-1")
        self.wait(lambda: (self.folder / "work/lab-cpu-b-1.alive").exists())
        worker = self.listed()["lab-cpu-b-1"]
        self.assertEqual((worker["state"], worker["where"], worker["pool"]), ("running", "node1", "cpu"))
        self.assertNotIn("evicted", worker)
        self.wish("work/lab-cpu-b-1.die")
        self.wait(lambda: self.state("lab-cpu-b-1") is None)
        self.assertIsNone(self.state("lab-cpu-b-1"), "nor when the job has failed, too")
        self.assertEqual(self.ensure("lab-cpu-b-1"), {}, "the job of that name exists")
        self.assertIsNone(self.state("lab-cpu-b-1"))

    def test_a_worker_whose_place_is_taken_away_says_so(self):
        self.wish("lab-cpu-b-1.pod", "evicted")
        self.ensure("lab-cpu-b-1")
        self.assertIn("node1 is taken away", self.listed()["lab-cpu-b-1"]["evicted"])

    def test_a_lost_node_leaves_the_worker_to_its_calls(self):
        self.wish("lab-cpu-b-1.pod", "unknown")
        self.ensure("lab-cpu-b-1")
        self.assertEqual(self.state("lab-cpu-b-1"), "running")

    def test_a_drained_worker_is_listed_until_its_pod_is_gone(self):
        self.ensure("lab-cpu-b-1")
        self.wait(lambda: (self.folder / "work/lab-cpu-b-1.alive").exists())
        pid = int((self.folder / "work/lab-cpu-b-1.pid").read_text())
        os.kill(pid, 19)  # it has no time for TERM
        self.assertEqual(self.ask("drain", worker="lab-cpu-b-1"), {})
        self.assertEqual(self.state("lab-cpu-b-1"), "ending")
        self.assertEqual(self.ask("drain", worker="lab-cpu-b-1"), {}, "again")
        os.kill(pid, 18)
        self.wait(lambda: self.state("lab-cpu-b-1") is None)
        self.assertTrue((self.folder / "work/lab-cpu-b-1.drained").exists())

    def test_one_that_exists_does_not_keep_the_others_from_starting(self):
        self.ensure("lab-cpu-b-1")
        self.assertEqual(self.ensure("lab-cpu-b-1", "lab-cpu-b-2"), {})
        self.assertEqual(sorted(self.listed()), ["lab-cpu-b-1", "lab-cpu-b-2"])

    def test_refusals_are_told_and_the_others_start(self):
        self.wish("quota", "-2")
        error = self.ensure("lab-cpu-b-1", "lab-cpu-b-2", "lab-cpu-b-3")["error"]
        self.assertIn('kubectl create: Error from server (Forbidden): error when creating "STDIN": jobs.batch "lab-cpu-b-2" is '
                      "forbidden: exceeded quota", error)
        self.assertNotIn("Warning", error)
        self.assertEqual(sorted(self.listed()), ["lab-cpu-b-1", "lab-cpu-b-3"])
        self.wish("forbidden")
        self.assertIn('cannot create resource "jobs"', self.ensure("lab-cpu-b-4")["error"])

    def test_a_cluster_that_is_away_is_an_error_of_every_operation(self):
        self.ensure("lab-cpu-b-1")
        self.wish("away")
        for answer in (self.ask("list"), self.ensure("lab-cpu-b-2"), self.ask("drain", worker="lab-cpu-b-1"),
                       self.ask("kill", worker="lab-cpu-b-1")):
            self.assertIn("The connection to the server 10.96.0.1:443 was refused", answer["error"])
        (self.folder / "away").unlink()
        self.assertEqual(list(self.listed()), ["lab-cpu-b-1"])

    def test_unknown_workers_are_no_error(self):
        self.assertEqual(self.ask("drain", worker="lab-cpu-b-9"), {})
        self.assertEqual(self.ask("kill", worker="lab-cpu-b-9"), {})

    def test_long_names_and_underscores_have_objects(self):
        long = "lab_of_the_whole_institute_in_town-cpu_of_the_oldest_generation_here-b1f3c5-12"
        self.assertEqual(self.ensure(long, long + "3", "lab-my_cpu-b-1"), {})
        self.assertEqual(sorted(self.listed()), sorted([long, long + "3", "lab-my_cpu-b-1"]))
        self.assertEqual(self.ask("kill", worker=long), {})
        self.wait(lambda: sorted(self.listed()) == sorted([long + "3", "lab-my_cpu-b-1"]))

    def test_a_pool_may_have_a_template_of_its_own(self):
        job = json.loads(TEMPLATE.read_text())
        (self.folder / "worker-job.json").write_text(json.dumps(job))
        job["metadata"]["labels"]["site"] = "gpu"
        (self.folder / "worker-job-gpu.json").write_text(json.dumps(job))
        for pool in ("cpu", "gpu"):
            self.wish(f"lab-{pool}-b-1.pod", "none")
            workers = [{"name": f"lab-{pool}-b-1", "command": ["true"]}]
            self.ask_raw({"schema": "mlc.fleet/1", "fleet": "lab", "operation": "ensure", "pool": pool, "workers": workers},
                         self.folder / "worker-job.json")
        labels = {pool: json.loads((self.folder / f"mlc.lab-{pool}-b-1.object").read_text())["job"]["metadata"]["labels"]
                  for pool in ("cpu", "gpu")}
        self.assertEqual(labels["gpu"]["site"], "gpu")
        self.assertNotIn("site", labels["cpu"])

    def test_foreign_jobs_with_the_label_are_left_alone(self):
        job = {"kind": "Job", "metadata": {"name": "theirs", "labels": {"mlc.dev/fleet": "lab"}, "uid": "1"},
               "spec": {"template": {"metadata": {"labels": {}}}}}
        self.wish("mlc.theirs.object", json.dumps({"pid": os.getpid(), "job": job}))
        self.assertEqual(self.listed(), {})

    def test_what_is_not_there_is_named(self):
        ensure = {"schema": "mlc.fleet/1", "fleet": "lab", "operation": "ensure", "pool": "cpu", "workers": []}
        self.assertIn("no-template.json is not there", self.ask_raw(ensure, "no-template.json")["error"])
        self.assertIn("lacks 'fleet'", self.ask_raw({"schema": "mlc.fleet/1", "operation": "list"})["error"])
        self.assertIn("expected schema", self.ask_raw({"schema": "mlc.fleet/2", "operation": "list"})["error"])
        self.assertIn("no operation dance", self.ask("dance")["error"])
        self.path = str(self.folder)
        self.assertIn("kubectl is not there", self.ask("list")["error"])


unittest.main()
