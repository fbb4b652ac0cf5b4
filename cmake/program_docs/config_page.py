"""Writes the reference page of the configuration file from the help of the programs: options whose
help names a variable are settings."""

from markdown import code, facts, prose, sentence, wrap

INTRODUCTION = """\
# Configuration file

Programs take settings from flags, environment variables and a configuration file. The strongest
source wins: flag, variable, file, default. `--print-config` prints each setting of a program with
its value and source, as a configuration file. `mlc-log` has no settings.

    # ~/.config/mlc/config.toml
    server = "tuner.lab:7443"
    tls-ca = "certs/ca.pem"            # in the folder of this file
    token-file = "~/certs/alice.token"

    [mlc-run]
    threads = 4

    [mlc-server]
    listen = "0.0.0.0:7443"
    tls-cert = "/etc/mlc/tls/server.pem"

## Which file

A program reads one file:

1. the file of `--config`; `--config ''` means none,
2. the file that the variable `MLC_CONFIG` names,
3. `$XDG_CONFIG_HOME/mlc/config.toml`, or `~/.config/mlc/config.toml` if `XDG_CONFIG_HOME` is not
   set. This file may be missing, or lie in a folder that the user cannot enter, such as the home
   folder of another user.

The programs do not read a file of the current folder: another user who can write there could choose
programs and libraries that run. For the same reason a program refuses a file that others can change: the file
belongs to the user of the program or to root, and only its owner can write to it. The file holds no
secrets: `tls-key` and `token-file` are paths.

The worker of `mlc-tune` without `--server` reads no file. Workers of a fleet read the file of the
user they run as. `mlc_add_model` of CMake reads no file, and ignores `MLC_SERVER`, `MLC_LOG`,
`MLC_TARGET` and `MLC_THREADS`: the build decides.

## Form

The file is TOML. Texts and paths stand in quotes. A path without a leading `/` is relative to the
folder of the file; `~/` is the home folder. A path in a variable or a flag is relative to the
current folder.

A key at the top applies to all its programs. A table named after a program applies to that program,
and wins over the top. An empty text means the default.

A file with an unknown key, a value of a wrong type or a value out of range ends the program with
[code 78](exit-codes.md#78-wrong-version-machine-or-configuration). A value that is out of range, or
a switch that is neither true nor false, has the same code in a variable. A value that a stronger
source replaces is not checked.

## What replaces what

- If one of `tls-cert` and `tls-key` comes from a stronger source, the other one of a weaker source
  is set aside.
- If `log` comes from a stronger source than `server`, `mlc-tune` and `mlc-compile` use no server.
  `--server ''` means no server as well.
- If the server is at a `unix:PATH`, programs ignore the certificate, the key, the token and the
  other settings of a connection that come from variables or the file.
"""


def settings(page):
    """{name: item} of the options that are settings."""
    return {
        item.names[-1][2:]: item
        for item in page.options()
        if item.environment.startswith("MLC_") and item.names[-1].startswith("--")
    }


def variable(name, program=""):
    """The variable of a setting; of one that a single program has, with that program."""
    words = [*program.split("-")[1:], name]
    return "MLC_" + "_".join(words).upper().replace("-", "_")


def type_of(item):
    return {"": "true or false", "INT": "whole number", "UINT": "whole number"}.get(
        item.value, "text"
    )


def meaning(item):
    told = [fact for fact in facts(item) if not fact.startswith("Environment")]
    return " ".join([sentence(prose(item.text)), *told])


def shared(pages):
    """{name: {program: item}} of the keys at the top."""
    found = {}
    for page in pages:
        for name, item in settings(page).items():
            if item.environment == variable(name):
                found.setdefault(name, {})[page.name] = item
    return found


def shared_entry(name, items):
    texts = {program: meaning(item) for program, item in items.items()}
    first = next(iter(items.values()))
    if len(set(texts.values())) == 1:
        told = f"{next(iter(texts.values()))} For {', '.join(map(code, items))}."
    else:
        told = " ".join(f"{code(program)}: {text}" for program, text in texts.items())
    line = f"{code(name)}, {code(first.environment)} ({type_of(first)}): {told}"
    return wrap(line, "- ", "  ")


def own_entries(page):
    for name, item in settings(page).items():
        if item.environment == variable(name, page.name):
            line = f"{code(name)}, {code(item.environment)} ({type_of(item)}): {meaning(item)}"
            yield wrap(line, "- ", "  ")


def write(pages, command):
    """The page; `pages` are the helps of the programs, `command` is what writes it again."""
    out = [INTRODUCTION]
    out += [wrap(f"`{command}` writes this page, and the lists of keys from `--help`."), ""]
    out += ["## Keys at the top", ""]
    out += [shared_entry(name, items) for name, items in shared(pages).items()]
    for page in pages:
        if entries := list(own_entries(page)):
            out += ["", f"## Keys of {page.name} only", "", *entries]
    out += ["", "## See also", ""]
    out += ["- [Environment variables](environment.md)", "- [Exit codes](exit-codes.md)"]
    return "\n".join(out) + "\n"
