#!/usr/bin/env python3
"""Runs the hooks of .pre-commit-config.yaml as pre-commit does, on good and bad files.

  hooks_test.py SOURCE_FOLDER

Every hook passes on the project's own files and fails on a file with the fault that it is there
for. No hook needs a network. Exits with 77 if PyYAML is missing.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
sys.path.append(str(SOURCE / "build/python"))  # where deploy/setup.sh puts what Debian lacks
try:
    import yaml
except ImportError:
    print("SKIPPED: there is no PyYAML: deploy/setup.sh fetches it with kubernetes-validate")
    sys.exit(77)

CONFIG = yaml.safe_load((SOURCE / ".pre-commit-config.yaml").read_text())
HOOKS = {hook["id"]: hook for repo in CONFIG["repos"] for hook in repo["hooks"]}


def tracked(pattern):
    """The files of the project that a hook would get if all had changed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=SOURCE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [
        name
        for name in listed.split("\0")
        if name and re.search(pattern, name) and (SOURCE / name).is_file()
    ]


def run(hook, folder, files):
    """True if the hook passes: it exits with 0 and changes no file."""
    words = shlex.split(hook["entry"])
    if hook["language"] == "script":
        words[0] = str(SOURCE / words[0])
    words = [str(SOURCE / word) if word.startswith("tests/") else word for word in words]
    if hook.get("pass_filenames", True):
        words += files
    before = {name: (folder / name).read_bytes() for name in files}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    changed = any((folder / name).read_bytes() != text for name, text in before.items())
    return done.returncode == 0 and not changed


class HooksTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def fails_on(self, name, text, hook):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.assertFalse(run(HOOKS[hook], self.folder, [name]), f"{hook} accepts {text[:80]!r}")

    def passes_on(self, name, text, hook):
        (self.folder / name).write_text(text)
        self.assertTrue(run(HOOKS[hook], self.folder, [name]), f"{hook} rejects {text[:80]!r}")

    def test_every_hook_is_local(self):
        self.assertEqual({repo["repo"] for repo in CONFIG["repos"]}, {"local"})
        self.assertEqual(
            {hook["language"] for hook in HOOKS.values()} - {"system", "script"}, set()
        )
        self.assertEqual(
            set(HOOKS),
            {"clang-format", "layering", "shell-syntax", "large-files", "commit-subject"},
        )

    def test_hooks_pass_on_the_project(self):
        for name in ("shell-syntax", "large-files"):
            files = tracked(HOOKS[name]["files"])
            self.assertTrue(files, name)
            self.assertTrue(run(HOOKS[name], SOURCE, files), name)

    def test_clang_format_mends_what_is_not_formatted(self):
        if shutil.which("clang-format") is None:
            self.skipTest("clang-format is missing")
        shutil.copy(SOURCE / ".clang-format", self.folder)
        self.fails_on("a.cc", "int   f( ) {return 1;}\n", "clang-format")
        self.assertTrue(run(HOOKS["clang-format"], self.folder, ["a.cc"]))

    def test_layering_finds_an_include_against_the_arrows(self):
        folder = self.folder / "base"
        folder.mkdir(parents=True)
        (self.folder / "server").mkdir()
        (self.folder / "server/a.h").write_text("#pragma once\n")
        self.fails_on("base/a.cc", '#include "server/a.h"\n', "layering")

    def test_shell_syntax(self):
        self.fails_on("a.sh", "#!/usr/bin/env bash\nif true; then\n", "shell-syntax")
        self.passes_on("a.sh", "#!/usr/bin/env bash\nif true; then :; fi\n", "shell-syntax")
        self.fails_on("b.sh", "#!/bin/sh\nfor; do\n", "shell-syntax")

    def test_large_files(self):
        self.fails_on("a.bin", "x" * (256 * 1024 + 1), "large-files")
        self.passes_on("a.bin", "x" * (256 * 1024), "large-files")

    def test_commit_subject(self):
        self.assertEqual(HOOKS["commit-subject"]["stages"], ["commit-msg"])
        self.assertEqual(CONFIG["default_stages"], ["pre-commit"])
        for bad in ("", "\n\nbody\n", "# only a comment\n", "x" * 73, "Subject\nbody at once\n"):
            self.fails_on("message", bad, "commit-subject")
        for good in (
            "x" * 72,
            "Ä" * 72,
            "Subject\n\nBody\n",
            "# comment\nSubject\n",
            "fixup! " + "x" * 80,
            "Subject\n# ------------------------ >8 ------------------------\n" + "x" * 100,
        ):
            self.passes_on("message", good, "commit-subject")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
