#!/usr/bin/env python3
"""Writes the software bill of materials of a bundle as SPDX 2.3 JSON: the Debian packages whose
code is in the programs.

    sbom.py BUILD_DIR BUNDLE VERSION CREATED OUTPUT

BUILD_DIR is a finished build with Ninja, BUNDLE the archive that deploy/bundle.sh made of it,
CREATED a time as in 2026-01-31T12:00:00Z. Three things lead to a package:
  - a shared library that a program loads and the bundle carries (DYNAMIC_LINK),
  - a static library or object that the linker reads (STATIC_LINK),
  - a header that a source of a program includes (STATIC_LINK: its code is compiled in).
The C library is the machine's own and is not listed. The same build gives the same file.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

PROGRAMS = ("mlc-tune", "mlc-compile", "mlc-run", "mlc-log", "mlc-server", "mlc-worker")
# Parts of the C library and of the kernel's interface: see deploy/bundle.sh.
SYSTEM_PACKAGES = {"libc6", "libc6-dev", "linux-libc-dev", "libcrypt-dev", "libc-dev-bin"}


def lines_of(*words, **options):
    return subprocess.run(
        words, capture_output=True, text=True, check=True, **options
    ).stdout.splitlines()


def shared_libraries(build):
    """Files of the shared libraries that the programs load."""
    listed = lines_of("ldd", *(f"{build}/bin/{program}" for program in PROGRAMS))
    return {match[1] for line in listed if (match := re.search(r"=> (/\S+)", line))}


def linked_files(build):
    """Objects of the build, and files outside it, that the programs are linked from."""
    inputs = lines_of(
        "ninja", "-C", build, "-t", "inputs", *(f"bin/{program}" for program in PROGRAMS)
    )
    names = [line.strip() for line in inputs if not line.startswith("ninja:")]
    objects = {name for name in names if name.endswith(".o")}
    outside = {
        name for name in names if name.startswith("/") and re.search(r"\.(a|o|so(\.\d+)*)$", name)
    }
    return objects, outside


def headers(build, objects):
    """System headers that the objects were compiled with."""
    found, wanted = set(), False
    for line in lines_of("ninja", "-C", build, "-t", "deps"):
        if not line.startswith(" "):
            wanted = line.split(":")[0] in objects
        elif wanted and line.strip().startswith("/usr/"):
            found.add(line.strip())
    return found


def owners(files):
    """The Debian packages that the files belong to, without the C library's."""
    names = set()
    for path in files:
        real = os.path.realpath(path)
        # Debian's database may have a file under /lib that lies under /usr/lib.
        names |= {path, real, re.sub("^/usr/lib", "/lib", real)}
    packages = set()
    names = sorted(names)
    for start in range(0, len(names), 500):
        answer = subprocess.run(
            ["dpkg-query", "-S", *names[start : start + 500]], capture_output=True, text=True
        )
        for line in answer.stdout.splitlines():
            if not line.startswith("diversion "):
                packages |= set(line.rsplit(": ", 1)[0].split(", "))
    return {name for name in packages if name.split(":")[0] not in SYSTEM_PACKAGES}


def describe(package):
    fields = (
        "Package",
        "Version",
        "Architecture",
        "source:Package",
        "source:Version",
        "Maintainer",
    )
    form = "\t".join(f"${{{field}}}" for field in fields) + "\n"
    return lines_of("dpkg-query", "-W", "-f=" + form, package)[0].split("\t")


def debian_release():
    with open("/etc/os-release") as file:
        values = dict(line.strip().split("=", 1) for line in file if "=" in line)
    return values.get("VERSION_ID", "").strip('"') or "unstable"


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def debian_package(name, release):
    package, version, architecture, source, source_version, maintainer = describe(name)
    # The plus sign and the colon of an epoch are characters of their own in a package URL.
    quoted = version.replace("+", "%2B").replace(":", "%3A")
    person = re.sub(r"^(.*?) <(.*)>$", r"\1 (\2)", maintainer)
    return {
        "name": package,
        "SPDXID": identifier(f"Package-{package}"),
        "versionInfo": version,
        "supplier": f"Organization: {person}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from the Debian source package {source} {source_version}",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{package.replace('+', '%2B')}@{quoted}"
                f"?arch={architecture}&distro=debian-{release}",
            }
        ],
    }


def relation(subject, kind, other):
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": other}


def document(version, created, bundle, static, dynamic):
    """The bill: `static` and `dynamic` are names of Debian packages."""
    with open(bundle, "rb") as file:
        checksum = hashlib.sha256(file.read()).hexdigest()
    ours = identifier("Package-mlc-tune")
    release = debian_release()
    packages = [
        {
            "name": "mlc-tune",
            "SPDXID": ours,
            "versionInfo": version,
            "packageFileName": os.path.basename(bundle),
            "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION",
            "primaryPackagePurpose": "APPLICATION",
        }
    ]
    relationships = [relation("SPDXRef-DOCUMENT", "DESCRIBES", ours)]
    for name in sorted(static | dynamic):
        package = debian_package(name, release)
        packages.append(package)
        for kind, members in (("STATIC_LINK", static), ("DYNAMIC_LINK", dynamic)):
            if name in members:
                relationships.append(relation(ours, kind, package["SPDXID"]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"mlc-tune-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/mlc-tune-{version}-{checksum}",
        "creationInfo": {"created": created, "creators": ["Tool: mlc-tune-deploy-sbom.py"]},
        "packages": packages,
        "relationships": relationships,
    }


def main():
    build, bundle, version, created, output = sys.argv[1:]
    objects, outside = linked_files(build)
    static = owners(
        {f for f in outside if not re.search(r"\.so(\.\d+)*$", f)} | headers(build, objects)
    )
    dynamic = owners(shared_libraries(build))
    bill = document(version, created, bundle, static, dynamic)
    with open(output, "w") as file:
        json.dump(bill, file, indent=2)
        file.write("\n")
    print(f"{output}: {len(bill['packages']) - 1} packages")


if __name__ == "__main__":
    main()
