#!/usr/bin/env python3
"""Holds the shape of the source tree: which folder may include which, which Python module may import which, how long files
and functions may be, and words that stand for habits the project avoids. Prints every offending line; exits with 1 if there is one."""
import ast
import pathlib
import re
import sys

TOPS = ("base", "compiler", "costmodel", "db", "server", "worker", "client", "proto")
# Folder -> the folders whose headers it includes. A file belongs to the longest folder listed here. A folder sees
# itself, but neither its parent nor its sub-folders, unless they are listed. Arrows nobody uses any more go.
ALLOWED = {
    "base": "",
    "base/html": "base",
    "base/machine": "",
    "base/process": "base base/sandbox",
    "base/rpc": "base base/settings base/tls",
    "base/sandbox": "base base/machine",
    "base/settings": "base base/process",
    "base/tls": "base",
    "base/wire": "base proto",
    "client/compile": (
        "base base/machine base/process base/rpc base/settings base/wire client/model client/service "
        "client/target compiler/backend compiler/build compiler/codegen compiler/codegen/cuda compiler/front compiler/graph "
        "compiler/graph/physical compiler/graph/ranged compiler/ir compiler/package compiler/schedule/cuda/user_kernel "
        "compiler/schedule/space compiler/target costmodel costmodel/history db db/sqlite db/untuned proto"),
    "client/local": (
        "base base/machine base/process compiler/package compiler/schedule/cuda/user_kernel "
        "compiler/schedule/space db db/sqlite server server/search"),
    "client/log": (
        "base base/machine base/process client/model client/target compiler/front compiler/graph "
        "compiler/schedule/cuda/user_kernel compiler/schedule/space compiler/target db db/report db/snapshot db/sqlite "
        "db/untuned"),
    "client/model": (
        "base compiler/backend compiler/front compiler/graph compiler/graph/onnx compiler/graph/physical compiler/runtime "
        "compiler/target costmodel"),
    "client/progress": (
        "base base/process client/local client/model client/service client/tune/options compiler/target proto "
        "server/state"),
    "client/run": (
        "base base/machine base/process base/html base/settings client/model compiler/front compiler/graph "
        "compiler/graph/evaluate compiler/graph/onnx compiler/graph/passes"),
    "client/service": "base base/machine base/rpc base/wire client/target compiler/backend compiler/target proto",
    "client/target": "base compiler/backend compiler/build compiler/runtime compiler/target",
    "client/tune": (
        "base base/html base/machine base/process base/rpc base/settings base/wire client/compile client/local client/model "
        "client/progress client/service client/target client/tune/options compiler/backend compiler/build "
        "compiler/front compiler/graph compiler/graph/onnx compiler/package compiler/schedule/cuda/user_kernel "
        "compiler/schedule/kernel_spec compiler/schedule/space compiler/target costmodel db/report db/sqlite proto "
        "server/api server/jobs server/search server/state"),
    "client/tune/options": "base base/process base/rpc base/settings client/model client/target compiler/target",
    "compiler/backend": (
        "compiler/graph/passes compiler/graph/physical compiler/schedule/cpu/attention "
        "compiler/schedule/cpu/contraction compiler/schedule/cpu/depthwise compiler/schedule/cpu/fixed_point "
        "compiler/schedule/cpu/pointwise compiler/schedule/cpu/row_reduce compiler/schedule/cpu/window compiler/schedule/cpu/winograd "
        "compiler/schedule/cuda compiler/schedule/space compiler/target"),
    "compiler/build": "base base/process compiler/runtime compiler/target",
    "compiler/codegen": "base compiler/ir compiler/target compiler/types",
    "compiler/codegen/cuda": "base compiler/ir compiler/runtime compiler/target compiler/types",
    "compiler/front": (
        "base compiler/backend compiler/graph compiler/graph/onnx compiler/graph/passes compiler/graph/physical "
        "compiler/graph/ranged compiler/target"),
    "compiler/graph": "base compiler/types",
    "compiler/graph/evaluate": "base compiler/graph compiler/types",
    "compiler/graph/onnx": "base compiler/graph compiler/graph/evaluate",
    "compiler/graph/onnx/ops": "compiler/graph compiler/graph/onnx compiler/types",
    "compiler/graph/passes": "base compiler/graph compiler/graph/evaluate",
    "compiler/graph/physical": "base compiler/graph",
    "compiler/graph/ranged": "base compiler/graph",
    "compiler/ir": "base compiler/types",
    "compiler/ir/interpret": "base compiler/ir compiler/types",
    "compiler/package": (
        "base base/process compiler/build compiler/codegen compiler/codegen/cuda compiler/graph compiler/graph/ranged compiler/ir "
        "compiler/runtime compiler/schedule/cuda/user_kernel compiler/schedule/space compiler/target"),
    "compiler/runtime": "",
    "compiler/schedule": (
        "base compiler/backend compiler/graph compiler/ir compiler/schedule/fusion compiler/schedule/space"),
    "compiler/schedule/cpu": "compiler/ir",
    "compiler/schedule/cpu/attention": "base compiler/schedule/cpu compiler/schedule/fusion compiler/schedule/space",
    "compiler/schedule/cpu/contraction": (
        "base compiler/ir compiler/schedule/cpu compiler/schedule/fusion compiler/schedule/problem "
        "compiler/schedule/space compiler/target"),
    "compiler/schedule/cpu/depthwise": (
        "base compiler/ir compiler/schedule/cpu compiler/schedule/cpu/contraction compiler/schedule/fusion "
        "compiler/schedule/problem compiler/schedule/space compiler/target"),
    "compiler/schedule/cpu/fixed_point": (
        "base compiler/ir compiler/schedule/cpu compiler/schedule/cpu/contraction compiler/schedule/fusion "
        "compiler/schedule/problem compiler/schedule/space compiler/target"),
    "compiler/schedule/cpu/pointwise": (
        "base compiler/ir compiler/schedule/cpu compiler/schedule/fusion compiler/schedule/problem "
        "compiler/schedule/space compiler/target"),
    "compiler/schedule/cpu/row_reduce": (
        "compiler/schedule/cpu compiler/schedule/fusion compiler/schedule/problem compiler/schedule/space"),
    "compiler/schedule/cpu/window": (
        "compiler/schedule/cpu compiler/schedule/fusion compiler/schedule/problem compiler/schedule/space"),
    "compiler/schedule/cpu/winograd": (
        "base compiler/ir compiler/schedule/cpu compiler/schedule/cpu/contraction compiler/schedule/fusion "
        "compiler/schedule/problem compiler/schedule/space compiler/target"),
    "compiler/schedule/cuda": (
        "compiler/schedule/cuda/attention compiler/schedule/cuda/depthwise compiler/schedule/cuda/few_bits "
        "compiler/schedule/cuda/image compiler/schedule/cuda/pointwise compiler/schedule/cuda/pool "
        "compiler/schedule/cuda/row_reduce compiler/schedule/cuda/simt compiler/schedule/cuda/skinny compiler/schedule/cuda/tensor "
        "compiler/schedule/space"),
    "compiler/schedule/cuda/attention": (
        "base compiler/ir compiler/schedule/cpu/attention compiler/schedule/cuda/tensor compiler/schedule/cuda/tile "
        "compiler/schedule/fusion compiler/schedule/space compiler/target"),
    "compiler/schedule/cuda/depthwise": (
        "base compiler/schedule/cuda/tile compiler/schedule/fusion compiler/schedule/problem compiler/schedule/space"),
    "compiler/schedule/cuda/few_bits": (
        "base compiler/ir compiler/schedule/cuda/tile compiler/schedule/fusion compiler/schedule/problem "
        "compiler/schedule/space compiler/target"),
    "compiler/schedule/cuda/image": (
        "base compiler/graph compiler/ir compiler/schedule/cuda/tile compiler/schedule/fusion "
        "compiler/schedule/space compiler/target"),
    "compiler/schedule/cuda/pointwise": (
        "base compiler/ir compiler/schedule/cpu/pointwise compiler/schedule/cuda/tile compiler/schedule/fusion "
        "compiler/schedule/problem compiler/schedule/space"),
    "compiler/schedule/cuda/pool": (
        "base compiler/schedule/cpu/window compiler/schedule/cuda/tile compiler/schedule/fusion "
        "compiler/schedule/problem compiler/schedule/space"),
    "compiler/schedule/cuda/row_reduce": (
        "base compiler/ir compiler/schedule/cuda/tile compiler/schedule/fusion compiler/schedule/problem "
        "compiler/schedule/space"),
    "compiler/schedule/cuda/simt": (
        "compiler/schedule/cuda/tile compiler/schedule/fusion compiler/schedule/problem compiler/schedule/space "
        "compiler/target"),
    "compiler/schedule/cuda/skinny": (
        "base compiler/schedule/cuda/tile compiler/schedule/fusion compiler/schedule/problem compiler/schedule/space "
        "compiler/target"),
    "compiler/schedule/cuda/tensor": (
        "compiler/ir compiler/schedule/cuda/tile compiler/schedule/fusion compiler/schedule/problem "
        "compiler/schedule/space compiler/target"),
    "compiler/schedule/cuda/tile": (
        "base compiler/ir compiler/schedule/fusion compiler/schedule/problem compiler/schedule/space compiler/target"),
    "compiler/schedule/cuda/user_kernel": (
        "base compiler/graph compiler/schedule/kernel_spec compiler/schedule/space compiler/target"),
    "compiler/schedule/fusion": "base compiler/graph compiler/ir compiler/schedule/space compiler/target",
    "compiler/schedule/kernel_spec": "base compiler/target",
    "compiler/schedule/problem": "base compiler/graph compiler/schedule/fusion compiler/schedule/space compiler/target",
    "compiler/schedule/space": "base compiler/graph compiler/ir compiler/target",
    "compiler/target": "base compiler/types",
    "compiler/types": "base",
    "costmodel": (
        "base compiler/backend compiler/graph compiler/schedule/problem compiler/schedule/space compiler/target"),
    "costmodel/history": "base compiler/schedule compiler/schedule/cuda/user_kernel costmodel db",
    "db": "base",
    # A reading of the log for people, which names what its texts mean; no other part of db/ includes it.
    "db/report": (
        "base base/html compiler/graph compiler/schedule/cuda/user_kernel compiler/schedule/space compiler/target "
        "costmodel db db/sqlite"),
    "db/snapshot": "base base/process db db/sqlite",
    "db/sqlite": "base base/process db",
    "db/untuned": "base",
    "proto": "",
    "server": (
        "base base/machine base/process base/rpc base/settings compiler/graph compiler/target db db/snapshot db/sqlite db/untuned "
        "server/api server/fleet "
        "server/jobs server/logging server/metrics server/page server/search server/tuner"),
    "server/api": (
        "base base/rpc base/tls base/wire proto server/jobs server/metrics server/security server/tuner server/workers"),
    "server/fleet": "base base/process server/scheduler",
    "server/jobs": (
        "base compiler/graph compiler/schedule compiler/schedule/cuda/user_kernel compiler/target "
        "costmodel/history db server/search server/security"),
    "server/logging": "base",
    "server/metrics": "base",
    "server/page": (
        "base base/html base/rpc base/tls compiler/target db/report proto server/api server/metrics server/security "
        "server/state server/tuner server/workers"),
    "server/scheduler": "base",
    "server/search": (
        "base compiler/graph compiler/schedule/cuda/user_kernel compiler/schedule/space compiler/target "
        "costmodel db"),
    "server/security": "base base/tls server/metrics",
    # What messages of the wire mean, for the server and its clients alike: no other part of the server below it.
    "server/state": "base compiler/graph compiler/schedule/space compiler/target costmodel proto",
    "server/tuner": (
        "base compiler/schedule/cuda/user_kernel costmodel costmodel/history db server/jobs "
        "server/metrics server/scheduler server/search server/security server/workers"),
    "server/workers": "base db server/scheduler",
    "worker": (
        "base base/machine base/process base/rpc base/sandbox base/settings compiler/build "
        "compiler/schedule/space compiler/target worker/agent worker/check worker/device/cpu worker/device/fleet worker/doctor "
        "worker/engine worker/measure"),
    "worker/agent": (
        "base base/rpc base/wire compiler/schedule/cuda/user_kernel compiler/schedule/space "
        "proto worker/build worker/device worker/engine"),
    "worker/build": (
        "base base/process compiler/build compiler/codegen compiler/codegen/cuda compiler/graph "
        "compiler/schedule/cuda/user_kernel compiler/schedule/space compiler/target"),
    "worker/check": (
        "base base/process base/sandbox compiler/graph compiler/graph/evaluate "
        "compiler/graph/physical compiler/types"),
    "worker/device": (
        "base base/process base/sandbox compiler/graph compiler/target worker/build worker/check"),
    "worker/device/cpu": (
        "base base/machine base/process base/sandbox compiler/build compiler/graph compiler/graph/physical "
        "compiler/runtime compiler/schedule/space compiler/target worker/build worker/check worker/device "
        "worker/measure"),
    "worker/device/cuda": (
        "base compiler/build compiler/codegen/cuda compiler/graph compiler/graph/physical compiler/runtime "
        "worker/build worker/check worker/measure"),
    "worker/device/fleet": (
        "base base/process base/sandbox compiler/build compiler/runtime compiler/target worker/build "
        "worker/device worker/device/cuda"),
    "worker/doctor": (
        "base/machine base/process base/rpc base/sandbox compiler/build compiler/target worker/device/cuda "
        "worker/device/fleet"),
    "worker/engine": (
        "base base/machine base/process base/sandbox compiler/target worker/build worker/check worker/device "
        "worker/measure"),
    "worker/measure": (
        "base base/machine base/process base/sandbox compiler/build compiler/codegen compiler/ir compiler/runtime "
        "compiler/target"),
}
# Module of the Python package -> the modules of it that it imports, without their underscores. It imports only the standard
# library and NumPy besides, at the top of a file; OPTIONAL packages within functions.
PYTHON_ALLOWED = {
    "__init__": (
        "arguments cache compile errors inference kernel library log options session session_options tensors tune"),
    "abi": "errors",
    "arguments": "errors tensors",
    "cache": "errors programs temporary",
    "compile": "constants library options programs temporary",
    "constants": "errors programs",
    "cuda": "errors",
    "errors": "",
    "exporters": "errors",
    "forks": "",
    "inference": "cache compile errors io_binding library onnx_file options programs session_options",
    "io_binding": "cuda errors inference library tensors",
    "jax": "compile errors exporters library",
    "kernel": "errors kernel_cache kernel_library kernel_spec options programs progress temporary tune",
    "kernel_cache": "cache programs",
    "kernel_library": "errors temporary tensors",
    "kernel_spec": "errors nodes traced",
    "keras": "compile errors exporters library",
    "library": "arguments errors forks model programs session sizes tensors",
    "log": "constants errors options programs",
    "counted": "abi",
    "model": "abi arguments counted errors forks tensors",
    "nodes": "errors tensors",
    "onnx_file": "errors",
    "onnxruntime": "inference io_binding session_options",
    "options": "constants errors programs",
    "programs": "errors",
    "quick": "forks model tensors",
    "progress": "",
    "session": "abi arguments errors forks model quick tensors",
    "sizes": "abi arguments counted errors forks model session tensors",
    "session_options": "errors",
    "sklearn": "compile errors exporters library trees",
    "temporary": "forks",
    "tensorflow": "compile errors exporters library",
    "tensors": "errors",
    "traced": "errors nodes",
    "trees": "errors",
    "tune": "constants errors options programs progress",
    # A folder of its own, which also imports PyTorch.
    "torch.__init__": (
        "errors programs torch.aot torch.background torch.graph torch.options torch.reasons torch.tune"),
    "torch.aot": "compile errors library onnx_file programs torch.device torch.export torch.reasons torch.store",
    "torch.background": "errors options torch.plan torch.tune tune",
    "torch.device": "cuda library session torch.reasons",
    "torch.export": "torch.reasons torch.store",
    "torch.graph": "errors library torch.device torch.export torch.options torch.plan torch.reasons",
    "torch.layout": "torch.reasons",
    "torch.options": "compile errors options",
    "torch.plan": (
        "library tensors torch.device torch.export torch.layout torch.options torch.reasons torch.store"),
    "torch.reasons": "",
    "torch.store": "cache compile errors library onnx_file temporary torch.device torch.options",
    "torch.tune": (
        "errors options programs progress torch.graph torch.options torch.plan tune"),
}
OPTIONAL = {"ml_dtypes", "onnx", "pandas", "tf2onnx", "tqdm"}
# Arrows that close a cycle, with the reason why each may: (from, to): reason. Any other is an error.
KNOWN_CYCLES = {}
# Third-party headers stay in the sources of their one folder (and its sub-folders).
VENDORS = {
    r"[<\"](llvm|lld)/": {"compiler/codegen", "compiler/build", "compiler/package"},
    r"<sqlite3\.h>": {"db/sqlite"},
    r"<httplib\.h>": {"server/page"},
    r"<xgboost/": {"costmodel"},
    r"<prometheus/": {"server/metrics"},
    r"<(grpc|grpcpp)/": {"base/rpc", "base/tls", "base/wire", "server/api", "server/security",
                           "worker/agent", "client/service", "proto"},
    r"<openssl/": {"base/tls", "base/rpc", "server/security"},
    r"<toml\+\+/": {"base/settings"},
    r"<zlib\.h>": {"compiler/schedule/cuda/user_kernel"},
    r"<zstd(_errors)?\.h>": {"compiler/package", "compiler/runtime"},
}
# Below the layer of calls, the server knows no message of the wire: no generated or library header of protobuf reaches
# these folders, by whatever way.
WITHOUT_MESSAGES = ("server/jobs", "server/scheduler", "server/search", "server/tuner", "server/workers")
MESSAGES = re.compile(r'\s*#\s*include\s*["<]([^">]+\.pb\.h|google/protobuf/[^">]+)[">]')
# CONTRIBUTING.md states the limits. What is longer today may shrink, not grow.
MAX_HEADER, MAX_SOURCE, MAX_FUNCTION = 150, 400, 60
LONG_FILES = {
    "compiler/graph/graph.h": 182,
    "compiler/ir/ir.h": 247,
    "compiler/runtime/cuda_driver.h": 173,
}
# By file: its longest function.
LONG_FUNCTIONS = {
    "compiler/schedule/cpu/contraction/contraction_facts.cc": 64,
    "worker/device/cpu/runner.cc": 65,
}
BANNED = [
    (re.compile(r"\bgetenv\("), "reads the environment", lambda p: not p.name.endswith("main.cc")),
    (re.compile(r"\bstd::cout\b|[^a-z_]printf\("), "prints from a library",
     lambda p: p.parts[0] in ("base", "compiler", "costmodel", "db", "server") and p.name != "arguments.cc"),
    (re.compile(r"\b(TODO|FIXME|XXX)\b"), "leaves work behind", lambda p: True),
]
NO_FUNCTION = re.compile(r"\s*(class|struct|enum|union|namespace|extern|if|for|while|switch|else|do|case|default)\b")


