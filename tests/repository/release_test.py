#!/usr/bin/env python3
"""Makes a release with deploy/release.sh in a small repository of its own: what it refuses, what it
writes, the fields of the bill of materials that SPDX 2.3 requires, the tag.

  release_test.py SOURCE_FOLDER

Exits with 77 without dpkg-query, ninja or g++.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
PROGRAMS = ("mlc-tune", "mlc-compile", "mlc-run", "mlc-log", "mlc-server", "mlc-worker")
for needed in ("dpkg-query", "ninja", "g++", "git"):
    if shutil.which(needed) is None:
        print(f"SKIPPED: {needed} is not installed")
        sys.exit(77)

CHANGELOG = """# Changelog

## [Unreleased]

## [1.2.3] - 2026-01-31

### Added

- Something new.

## [1.2.2] - 2026-01-01

- Something old.

[1.2.3]: ../../releases/tag/v1.2.3
"""
# In place of the build: programs whose only libraries are those of C++, and an archive.
SETUP = """#!/usr/bin/env bash
set -euo pipefail
[[ $1 == release:bundle ]]
ninja -C build/release
mkdir -p dist
tar -cJf "dist/mlc-1.2.3-linux-$(uname -m).tar.xz" -C build/release bin
"""
WHEEL = """#!/usr/bin/env bash
[[ $1 == --build && -x $2/bin/mlc-tune ]] && echo wheel >"$3/mlc_tune-1.2.3-py3-none-any.whl"
"""
BUILD = """rule compile
  command = g++ -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule link
  command = g++ $in -o $out
