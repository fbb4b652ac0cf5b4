#!/usr/bin/env python3
"""Holds the printers for GDB against what the text forms say: builds printed_values.cc, stops it,
prints each of its values.

  printers_test.py SOURCE_FOLDER

Exits with 77 if there is no gdb with Python, or it may not start a program here.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
PRINTERS = SOURCE / "cmake/gdb/mlc_printers.py"
INDEX = "add(mul(v1, 16), 3)"
LOAD = f"b0[{INDEX}, lanes=16, stride=2, mask=5]"
VALUE = f"fma({LOAD}, broadcast(f32(0.5), 16), {LOAD})"
NAMED = VALUE.replace("v1", "i").replace("b0", "x")
EXPECTED = {
    "fine": "OK",
    "refused": "INVALID_ARGUMENT: no such knob",
    "seven": "ok = {value = 7}",
    "missing": "NOT_FOUND: no record",
    "digest": "1fc9d1a8792a3f189b68ba7c41bf1731",
    "config": "contraction/2 mr=14 nr=2",
    "type": "f32[1,8,4,4]{128,1,32,8}",
    "sum": "add(%0, _) {axis=1, mode=edge, pads=[0,2]} : bf16[16]",
    "graph": "graph of 2 values, returns %1 = {%0 = input() : f32[1,8,4,4]{128,1,32,8}, "
    "%1 = add(%0, _) {axis=1, mode=edge, pads=[0,2]} : bf16[16]}",
    "vector": "f32x16",
    "index": INDEX,
    "*load._M_ptr": LOAD,
    "lanes": "lane_mask(active=4)",
    "store": f"\nb1[{INDEX}] = {VALUE}",
    "kernel.buffers[2]": "reg acc: f32x16[4]",
    "kernel": f"""kernel scale {{
  in x: f32[1024]
  out y: f32[1024]
  reg acc: f32x16[4]
  parallel for chunk in 0 .. 8 {{
    unrolled for i in 0 .. 14 step 2 {{
      let at = add(mul(i, 16), 3)
      y[add(mul(i, 16), 3)] = {NAMED}
      sync(kind=wait_copies, pending=1)
      if lane_mask(active=4) {{
        y[add(mul(i, 16), 3)] = {NAMED}
      }} else {{
        y[add(mul(i, 16), 3)] = {NAMED}
      }}
    }}
  }}
}}""",
}
MARK = "== "


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def gdb(*commands, program=None):
    words = ["gdb", "-q", "-nx", "-batch", "-iex", "set auto-load safe-path /"]
    for command in commands:
        words += ["-ex", command]
    environment = dict(os.environ, DEBUGINFOD_URLS="", LC_ALL="C.UTF-8")
    return subprocess.run(
        words + ([program] if program else []),
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def main():
    if shutil.which("gdb") is None:
        skip("gdb is not installed")
    if "4321" not in gdb("python print(4000 + 321)").stdout:
        skip("this gdb has no Python")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/printed_values"
        subprocess.run(
            [
                os.environ.get("CXX", "g++"),
                "-std=c++20",
                "-O0",
                "-g",
                "-I",
                SOURCE,
                SOURCE / "tests/repository/printed_values.cc",
                "-o",
                program,
            ],
            check=True,
        )
        prints = [
            part
            for name in EXPECTED
            for part in (f"echo {MARK}{name}\\n", f"output {name}", "echo \\n")
        ]
        done = gdb(
            f"source {PRINTERS}",
            "set confirm off",
            "set width 0",
            "set print elements 0",
            "set disable-randomization off",
            "break Stop",
            "run",
            "up",
            "set print frame-info source-line",
            *prints,
            "kill",
            program=program,
        )
    if "Could not trace" in done.stderr or "Operation not permitted" in done.stderr:
        skip(f"gdb may not start a program here: {done.stderr.strip()}")
    blocks = dict(block.split("\n", 1) for block in ("\n" + done.stdout).split("\n" + MARK)[1:])
    problems = 0
    for name, wanted in EXPECTED.items():
        shown = blocks.get(name, "nothing").split("\n[Inferior")[0].rstrip("\n")
        if shown != wanted:
            print(f"{name} prints\n{shown}\ninstead of\n{wanted}\n")
            problems += 1
    if problems:
        print(done.stderr)
    print(f"{len(EXPECTED)} values, {problems} problems")
    sys.exit(1 if problems else 0)


main()
