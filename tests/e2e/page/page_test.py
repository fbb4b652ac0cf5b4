#!/usr/bin/env python3
"""The live page in headless Chromium, with a server, a worker and jobs from the command line.

    page_test.py BUILD_FOLDER

Needs Debian's chromium, chromium-driver and python3-selenium (deploy/setup.sh --browser), and onnx for the model; skipped
without. Checks with axe-core where deploy/setup.sh --browser has fetched it. With MLC_UPDATE_GOLDEN=1 the screenshots go into the documents.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

SKIPPED = 77
build = pathlib.Path(sys.argv[1])
source = pathlib.Path(__file__).resolve().parents[3]
axe_file = source / "build/python/axe_core_python/axe.min.js"
LIMIT_S = 240  # of waiting for what must come
PHONE, DESKTOP = (390, 844), (1280, 900)
HOSTILE = "<img src=x onerror=document.title='taken'>"

try:
    import onnx  # noqa: F401
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError as missing:
    print(f"skipped: {missing}; deploy/setup.sh --browser installs what this test needs")
    sys.exit(SKIPPED)
if not shutil.which("chromium") or not shutil.which("chromedriver"):
    print("skipped: no chromium or chromium-driver; deploy/setup.sh --browser installs them")
    sys.exit(SKIPPED)


def program(name):
    return str(build / "bin" / name)


class Numbers(html.parser.HTMLParser):
    """The drawn paths and the exact values of a page."""

    def __init__(self, text):
        super().__init__()
        self.paths, self.values = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "path" and "d" in attributes:
            self.paths.append(attributes["d"])
        if tag == "data":
            self.values.append(float(attributes["value"]))


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="mlc-page-"))
        cls.log = cls.folder / "tuning.db"
        cls.model = cls.folder / "resnet18.onnx"
        subprocess.run(["/usr/bin/python3", source / "tests/models/make_model.py", "resnet18", cls.model, "--reduced"],
                       check=True)
        cls.processes = []
        cls.words = cls.folder / "server.log"
        cls.start("mlc-server", "--log", cls.log, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
        cls.url = cls.said(r"the page is on (http://\S+)/")
        cls.address = cls.said(r"listening (\S+)")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--user-data-dir={cls.folder}/profile"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        cls.size(*DESKTOP)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        for process in cls.processes:
            process.send_signal(signal.SIGTERM)
        for process in cls.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def start(cls, name, *words):
        with open(cls.words, "a", encoding="utf-8") as output:
            cls.processes.append(subprocess.Popen([program(name), *map(str, words)], stdout=output, stderr=output))

    @classmethod
    def said(cls, pattern):
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            found = re.search(pattern, cls.words.read_text(encoding="utf-8"))
            if found:
                return found[1]
            time.sleep(0.02)
        raise AssertionError(f"nothing of {pattern}: {cls.words.read_text()}")

    @classmethod
    def size(cls, width, height):
        cls.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    @classmethod
    def tune(cls, *words):
        verb = [] if words[0].startswith("-") else [words[0]]
        done = subprocess.run([program("mlc-tune"), *verb, "--server", cls.address, *map(str, words[len(verb):])],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def submit(self, trials, label, seed=1):
        words = self.tune("--model", self.model, "--trials", trials, "--seed", seed, "--label", label, "--detach", "--quiet",
                          "--threads", 1, "--target", "cpu")
        return words.strip().splitlines()[-1]

    def open(self, path):
        self.browser.get(self.url + path)

    def wait(self, condition, what):
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            try:
                value = condition()
            except Exception:  # the element is being replaced
                value = None
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{what} does not come: {self.browser.page_source[:4000]}")

    def text(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector).text

    def state(self):
        return self.browser.find_element(By.CSS_SELECTOR, "#live [data-state]").get_attribute("data-state")

    def trials(self):
        return int(self.browser.find_element(By.CSS_SELECTOR, "#live progress").get_attribute("value"))

    def look(self, name, width):
        """The window as a picture: kept in the documents on request."""
        folder = source / "docs/how-to" if os.environ.get("MLC_UPDATE_GOLDEN") == "1" else self.folder
        picture = folder / f"watch-the-server-{name}.png"
        self.browser.save_screenshot(str(picture))
        self.assertGreater(picture.stat().st_size, 5_000)
        wide = self.browser.execute_script("return document.documentElement.scrollWidth")
        self.assertLessEqual(wide, width, f"{name} scrolls sideways")

    def check_for_all_people(self, path):
        """axe-core finds nothing, in light and dark, on a phone and on a desk."""
        if not axe_file.is_file():
            print(f"no {axe_file}: accessibility is not checked")
            return
        for scheme in ("light", "dark"):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            for window in (PHONE, DESKTOP):
                self.size(*window)
                self.open(path)
                self.browser.execute_script(axe_file.read_text(encoding="utf-8"))
                found = self.browser.execute_async_script(
                    "const end = arguments[0]; axe.run().then(result => end(result.violations));")
                problems = [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found]
                self.assertEqual(problems, [], f"{path}, {scheme}, {window}")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        self.size(*DESKTOP)

    def records_of(self, job):
        with sqlite3.connect(f"file:{self.log}?mode=ro", uri=True) as log:
            return log.execute("SELECT count(*) FROM record WHERE job_id = ?", (bytes.fromhex(job),)).fetchone()[0]

    def check_charts(self, job):
        """The page draws what the log's own report draws, and counts what the log holds."""
        page = self.folder / "report.html"
        subprocess.run([program("mlc-log"), "report", str(self.log), "--job", job, "-o", str(page)], check=True,
                       capture_output=True)
        with urllib.request.urlopen(f"{self.url}/charts/{job}") as answer:
            shown = Numbers(answer.read().decode())
        written = Numbers(page.read_text(encoding="utf-8"))
        self.assertGreater(len(shown.paths), 20)
        self.assertEqual(shown.paths, written.paths)
        self.assertEqual(shown.values, written.values)
        self.assertIn(float(self.records_of(job)), shown.values)
        drawn = self.browser.execute_script(
            "return [...document.querySelectorAll('#charts path')].map(path => path.getAttribute('d'))")
        self.assertEqual(drawn, written.paths)

    def test_a_job_from_submission_to_charts(self):
        self.open("/jobs")
        self.assertIn("There is no job yet", self.text("main"))
        self.start("mlc-worker", "--server", self.address, "--name", "desk-1", "--threads", "1", "--builders", "1")
        job = self.submit(120, "resnet18")
        # The page was open before: the stream brings the job.
        link = self.wait(lambda: self.browser.find_element(By.CSS_SELECTOR, f"#live a[href='/jobs/{job}']"), "the job")
        self.assertEqual(link.text, "resnet18")
        self.check_for_all_people("/jobs")
        self.open("/jobs")
        self.browser.find_element(By.CSS_SELECTOR, f"#live a[href='/jobs/{job}']").click()
        seen = set()
        self.wait(lambda: seen.add(self.trials()) or len(seen) >= 3, "progress")
        self.wait(lambda: self.state() == "done", "the end")
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "#charts svg"), "charts")
        self.assertGreaterEqual(self.trials(), 100)
        self.open(f"/jobs/{job}")
        self.check_charts(job)
        self.look("job", DESKTOP[0])
        self.size(*PHONE)
        self.open(f"/jobs/{job}")
        self.look("phone", PHONE[0])
        self.size(*DESKTOP)
        self.check_for_all_people(f"/jobs/{job}")
        self.open("/best?q=resnet")
        self.browser.find_element(By.LINK_TEXT, "resnet18").click()
        self.assertIn("Best configs of resnet18", self.text("h1"))
        self.assertGreater(len(self.browser.find_elements(By.CSS_SELECTOR, "main tbody code")), 5)
        self.check_for_all_people(f"/best/{job}")
        self.open("/best?q=nothing-like-it")
        self.assertIn("No model and device match", self.text("main"))
        with urllib.request.urlopen(self.url + "/api/jobs") as answer:
            self.assertEqual(json.load(answer), json.loads(self.tune("jobs", "--json")))
        self.look_at_workers()
        self.cancel_a_job()
        self.check_console()

    def look_at_workers(self):
        self.open("/workers")
        self.wait(lambda: "ready" in self.text("#live"), "the worker")
        self.look("workers", DESKTOP[0])
        self.check_for_all_people("/workers")
        self.open("/workers")
        self.browser.find_element(By.LINK_TEXT, "desk-1").click()
        self.check_for_all_people("/worker?name=desk-1")
        self.open("/worker?name=desk-1")
        for details in self.browser.find_elements(By.CSS_SELECTOR, "main > details"):
            if "Quarantine" in details.text:
                details.find_element(By.CSS_SELECTOR, "summary").click()
                details.find_element(By.NAME, "reason").send_keys("its fan is broken")
                details.find_element(By.CSS_SELECTOR, "button").click()
                break
        self.wait(lambda: self.state() == "quarantined", "the quarantine")
        self.assertIn("its fan is broken", self.tune("workers"))
        for details in self.browser.find_elements(By.CSS_SELECTOR, "main > details"):
            if "Release" in details.text:
                details.find_element(By.CSS_SELECTOR, "summary").click()
                details.find_element(By.CSS_SELECTOR, "button").click()
                break
        self.wait(lambda: self.state() in ("ready", "untested"), "the release")

    def cancel_a_job(self):
        job = self.submit(1_000_000, HOSTILE, seed=2)
        self.open("/queue")
        self.check_for_all_people("/queue")
        self.open(f"/jobs/{job}")
        self.assertEqual(self.browser.find_elements(By.TAG_NAME, "img"), [])
        self.assertIn(HOSTILE, self.text("h1"))
        self.assertNotEqual(self.browser.title, "taken")
        details = self.browser.find_element(By.CSS_SELECTOR, "main > details")
        details.find_element(By.CSS_SELECTOR, "summary").click()
        details.find_element(By.CSS_SELECTOR, "button").click()
        self.wait(lambda: self.state() == "cancelled", "the cancellation")
        states = {one["job"]: one["state"] for one in json.loads(self.tune("jobs", "--json"))["jobs"]}
        self.assertEqual(states[job], "cancelled")

    def check_console(self):
        """Nothing that the content-security policy forbids, and no error of the script."""
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
