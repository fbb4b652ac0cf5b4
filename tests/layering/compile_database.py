"""The compilations of a build, one for each source: also of those that the build compiles together as one."""
import json
import os
import re

# What CMake writes for sources that are compiled as one.
GROUP = re.compile(r"/Unity/unity_[^/]*\.cxx$")
MEMBER = re.compile(r'^#include "(.*)"$', re.M)


def members(path):
    if not GROUP.search(path) or not os.path.exists(path):
        return [path]
    with open(path, encoding="utf-8") as f:
        return MEMBER.findall(f.read())


def compilations(build):
    """The entries of compile_commands.json. Those of a group have the group's command, with the source in its place."""
    with open(f"{build}/compile_commands.json", encoding="utf-8") as f:
        entries = json.load(f)
    return [{**entry, "file": member, "command": entry["command"].replace(entry["file"], member)}
            for entry in entries for member in members(entry["file"])]


def write_database(build, folder):
    """Writes them into folder/compile_commands.json, for tools that take the folder of a build."""
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/compile_commands.json", "w", encoding="utf-8") as f:
        json.dump(compilations(build), f)
