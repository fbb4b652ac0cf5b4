#!/usr/bin/env python3
"""Holds the pages of `mlc-log report` against the log that they are about: each is well-formed as HTML and as XML,
loads nothing, and has the numbers of the log.

  report_page_test.py BUILD_FOLDER
"""

import html.parser
import pathlib
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

BUILD = pathlib.Path(sys.argv[1]).resolve()


class Balanced(html.parser.HTMLParser):
    """Every element is closed, in order; ids are unique; links within the page lead to one."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.tags, self.text = [], [], [], set(), []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        for name in attributes:
            assert not name.startswith("on"), name

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def write_log(name, trials, *more):
    written = run(BUILD / "tests/write_tuning_log", name, trials, *more)
    assert written.returncode == 0, written.stderr
    return written.stdout.strip()


def report(log, *more):
    return run(BUILD / "bin/mlc-log", "report", log, *more)


class ReportPageTest(unittest.TestCase):
    def parse(self, text):
        page = Balanced()
        page.feed(text)
        page.close()
        self.assertEqual(page.open, [])
        self.assertEqual(len(page.ids), len(set(page.ids)))
        for link in page.links:
            self.assertIn(link.removeprefix("#"), page.ids)
        self.assertFalse(page.tags & {"script", "img", "link", "iframe", "object", "form", "base"})
        document = text.replace("<!DOCTYPE html>", "", 1)
        return page, xml.etree.ElementTree.fromstring(document)

    def rows_of(self, root, caption):
        tables = [t for t in root.iter("table") if t.find("caption").text == caption]
        self.assertTrue(tables, caption)
        return [row.findall("td") for row in tables[0].find("tbody")]

    def test_the_page_has_the_numbers_of_the_log(self):
        job = write_log("numbers.db", 40)
        self.assertEqual(report("numbers.db", "--job", job, "-o", "numbers.html").returncode, 0)
        page, root = self.parse(pathlib.Path("numbers.html").read_text())
        self.assertIn(job, "".join(page.text))
        best = []
        for line in run(BUILD / "bin/mlc-log", "list", "numbers.db").stdout.splitlines():
            found = run(BUILD / "bin/mlc-log", "best", "numbers.db", line.split()[0]).stdout
            best.append(float(found.splitlines()[1].split()[0]))
        rows = self.rows_of(root, "Tasks before and after")
        self.assertEqual(len(rows), 2)
        chosen = sorted(float(row[3].find("data").get("value")) for row in rows)
        self.assertEqual(chosen, sorted(best))
        facts = [d.find("b").find("data") for d in root.find(".//div[@class='facts']")]
        values = [float(d.get("value")) for d in facts if d is not None]
        executions = [float(row[1].find("data").get("value")) for row in rows]
        self.assertEqual(values[0], sum(n * float(row[3].find("data").get("value"))
                                        for n, row in zip(executions, rows)))
        self.assertEqual(values[1], 4 * 9000)
        self.assertEqual(values[2:], [40, 2, 2], "trials, failed ones, tasks")

    def test_every_chart_has_a_title_and_a_description(self):
        write_log("charts.db", 40)
        _, root = self.parse(report("charts.db").stdout)
        charts = [svg for svg in root.iter("svg") if svg.get("role") == "img"]
        self.assertGreaterEqual(len(charts), 8)
        for svg in charts:
            self.assertEqual([child.tag for child in svg][:2], ["title", "desc"])
            self.assertTrue(svg[0].text and svg[1].text)
        drawings = [svg for svg in root.iter("svg") if svg.get("role") != "img"]
        self.assertTrue(all(svg.get("aria-hidden") == "true" for svg in drawings))

    def test_hostile_names_are_text(self):
        write_log("hostile.db", 40, "--hostile")
        page, _ = self.parse(report("hostile.db").stdout)
        self.assertIn("<script>alert(1)</script>", "".join(page.text))
        self.assertNotIn("\x1b", "".join(page.text))

    def test_a_large_log_makes_a_small_page_in_seconds(self):
        write_log("large.db", 100_000)
        begin = time.monotonic()
        made = report("large.db", "-o", "large.html")
        print(f"100,000 records: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(made.returncode, 0, made.stderr)
        page = pathlib.Path("large.html")
        self.assertLess(page.stat().st_size, 1_000_000)
        _, root = self.parse(page.read_text())
        rows = self.rows_of(root, "Tasks before and after")
        self.assertEqual([float(row[3].find("data").get("value")) for row in rows], [3000, 3000])

    def test_exit_codes_are_those_of_the_documents(self):
        write_log("codes.db", 4)
        for expected, words in {
            3: ["codes.db", "--job", "ffffffff"],
            73: ["codes.db", "-o", "codes.db"],
            2: ["codes.db", "--job", "1", "--model", "model.onnx"],
        }.items():
            made = report(*words)
            self.assertEqual(made.returncode, expected, made.stderr)
            self.assertTrue(made.stderr)
        self.assertEqual(report("none.db").returncode, 3)
        self.assertEqual(report("codes.db", "-o", "/none/r.html").returncode, 73)
        self.assertEqual(report("codes.db", "--model", "other").returncode, 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
