"""Makes wheels of the package: the build backend of pyproject.toml, and what deploy/wheel.sh runs.

  mlc_wheel.py TREE SBOM DIST     a wheel with the programs and libraries of an unpacked bundle

As a backend it makes a wheel without programs, and an editable one for development. It needs the
standard library alone. The same files give the same bytes: names are sorted, times are
SOURCE_DATE_EPOCH's.
"""

import base64
import ctypes
import hashlib
import json
import os
import pathlib
import re
import struct
import sys
import time
import zlib

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
# A server is set up from the bundle; without it the wheel stays small.
PROGRAMS = ("mlc-tune", "mlc-compile", "mlc-run", "mlc-log", "mlc-worker")
PLATFORM = "manylinux_2_35_x86_64"
# Runs the program of the package without importing it, which would import NumPy.
SCRIPT = """#!python
import importlib.util
import os
import sys

folder = importlib.util.find_spec("mlc_tune").submodule_search_locations[0]
program = os.path.join(folder, "bin", {name!r})
os.execv(program, [{name!r}, *sys.argv[1:]])
"""


class UnsupportedOperation(Exception):
    """What this backend does not do."""


def version():
    text = (PACKAGE.parent / "CMakeLists.txt").read_text()
    return re.search(r"^project\(mlc-tune VERSION ([0-9.]+)", text, re.M)[1]


def metadata():
    """METADATA from pyproject.toml, whose values are one line each."""
    text = (PACKAGE / "pyproject.toml").read_text()

    def value(name):
        return re.search(rf'^{name} = (?:\{{ text = )?"([^"]*)"', text, re.M)[1]

    lines = [
        "Metadata-Version: 2.1",
        "Name: mlc-tune",
        f"Version: {version()}",
        f"Summary: {value('description')}",
        f"License: {value('license')}",
        f"Requires-Python: {value('requires-python')}",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: C++",
        "Classifier: Programming Language :: Python :: 3",
        "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown",
    ]
    for needed in re.findall(r'"([^"]+)"', re.search(r"^dependencies = (.*)$", text, re.M)[1]):
        lines.append(f"Requires-Dist: {needed}")
    extras = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for extra, packages in re.findall(r"^(\w+) = \[(.+)\]$", extras, re.M):
        lines.append(f"Provides-Extra: {extra}")
        for needed in re.findall(r'"([^"]+)"', packages):
            lines.append(f'Requires-Dist: {needed}; extra == "{extra}"')
    return "\n".join(lines) + "\n\n" + (PACKAGE / "README.md").read_text()


def entry_points():
    """entry_points.txt from pyproject.toml."""
    text = (PACKAGE / "pyproject.toml").read_text()
    groups = re.findall(r"^\[project\.entry-points\.(\w+)\]\n((?:\w+ = .*\n)+)", text, re.M)
    return "\n".join(f"[{group}]\n{rows}".replace('"', "") for group, rows in groups)


def deflate(data):
    """Raw deflate: by libdeflate if it is installed, 3 % smaller than by zlib."""
    try:
        library = ctypes.CDLL("libdeflate.so.0")
    except OSError:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return packer.compress(data) + packer.flush()
    library.libdeflate_alloc_compressor.restype = ctypes.c_void_p
    library.libdeflate_deflate_compress.restype = ctypes.c_size_t
    packer = ctypes.c_void_p(library.libdeflate_alloc_compressor(12))
    room = ctypes.create_string_buffer(len(data) + len(data) // 1000 + 1024)
    size = library.libdeflate_deflate_compress(
        packer, data, ctypes.c_size_t(len(data)), room, ctypes.c_size_t(len(room))
    )
    library.libdeflate_free_compressor(packer)
    if size == 0:
        raise RuntimeError("libdeflate found no room for its result")
    return room.raw[:size]


def write_zip(path, files):
    """files: (name, bytes, mode) in order. By hand, since zipfile takes no packed data."""
    now = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800))
    day = (now.tm_year - 1980) << 9 | now.tm_mon << 5 | now.tm_mday
    clock = now.tm_hour << 11 | now.tm_min << 5 | now.tm_sec // 2
    directory = b""
    with open(path, "wb") as out:
        for name, data, mode in files:
            packed, raw, at = deflate(data), name.encode(), out.tell()
            sizes = struct.pack("<III", zlib.crc32(data), len(packed), len(data))
            common = struct.pack("<HHHHH", 20, 0x800, 8, clock, day) + sizes
            out.write(b"PK\3\4" + common + struct.pack("<HH", len(raw), 0) + raw + packed)
            rest = struct.pack("<HHHHHII", len(raw), 0, 0, 0, 0, (0o100000 | mode) << 16, at)
            directory += b"PK\1\2" + struct.pack("<H", 3 << 8 | 20) + common + rest + raw
        at = out.tell()
        out.write(directory)
        counts = struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(directory), at, 0)
        out.write(b"PK\5\6" + counts)


