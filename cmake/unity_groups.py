#!/usr/bin/env python3
"""Says which sources of a target may be compiled together as one.

    unity_groups.py LIST > groups.cmake

LIST has a line for each source: its target, the folder of its target, its path, separated by semicolons. Two sources
share a group if no name that one keeps to itself is a word of the other: names of unnamed namespaces, static
functions, constants, and what `using` brings in, unless both bring in the same. A source that defines macros or brings
in a whole namespace shares with none. It may keep sources apart that could be together, and a compiler's error tells of
the opposite.
"""
import collections
import re
import sys

MOST_SOURCES = 12      # of a group: with more, a build on many processors waits for the last groups
MOST_BYTES = 120_000

STRIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
# What holds for all sources that follow in a group.
LASTING = re.compile(r"^[ \t]*#[ \t]*(?:define|undef|pragma)\b|^using\s+namespace\b", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.M)
SCOPE = re.compile(r"\b(?:inline\s+)?namespace\s*([\w:]*)\s*\{|[{}()]")
USING = re.compile(r"\busing\s+(\w+)\s*=[^;]*;|\busing\s+(?:[\w:]*::)(\w+)\s*;|\bnamespace\s+(\w+)\s*=[^;]*;")
TYPE = re.compile(r"\b(?:struct|class|enum|enum\s+class|union)\s+(\w+)")
DECLARED = re.compile(r"(?<![:\w])(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=(?!=)|;|\(|\{)")
BASES = re.compile(r"(\b(?:struct|class)\s+\w+[\w\s]*):(?!:)[^{;]*")
WORD = re.compile(r"(?<!::)(?<!\.)(?<!->)\b[A-Za-z_]\w*")
INTERNAL = re.compile(r"\s*(?:static|const|constexpr|thread_local)\b")
KEYWORDS = set("const constexpr noexcept override final default delete static_assert sizeof alignas decltype requires "
               "auto bool char double float int int8_t int32_t int64_t size_t uint8_t uint32_t uint64_t void operator "
               "TEST TEST_F TEST_P INSTANTIATE_TEST_SUITE_P TYPED_TEST".split())

Source = collections.namedtuple("Source", "private words size lasting")


def namespace_scope(text):
    """The declarations of a source without bodies and parameters: those of unnamed namespaces, and the others."""
    kept = {True: [], False: []}
    stack, position = [], 0

    def keep(part):
        if all(kind in ("named", "unnamed") for kind in stack):
            kept["unnamed" in stack].append(part)

    for match in SCOPE.finditer(text):
        keep(text[position:match.start()])
        position = match.end()
        token = match[0]
        if token in "})":
            if stack:
                namespace = stack.pop() in ("named", "unnamed")
                keep(";" if namespace else token)
        elif token in "{(":
            keep(token)
            stack.append("block")
        else:
            keep(";")
            stack.append("named" if match[1] else "unnamed")
    keep(text[position:])
    return "".join(kept[True]), "".join(kept[False])


def declared(text):
    text = BASES.sub(r"\1", text)
    return {name for name in TYPE.findall(text) + DECLARED.findall(text) if name not in KEYWORDS and not name.isdigit()}


def scan(path):
    with open(path, encoding="utf-8") as f:
        raw = f.read()
    text = DIRECTIVE.sub("", STRIPPED.sub(lambda match: "" if match[0].startswith("/") else "0", raw))
    unnamed, named = namespace_scope(text)
    private = dict.fromkeys(declared(unnamed))
    for statement in re.split(r"[;}]", named):
        if INTERNAL.match(statement):
            private.update(dict.fromkeys(declared(statement + ";")))
    for match in USING.finditer(unnamed + named):
        private[match[1] or match[2] or match[3]] = " ".join(match[0].split())
    return Source(private, set(WORD.findall(text)), len(raw), bool(LASTING.search(STRIPPED.sub("", raw))))


def clashes(private, other):
    """Whether a name of the one is a word of the other, unless both bring in the same."""
    return any(private[name] is None or other.private.get(name) != private[name] for name in private.keys() & other.words)


class Group:
    def __init__(self):
        self.paths, self.private, self.words, self.size = [], {}, set(), 0

    def takes(self, source):
        if len(self.paths) == MOST_SOURCES or self.size + source.size > MOST_BYTES:
            return False
        return not (clashes(self.private, source) or clashes(source.private, self))

    def add(self, path, source):
        self.paths.append(path)
        self.private.update(source.private)
        self.words |= source.words
        self.size += source.size


def groups_of(paths):
    """The first group that takes a source gets it: what one source declares moves that source alone."""
    groups = []
    alone = []
    for path in paths:
        source = scan(path)
        group = None if source.lasting else next((g for g in groups if g.takes(source)), None)
        if group is None:
            group = Group()
            (alone if source.lasting else groups).append(group)
        group.add(path, source)
    return groups + alone


def main():
    targets = collections.defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            target, folder, path = line.rstrip("\n").split(";")
            targets[target, folder].append(path)
    for (target, folder), paths in targets.items():
        shared = [group for group in groups_of(paths) if len(group.paths) > 1]
        if shared:
            print(f"set_target_properties({target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)")
        for number, group in enumerate(shared):
            names = " ".join(f"[[{path}]]" for path in group.paths)
            print(f"set_source_files_properties({names} TARGET_DIRECTORY {target} PROPERTIES UNITY_GROUP {number})")


if __name__ == "__main__":
    main()