def folder_of(name):
    parts = name.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in ALLOWED:
            return "/".join(parts[:length])
    return "/".join(parts)


def within(folder, homes):
    return any(folder == home or folder.startswith(home + "/") for home in homes)


def functions(lines):
    """Line and length of each function, as clang-format lays it out: its head begins in column 0, or 2 in a class,
    and it ends with a brace in the same column."""
    number = 0
    while number < len(lines):
        first = number
        if lines[number].endswith("{") and not lines[number].endswith("({"):
            while lines[first].startswith("   ") and not lines[first - 1].endswith((";", "{", "}")):
                first -= 1
            head = " ".join(lines[first:number + 1])
            column = len(lines[first]) - len(lines[first].lstrip())
            if column in (0, 2) and "(" in head and not NO_FUNCTION.match(lines[first]):
                end = " " * column + "}"
                while number < len(lines) - 1 and not lines[number].startswith(end):
                    number += 1
                yield first + 1, number - first + 1
        number += 1


def lengths_of(path, lines):
    limit = LONG_FILES.get(str(path), MAX_HEADER if path.suffix == ".h" else MAX_SOURCE)
    if len(lines) > limit:
        yield len(lines), f"is {len(lines)} lines long; the limit is {limit}"
    limit = LONG_FUNCTIONS.get(str(path), MAX_FUNCTION)
    for number, length in functions(lines):
        if length > limit:
            yield number, f"a function of {length} lines; the limit is {limit}"