def write_wheel(folder, tag, files):
    """Adds the metadata to (name, bytes, mode) of each file, and writes the wheel."""
    info = f"mlc_tune-{version()}.dist-info"
    pure = "true" if tag.endswith("-any") else "false"
    wheel = f"Wheel-Version: 1.0\nGenerator: mlc_wheel\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    licence = (PACKAGE.parent / "LICENSE").read_bytes()
    files = sorted(files)
    files += [
        (f"{info}/METADATA", metadata().encode(), 0o644),
        (f"{info}/WHEEL", wheel.encode(), 0o644),
        (f"{info}/entry_points.txt", entry_points().encode(), 0o644),
        (f"{info}/licenses/LICENSE", licence, 0o644),
    ]
    record = ""
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    name = f"mlc_tune-{version()}-{tag}.whl"
    part = pathlib.Path(folder, name + ".part")
    write_zip(part, files)
    part.replace(part.with_name(name))
    return name


def modules():
    paths = [p for p in (PACKAGE / "mlc_tune").rglob("*") if p.suffix in (".py", ".typed")]
    return [(str(path.relative_to(PACKAGE)), path.read_bytes(), 0o644) for path in paths]


def programs(tree):
    """Programs and libraries of an unpacked bundle, and scripts that run the programs."""
    files = []
    for name in PROGRAMS:
        files.append((f"mlc_tune/bin/{name}", (tree / "bin" / name).read_bytes(), 0o755))
        script = f"mlc_tune-{version()}.data/scripts/{name}"
        files.append((script, SCRIPT.format(name=name).encode(), 0o755))
    for path in (tree / "lib").iterdir():
        if path.is_file():
            files.append((f"mlc_tune/lib/{path.name}", path.read_bytes(), 0o644))
    return files


def licences(sbom):
    """The bill of materials, and the licence of each Debian package that it names."""
    info = f"mlc_tune-{version()}.dist-info"
    files = [(f"{info}/sboms/mlc-tune.spdx.json", sbom.read_bytes(), 0o644)]
    for package in json.loads(sbom.read_text())["packages"]:
        name = package["name"]
        if name == "mlc-tune":
            continue
        path = pathlib.Path("/usr/share/doc", name, "copyright")
        if not path.is_file():
            raise SystemExit(f"{path} is missing: install {name} with its documents")
        files.append((f"{info}/licenses/debian/{name}", path.read_bytes(), 0o644))
    return files


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, "py3-none-any", modules())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    place = [("_mlc_tune.pth", f"{PACKAGE}\n".encode(), 0o644)]
    return write_wheel(wheel_directory, "py3-none-any", place)


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the sources are those of the repository: git archive")


def main():
    tree, sbom, dist = map(pathlib.Path, sys.argv[1:])
    files = modules() + programs(tree) + licences(sbom)
    name = write_wheel(dist, f"py3-none-{PLATFORM}", files)
    print(f"{dist / name}: {(dist / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
