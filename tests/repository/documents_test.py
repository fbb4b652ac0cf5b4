#!/usr/bin/env python3
"""Holds the documents against the tree: links lead to files and headings that exist, commands have
flags that the programs have, test programs and environment variables exist.

  documents_test.py SOURCE_FOLDER

The flags are those of tests/golden/help, which help_golden_test holds against the programs, and for
the subcommands of mlc-log those of docs/reference/mlc-log.md, which program_docs_test holds.
"""

import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
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
                if re.match(r"[a-z]+:|\.\./\.\./", target):
                    continue
                file, _, anchor = target.partition("#")
                other = (path.parent / file).resolve() if file else path
                with self.subTest(document=str(path.relative_to(SOURCE)), link=target):
                    self.assertTrue(other.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(other))

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

    def test_programs_and_variables_of_the_debugging_guide_exist(self):
        text = (SOURCE / "docs/how-to/debugging.md").read_text()
        lists = "\n".join(path.read_text() for path in (SOURCE / "tests").rglob("CMakeLists.txt"))
        for program in re.findall(r"build/\w+/tests/(\w+)", text):
            self.assertIn(f"mlc_test({program} ", lists)
        sources = [path for kind in ("*.cc", "*.h") for path in (SOURCE / "tests").rglob(kind)]
        code = "\n".join(path.read_text() for path in sources)
        variables = set(re.findall(r"\bMLC_TEST_\w+", text))
        self.assertGreater(len(variables), 3)
        for variable in variables:
            self.assertIn(f'"{variable}"', code)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
