#!/usr/bin/env python3
"""Holds the documents against the tree: links lead to files and headings that exist, commands have
flags that the programs have, test programs and environment variables exist, the references of
the wire protocol and of the log are complete, and charts show their tables.

  documents_test.py SOURCE_FOLDER

The flags are those of tests/golden/help, which help_golden_test holds against the programs, and for
the subcommands of mlc-log those of docs/reference/mlc-log.md, which program_docs_test holds.
"""

import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
sys.dont_write_bytecode = True  # the source folder stays as it is
sys.path.insert(0, str(SOURCE / "cmake"))
import charts
import wire_page

LOG_COMMANDS = re.findall(
    r"^  ([a-z]+) +[a-z]", (SOURCE / "tests/golden/help/mlc-log.txt").read_text(), re.M
)


def documents():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [SOURCE / name for name in listed if (SOURCE / name).is_file()]


def slug(heading):
    """The anchor that code hosts give a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", text.replace("`", "").lower()).replace(" ", "-")


def anchors(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    return {slug(heading) for heading in re.findall(r"^#{1,6} (.*)$", text, re.M)}


def flags_of(program):
    text = (SOURCE / f"tests/golden/help/{program}.txt").read_text()
    return set(re.findall(r"(?<![\w-])(--?[a-z][a-z0-9-]*)", text))


def flags_of_log_command(command):
    page = (SOURCE / "docs/reference/mlc-log.md").read_text()
    section = page.partition(f"\n## mlc-log {command}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"(?<=`)(--?[a-z][a-z0-9-]*)", section))


def commands(text):
    """(program, words) of each call of a program in code; lines that end in a backslash go on."""
    text = text.replace("\\\n", " ")
    code = re.findall(r"^(?:    |\t).*$", text, re.M) + re.findall(r"`([^`\n]+)`", text)
    code += "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)).splitlines()
    for line in code:
        for call in re.finditer(
            r"(?:^|[\s/(\"])(mlc-(?:tune|compile|run|log|server|worker))((?: [^|;#&)>]*)?)", line
        ):
            yield call[1], call[2].split()


class DocumentsTest(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in documents():
            for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
                if re.match(r"[a-z]+:|\.\./\.\./(releases|security)/", target):  # of the code host
                    continue
                file, _, anchor = target.partition("#")
                other = (path.parent / file).resolve() if file else path
                with self.subTest(document=str(path.relative_to(SOURCE)), link=target):
                    self.assertTrue(other.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(other))

    def test_paths_in_code_exist(self):
        tops = {path.name for path in SOURCE.iterdir() if path.is_dir()} - {"build", "dist"}
        checked = 0
        for path in documents():
            for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", path.read_text()):
                if name.split("/")[0] not in tops:
                    continue
                checked += 1
                # A component is named without the suffixes of its files.
                places = [folder / name for folder in (SOURCE, path.parent)]
                there = any(p.exists() or any(p.parent.glob(p.name + "[._]*")) for p in places)
                self.assertTrue(there, f"{path.relative_to(SOURCE)} names {name}")
        self.assertGreater(checked, 100)

    def test_every_page_is_listed(self):
        folder = SOURCE / "docs"
        listed = set()
        for index in (folder / "README.md", folder / "benchmarks/README.md"):
            for target in re.findall(r"\]\(([^)#\s]+)", index.read_text()):
                listed.add((index.parent / target).resolve())
        pages = [path for path in documents() if path.is_relative_to(folder)]
        self.assertGreater(len(pages), 30)
        for path in pages:
            if path != folder / "README.md":
                self.assertIn(path, listed, "docs/README.md lists every page")

    def test_commands_have_flags_that_exist(self):
        checked = 0
        for path in documents():
            for program, words in commands(path.read_text()):
                with self.subTest(
                    document=str(path.relative_to(SOURCE)), command=[program, *words]
                ):
                    if program == "mlc-log" and words and re.fullmatch("[a-z]+", words[0]):
                        self.assertIn(words[0], LOG_COMMANDS)
                        flags = flags_of_log_command(words[0])
                    else:
                        flags = flags_of(program)
                    for flag in re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*)", " ".join(words)):
                        checked += 1
                        self.assertIn(flag, flags)
        self.assertGreater(checked, 60)

    def test_pages_of_the_site_link_to_each_other_only(self):
        for path in documents():
            if not path.is_relative_to(SOURCE / "docs"):
                continue
            for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
                if not re.match(r"[a-z]+:", target):
                    other = (path.parent / target).resolve()
                    self.assertTrue(other.is_relative_to(SOURCE / "docs"), f"{path}: {target}")

    def test_programs_of_the_debugging_guides_exist(self):
        lists = "\n".join(path.read_text() for path in (SOURCE / "tests").rglob("CMakeLists.txt"))
        found = 0
        for page in ("debugging", "wrong-result"):
            text = (SOURCE / f"docs/how-to/{page}.md").read_text()
            for program in re.findall(r"build/\w+/tests/(\w+)", text):
                found += 1
                self.assertIn(f"mlc_test({program} ", lists)
        self.assertGreater(found, 3)

    def test_environment_variables_are_those_of_the_code(self):
        page = (SOURCE / "docs/reference/environment.md").read_text()
        told = set(re.findall(r"`(MLC_\w+)`", page))
        files = [
            path
            for folder in ("base", "client", "compiler", "python", "server", "worker", "tests", "deploy")
            for path in (SOURCE / folder).rglob("*")
            if path.suffix in (".cc", ".h", ".py", ".service") and path != pathlib.Path(__file__)
        ]
        code = {path: path.read_text() for path in files}
        read = set()
        for path, text in code.items():
            if path.suffix in (".cc", ".h"):
                read |= set(re.findall(r"(?:getenv|envname)\(\"(MLC_\w+)\"", text))
        for page_name in ("debugging", "wrong-result"):
            text = (SOURCE / f"docs/how-to/{page_name}.md").read_text()
            read |= set(re.findall(r"\bMLC_TEST_\w+", text))
        self.assertGreater(len(read), 10)
        self.assertEqual(read - told, set(), "environment.md lists every variable")
        named = set().union(*(re.findall(r"\bMLC_\w+", text) for text in code.values()))
        self.assertEqual(told - named, set(), "nothing reads these variables")

    def test_charts_show_the_tables_of_their_pages(self):
        pictures = charts.charts(SOURCE)
        self.assertGreater(len(pictures), 5)
        for path, picture in pictures.items():
            self.assertEqual(path.read_text(), picture, "python3 cmake/charts.py . draws it again")
        there = set((SOURCE / "docs").rglob("*.svg"))
        self.assertEqual(there, set(pictures), "every picture has a table")

    def test_the_reference_of_the_wire_is_the_one_of_the_messages(self):
        page = (SOURCE / "docs/reference/wire.md").read_text()
        self.assertEqual(page, wire_page.write(SOURCE), "python3 cmake/wire_page.py . writes it")

    def test_the_reference_of_the_log_has_every_column(self):
        # A log of the newest version, with the columns that migrations have added.
        versions = (SOURCE / "tests/golden/log").glob("v*.sql")
        newest = max(versions, key=lambda path: int(path.stem[1:]))
        log = sqlite3.connect(":memory:")
        log.executescript(newest.read_text())
        page = (SOURCE / "docs/reference/log-schema.md").read_text()
        tables = [name for (name,) in log.execute("SELECT name FROM sqlite_schema WHERE type='table'")]
        self.assertGreater(len(tables), 5)
        for table in tables:
            section = page.partition(f"\n## {table}\n")[2].partition("\n## ")[0]
            cells = "\n".join(re.findall(r"^\| (`.*?) \|", section, re.M))
            columns = [row[1] for row in log.execute(f"PRAGMA table_info({table})")]
            self.assertEqual(sorted(re.findall(r"`(\w+)`", cells)), sorted(columns), table)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