build main.o: compile ../../main.cc
""" + "".join(f"build bin/{program}: link main.o\n" for program in PROGRAMS)


def spdx_problems(bill):
    """What SPDX 2.3 requires of a document, its packages and their relationships."""
    wanted = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"}
    if wanted - set(bill):
        yield f"the document lacks {wanted - set(bill)}"
        return
    if (bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]) != (
        "SPDX-2.3",
        "CC0-1.0",
        "SPDXRef-DOCUMENT",
    ):
        yield "version, license or id of the document"
    if not re.fullmatch(r"https?://[^\s#]+", bill["documentNamespace"]):
        yield f"namespace {bill['documentNamespace']}"
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["creationInfo"]["created"]):
        yield f"created {bill['creationInfo']['created']}"
    for creator in bill["creationInfo"]["creators"] or ["nobody"]:
        if not re.match(r"(Person|Organization|Tool): .", creator):
            yield f"creator {creator}"
    ids = ["SPDXRef-DOCUMENT"]
    for package in bill["packages"]:
        lacks = {"name", "SPDXID", "downloadLocation"} - set(package)
        if lacks:
            yield f"a package lacks {lacks}: {package}"
            continue
        ids.append(package["SPDXID"])
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]):
            yield f"id {package['SPDXID']}"
        if package.get("filesAnalyzed", True):
            yield f"{package['name']}: files that are analyzed need a verification code"
        if not re.match(
            r"NOASSERTION$|(Person|Organization): .", package.get("supplier", "NOASSERTION")
        ):
            yield f"{package['name']}: supplier {package['supplier']}"
        for checksum in package.get("checksums", []):
            if (
                not re.fullmatch(r"[0-9a-f]{64}", checksum["checksumValue"])
                or checksum["algorithm"] != "SHA256"
            ):
                yield f"{package['name']}: checksum {checksum}"
        for reference in package.get("externalRefs", []):
            if not re.fullmatch(
                r"pkg:deb/debian/[a-z0-9.%B+-]+@[^\s?+]+\?[a-z]+=\S+", reference["referenceLocator"]
            ):
                yield f"{package['name']}: {reference}"
    if len(ids) != len(set(ids)):
        yield "ids occur twice"
    for entry in bill["relationships"]:
        for end in ("spdxElementId", "relatedSpdxElement"):
            if entry[end] not in ids:
                yield f"a relationship with {entry[end]}, which is not there"
    if not any(entry["relationshipType"] == "DESCRIBES" for entry in bill["relationships"]):
        yield "the document describes nothing"


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_AUTHOR_DATE": "2026-01-31T12:00:00Z",
            "GIT_COMMITTER_DATE": "2026-01-31T12:00:00Z",
        }
        self.write("CMakeLists.txt", "project(mlc-tune VERSION 1.2.3 LANGUAGES C CXX)\n")
        self.write("CHANGELOG.md", CHANGELOG)
        self.write(
            "main.cc", '#include <string>\nint main() { return std::string("a").empty(); }\n'
        )
        self.write(".gitignore", "/build/\n/dist/\n")
        self.write("deploy/setup.sh", SETUP).chmod(0o755)
        self.write("deploy/wheel.sh", WHEEL).chmod(0o755)
        for name in ("release.sh", "sbom.py", "steps.sh"):
            shutil.copy(SOURCE / "deploy" / name, self.folder / "deploy")
        self.write("build/release/build.ninja", BUILD)
        self.git("init", "-q")
        self.git("config", "user.name", "Releaser")
        self.git("config", "user.email", "releaser@example.invalid")
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_in(self, *words):
        return subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True
        )

    def git(self, *words):
        done = self.run_in("git", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def release(self, *words):
        return self.run_in("deploy/release.sh", *words)

    def refuses(self, why, code, *words):
        done = self.release(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(why, done.stderr)
        self.assertFalse((self.folder / "dist").exists())

    def test_a_version_has_three_numbers(self):
        for version in ("", "1.2", "v1.2.3", "1.2.03", "1.2.3-rc1"):
            self.refuses("three numbers", 64, version)
        self.refuses("unknown argument", 64, "1.2.3", "--force")

    def test_what_is_not_committed_is_not_released(self):
        self.write("main.cc", "int main() {}\n")
        self.refuses("not committed", 65, "1.2.3")

    def test_version_and_changelog_agree(self):
        self.refuses("CMakeLists.txt has another version", 65, "1.2.2")
        self.refuses("CHANGELOG.md has no line '## [1.2.4] - YYYY-MM-DD'", 65, "1.2.4")
        self.write("CHANGELOG.md", CHANGELOG.replace("### Added\n\n- Something new.\n", ""))
        self.git("commit", "-qam", "Say nothing")
        self.refuses("says nothing about 1.2.3", 65, "1.2.3")

    def test_a_version_is_released_once(self):
        self.git("tag", "v1.2.3")
        self.refuses("there is a tag v1.2.3", 65, "1.2.3")

    def test_a_dry_run_changes_nothing(self):
        done = self.release("1.2.3", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("- Something new.", done.stdout)
        self.assertNotIn("Something old", done.stdout)
        self.assertFalse((self.folder / "dist").exists())
        self.assertEqual(self.git("tag"), "")

    def test_a_failed_build_makes_no_tag(self):
        self.write("deploy/setup.sh", "#!/bin/sh\nexit 3\n")
        self.git("commit", "-qam", "Break the build")
        self.assertEqual(self.release("1.2.3").returncode, 3)
        self.write("deploy/setup.sh", "#!/bin/sh\nmkdir -p dist\n")
        self.git("commit", "-qam", "Build nothing")
        self.assertNotEqual(self.release("1.2.3").returncode, 0)
        self.assertEqual(self.git("tag"), "")

    def test_a_release_has_all_its_parts(self):
        done = self.release("1.2.3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        out = self.folder / "dist/release-1.2.3"
        name = f"mlc-1.2.3-linux-{os.uname().machine}"
        parts = {f"{name}.tar.xz", f"{name}.spdx.json", "mlc-tune-1.2.3.tar.gz", "CHANGES.md"}
        parts.add("mlc_tune-1.2.3-py3-none-any.whl")
        self.assertEqual({path.name for path in out.iterdir()}, parts | {"SHA256SUMS"})
        sums = dict(
            reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines()
        )
        self.assertEqual(
            sums, {part: hashlib.sha256((out / part).read_bytes()).hexdigest() for part in parts}
        )
        self.assertEqual((out / "CHANGES.md").read_text(), "### Added\n\n- Something new.\n\n")
        with tarfile.open(out / "mlc-tune-1.2.3.tar.gz") as sources:
            self.assertIn("mlc-tune-1.2.3/deploy/release.sh", sources.getnames())
        self.assertEqual(self.git("rev-parse", "v1.2.3^{commit}"), self.git("rev-parse", "HEAD"))
        self.assertEqual(self.git("cat-file", "-t", "v1.2.3").strip(), "tag")
        self.assertIn(
            "mlc-tune 1.2.3\n\n### Added\n\n- Something new.", self.git("cat-file", "tag", "v1.2.3")
        )

        bill = json.loads((out / f"{name}.spdx.json").read_text())
        self.assertEqual(list(spdx_problems(bill)), [])
        self.assertEqual(bill["creationInfo"]["created"], "2026-01-31T12:00:00Z")
        self.assertEqual(
            bill["packages"][0]["checksums"][0]["checksumValue"], sums[f"{name}.tar.xz"]
        )
        links = {
            entry["relatedSpdxElement"]: entry["relationshipType"]
            for entry in bill["relationships"]
        }
        self.assertEqual(links["SPDXRef-Package-libstdc--6"], "DYNAMIC_LINK")
        self.assertTrue(
            any(re.match(r"SPDXRef-Package-libstdc---\d+-dev$", name) for name in links), links
        )
        self.assertFalse(
            any(re.match(r"SPDXRef-Package-(libc6|linux-libc)", name) for name in links), links
        )

    def test_faults_of_a_bill_are_found(self):
        package = {
            "name": "a",
            "SPDXID": "SPDXRef-a",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
        }
        good = {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": "a",
            "documentNamespace": "https://a.example/b",
            "creationInfo": {"created": "2026-01-31T12:00:00Z", "creators": ["Tool: a"]},
            "packages": [package],
            "relationships": [
                {
                    "spdxElementId": "SPDXRef-DOCUMENT",
                    "relationshipType": "DESCRIBES",
                    "relatedSpdxElement": "SPDXRef-a",
                }
            ],
        }
        self.assertEqual(list(spdx_problems(good)), [])
        for fault in (
            {"spdxVersion": "SPDX-2.2"},
            {"documentNamespace": "a b"},
            {"packages": []},
            {"packages": [package, package]},
            {"packages": [{**package, "SPDXID": "a"}]},
            {"creationInfo": {"created": "yesterday", "creators": ["Tool: a"]}},
            {"relationships": []},
        ):
            self.assertNotEqual(list(spdx_problems({**good, **fault})), [], fault)


class VersionTest(unittest.TestCase):
    def test_the_changelog_has_the_version_of_the_project(self):
        version = re.search(
            r"project\(mlc-tune VERSION (\S+) ", (SOURCE / "CMakeLists.txt").read_text()
        )[1]
        released = re.findall(
            r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", (SOURCE / "CHANGELOG.md").read_text(), re.M
        )
        self.assertIn("## [Unreleased]", (SOURCE / "CHANGELOG.md").read_text())
        self.assertEqual(
            released, sorted(released, key=lambda v: [int(n) for n in v.split(".")], reverse=True)
        )
        # Between two releases the project has a version that is not in the list yet.
        self.assertGreaterEqual(
            [int(n) for n in version.split(".")], [int(n) for n in released[0].split(".")]
        )


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