def problems_of(root, path, text, used):
    folder, is_main = folder_of(str(path)), path.name.endswith("main.cc")
    lines = text.splitlines()
    yield from lengths_of(path, lines)
    for number, line in enumerate(lines, 1):
        included = re.match(r'#include "([^"]+)"', line)
        if included and "/" in included.group(1):
            name = included.group(1)
            target = folder_of(name)
            ours = (root / name).is_file() or name.endswith(".pb.h")
            if not ours and name.split("/")[0] in TOPS:
                yield number, f"includes {name}, which is not there"
            if ours and target != folder:
                used.add((folder, target))
                if target not in ALLOWED.get(folder, "").split():
                    yield number, f"{folder} may not include {target}"
        for pattern, homes in VENDORS.items():
            if re.match(r"#include " + pattern, line):
                if not within(folder, homes):
                    yield number, f"{folder} may not use this third-party header"
                elif path.suffix == ".h" and "grpc" not in pattern:
                    yield number, "a third-party header belongs into a source file"
        for pattern, why, applies in BANNED:
            if applies(path) and not is_main and pattern.search(line):
                yield number, why


def message_problems(root):
    """Files of WITHOUT_MESSAGES that include protobuf, with the way by which they do."""
    includes = {}

    def includes_of(name):
        if name not in includes:
            text = (root / name).read_text()
            ours = [one for one in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M) if (root / one).is_file()]
            found = [match.group(1) for match in map(MESSAGES.match, text.splitlines()) if match]
            includes[name] = ours, found
        return includes[name]

    for folder in WITHOUT_MESSAGES:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cc"):
                continue
            name = str(file.relative_to(root))
            seen, todo = {name}, [(name,)]
            while todo:
                way = todo.pop()
                ours, found = includes_of(way[-1])
                if found:
                    yield f"{name}: knows messages of the wire, by {' -> '.join((*way[1:], found[0]))}"
                    break
                todo += [(*way, one) for one in ours if one not in seen]
                seen.update(ours)


