#!/usr/bin/env python3
"""Holds the site of the documents: its navigation has every page, lists keep what belongs to their
items, anchors are those of code hosts, all versions are exact, and the site builds.

  site_test.py SOURCE_FOLDER

The build needs what deploy/site.sh installs, and is left out without it.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
MKDOCS = SOURCE / "build/site-env/bin/mkdocs"
sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, str(SOURCE / "deploy/site"))
import hooks

STEPS = """1. One:

       a command
         - its output

   - a case
     of two lines

     and its paragraph

2. Two.

Text, and
    code
```
1. not an item
   at all
```
"""
MOVED = """1. One:

        a command
          - its output

    - a case
        of two lines

        and its paragraph

2. Two.

Text, and
    code
```
1. not an item
   at all
```
"""


class SiteTest(unittest.TestCase):
    def test_text_below_an_item_is_moved_where_python_markdown_looks(self):
        self.assertEqual(hooks.reindented(STEPS), MOVED)
        self.assertEqual(hooks.reindented("    code\n    - code\n"), "    code\n    - code\n")

    def test_anchors_are_those_of_code_hosts(self):
        self.assertEqual(hooks.slug("5. Run `a_b`, now: C++"), "5-run-a_b-now-c")

    def test_the_navigation_has_every_page_once(self):
        sections = hooks.navigation(SOURCE / "docs")
        pages = [sections[0]]
        for section in sections[1:]:
            for title, listed in section.items():
                self.assertTrue(title and listed)
                pages += listed
        there = [str(p.relative_to(SOURCE / "docs")) for p in (SOURCE / "docs").rglob("*.md")]
        self.assertEqual(sorted(pages), sorted(there))

    def test_versions_are_exact(self):
        lines = (SOURCE / "deploy/site/requirements.txt").read_text().splitlines()
        packages = [line for line in lines if not line.startswith("#")]
        self.assertGreater(len(packages), 5)
        for line in packages:
            self.assertRegex(line, r"^[\w.-]+==[\w.]+$")

    def test_nothing_is_loaded_from_other_hosts_and_nothing_is_broken(self):
        if not MKDOCS.exists():
            self.skipTest("deploy/site.sh was not run here")
        with tempfile.TemporaryDirectory() as site:
            built = subprocess.run(
                [MKDOCS, "build", "--strict", "--site-dir", site],
                cwd=SOURCE,
                capture_output=True,
                text=True,
            )
            self.assertEqual(built.returncode, 0, built.stderr)
            pages = list(pathlib.Path(site).rglob("*.html"))
            self.assertGreater(len(pages), 30)
            for page in pages:
                text = page.read_text()
                loaded = re.findall(r'<(?:script|img)[^>]* src="(https?:[^"]*)', text)
                loaded += re.findall(r'<link[^>]* href="(https?:[^"]*)', text)
                self.assertEqual(loaded, [], page.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
