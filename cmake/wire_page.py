#!/usr/bin/env python3
"""Writes the reference page of the wire protocol from proto/*.proto and their comments.

    wire_page.py SOURCE_FOLDER    writes docs/reference/wire.md there
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "program_docs"))
from markdown import wrap

TITLES = {
    "tuner": "Calls of clients and builds",
    "worker": "Calls of workers",
    "common": "Messages of both",
}
INTRODUCTION = """# Wire protocol

Clients and workers call the server over gRPC. The package is `mlc.proto`; the files are
`proto/common.proto`, `proto/tuner.proto` and `proto/worker.proto`. This page is generated from
them: `python3 cmake/wire_page.py .` writes it again.

- `proto/README.md` has the states of jobs and trials, the rules of compatibility and the status
  codes.
- Workloads, targets and configs are texts in their canonical form: [text-forms.md](text-forms.md).
- [Security](../explanation/security.md) says which role may make which call.
- In brackets: the type and the number of a field.
"""


def sentence(text):
    # Names, which have underscores, and paths become code.
    text = re.sub(r"(?<![`\w/])(?:[\w-]+/)*\w+(?:_\w+|/[\w.]+\w)\b(?!`)", r"`\g<0>`", text)
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?")) else text + "."


def statements(text):
    """(comment, statement) of each line that says something; a comment stands above or behind."""
    text = re.sub(r"=\s*\n\s*(\d+;)", r"= \1", text)
    above = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        statement, _, comment = line.partition("//")
        statement = statement.strip()
        if not statement:
            above = above + [comment.strip()] if comment else []
            continue
        behind = [comment.strip()] if comment else []
        yield " ".join(above + behind), statement
        above = []


def member(comment, statement):
    """A line of the page for a call, a field or an enumerator; None for anything else."""
    if found := re.match(r"rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);", statement):
        call, request, stream, reply = found.groups()
        kind = f"{request} -> {stream or ''}{reply}"
    elif found := re.match(r"(?:(repeated|optional) )?(\w+) (\w+) = (\d+);", statement):
        label, kind, call, number = found.groups()
        kind = f"{label + ' ' if label else ''}{kind}, {number}"
    elif found := re.match(r"(\w+) = (\d+);", statement):
        call, kind = found.groups()
    else:
        return None
    text = f": {sentence(comment)}" if comment else ""
    return wrap(f"`{call}` ({kind}){text}", "- ", "  ")


def part(text):
    """The services, messages and enumerations of one file."""
    out = []
    for comment, statement in statements(text):
        if found := re.match(r"(service|message|enum) (\w+) \{(\})?", statement):
            out += ["", f"### {found[2]}", ""]
            if comment:
                out += [wrap(sentence(comment)), ""]
            if found[3]:
                out += ["No fields."]
        elif line := member(comment, statement):
            out.append(line)
        elif not re.match(r"\}|syntax|package|import", statement):
            raise ValueError(f"cannot place: {statement}")
    while out and not out[-1]:
        out.pop()
    return out


def write(source):
    out = [INTRODUCTION.rstrip("\n")]
    for name, title in TITLES.items():
        text = (source / f"proto/{name}.proto").read_text()
        out += ["", f"## {title}", *part(text)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1])
    (root / "docs/reference/wire.md").write_text(write(root))