def table_problems(used):
    """Arrows that no file needs, and folders that include each other, directly or by way of others."""
    arrows = {folder: set(targets.split()) for folder, targets in ALLOWED.items()}
    for folder, targets in arrows.items():
        for target in sorted(targets):
            if (folder, target) not in used:
                yield f"no file of {folder} includes {target}: take it out of the table"

    def reached_from(folder):
        seen, todo = set(), [folder]
        while todo:
            for target in arrows.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    for folder in sorted(arrows):
        for target in sorted(arrows[folder]):
            if folder in reached_from(target) and (folder, target) not in KNOWN_CYCLES:
                yield f"{folder} -> {target} closes a cycle"


def imports_of(tree):
    """(line, module, at the top) of each import; modules of the package have a dot before their names."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    within = {inner for function in functions for inner in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            own = ["." * node.level + alias.name for alias in node.names]
            names = own if node.level and not node.module else ["." * node.level + node.module]
        else:
            continue
        for name in names:
            yield node.lineno, name, node not in within


def python_problems(root):
    """Lengths, imports and habits of the Python package."""
    for file in sorted((root / "python").rglob("*.py")):
        path, text = file.relative_to(root), file.read_text()
        tree = ast.parse(text, str(path), feature_version=(3, 9))
        if len(text.splitlines()) > MAX_SOURCE:
            yield f"{path}: is {len(text.splitlines())} lines long; the limit is {MAX_SOURCE}"
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = node.end_lineno - node.body[0].lineno + 1
                if length > MAX_FUNCTION:
                    yield f"{path}:{node.lineno}: a function of {length} lines; the limit is {MAX_FUNCTION}"
        folders = path.parts[2:-1]
        name = file.stem if file.stem.startswith("__") else file.stem.lstrip("_")
        name = ".".join((*folders, name))
        allowed = PYTHON_ALLOWED.get(name, "").split() if path.parts[1] == "mlc_tune" else []
        for line, module, top in imports_of(tree):
            first = module.split(".")[0]
            if module.startswith("."):
                above = len(module) - len(module.lstrip(".")) - 1
                target = ".".join((*folders[: len(folders) - above], module.lstrip("._")))
                if target not in allowed:
                    yield f"{path}:{line}: {name} may not import {module}"
            elif first not in ("numpy", *folders) and first not in sys.stdlib_module_names and (top or first not in OPTIONAL):
                yield f"{path}:{line}: imports {first}, which is neither of the standard library nor NumPy"
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                yield f"{path}:{number}: leaves work behind"


def main():
    root = pathlib.Path(sys.argv[1])
    count = bad = 0
    used = set()
    for top in TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cc", ".c"):
                continue
            count += 1
            path = file.relative_to(root)
            if file.stem in ("utils", "util", "helpers", "common", "misc"):
                print(f"{path}: name a file after what it holds")
                bad += 1
            for number, why in problems_of(root, path, file.read_text(), used):
                print(f"{path}:{number}: {why}")
                bad += 1
    for why in table_problems(used):
        print(f"tests/layering/check_tree.py: {why}")
        bad += 1
    for why in (*message_problems(root), *python_problems(root)):
        print(why)
        bad += 1
    print(f"{count} files, {bad} problems")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
