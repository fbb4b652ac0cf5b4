#!/usr/bin/env python3
"""Holds the shape of the source tree: which folder may include which, how long a file may be, and words
that stand for habits the project avoids. Prints every offending line; exits with 1 if there is one."""
import pathlib
import re
import sys

# folder -> folders it may include. A folder always sees itself.
BASE = {"compiler/base"}
GRAPH = BASE | {"compiler/graph"}
IR = BASE | {"compiler/ir"}
SCHEDULE = GRAPH | IR | {"compiler/target", "compiler/schedule"}
BUILD = SCHEDULE | {"compiler/codegen", "compiler/build", "compiler/runtime"}
FRONT = GRAPH | {"compiler/front"}
ALLOWED = {
    "compiler/base": set(),
    "compiler/graph": GRAPH,
    "compiler/front": FRONT | {"compiler/target"},
    "compiler/ir": IR,
    "compiler/target": BASE,
    "compiler/schedule": SCHEDULE,
    "compiler/codegen": IR | {"compiler/target", "compiler/runtime"},
    "compiler/build": BUILD,
    "compiler/runtime": set(),
    "compiler/package": BUILD | FRONT | {"compiler/package"},
    "costmodel": SCHEDULE,
    "db": BASE,
    "transport": BASE,
    "server": SCHEDULE | {"proto", "costmodel", "db", "transport"},
    "worker": BUILD | {"proto", "transport"},
    "client": BUILD | FRONT | {"compiler/package", "proto", "costmodel", "db", "server", "transport"},
}
# Third-party headers stay in the sources of their one folder.
VENDORS = {
    r"[<\"](llvm|lld)/": {"compiler/codegen", "compiler/build", "compiler/package"},
    r"<sqlite3\.h>": {"db"},
    r"<xgboost/": {"costmodel"},
    r"<prometheus/": {"server"},
    r"<(grpc|grpcpp)/": {"server", "worker", "client", "proto", "transport"},
    r"<openssl/": {"transport", "server"},
    r"<zlib\.h>": {"compiler/schedule"},
}
MAX_HEADER, MAX_SOURCE = 250, 600
BANNED = [
    (re.compile(r"\bgetenv\("), "reads the environment", lambda p: not p.name.endswith("main.cc")),
    (re.compile(r"\bstd::cout\b|[^a-z_]printf\("), "prints from a library",
     lambda p: p.parts[0] in ("compiler", "costmodel", "db", "server")),
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "leaves work behind", lambda p: True),
]


def folder_of(path):
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "compiler" else parts[0]


def problems_of(root, path, text):
    folder, is_main = folder_of(path), path.name.endswith("main.cc")
    lines = text.splitlines()
    limit = MAX_HEADER if path.suffix == ".h" else MAX_SOURCE
    if len(lines) > limit:
        yield len(lines), f"is {len(lines)} lines long; the limit is {limit}"
    for number, line in enumerate(lines, 1):
        included = re.match(r'#include "([^"]+)"', line)
        if included and "/" in included.group(1):
            target = folder_of(pathlib.PurePath(included.group(1)))
            ours = (root / included.group(1)).is_file() or included.group(1).endswith(".pb.h")
            if ours and target != folder and target not in ALLOWED[folder]:
                yield number, f"{folder} may not include {target}"
        for pattern, homes in VENDORS.items():
            if re.match(r"#include " + pattern, line):
                if folder not in homes:
                    yield number, f"{folder} may not use this third-party header"
                elif path.suffix == ".h" and "grpc" not in pattern:
                    yield number, "a third-party header belongs into a source file"
        for pattern, why, applies in BANNED:
            if applies(path) and not is_main and pattern.search(line):
                yield number, why


def main():
    root = pathlib.Path(sys.argv[1])
    count = bad = 0
    for top in ("compiler", "costmodel", "db", "transport", "server", "worker", "client", "proto"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cc", ".c"):
                continue
            count += 1
            path = file.relative_to(root)
            if file.stem in ("utils", "util", "helpers", "common", "misc"):
                print(f"{path}: name a file after what it holds")
                bad += 1
            for number, why in problems_of(root, path, file.read_text()):
                print(f"{path}:{number}: {why}")
                bad += 1
    print(f"{count} files, {bad} problems")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
