#!/usr/bin/env python3
"""Holds the size of classes: counts the member functions of each class, public and private ones alike, and prints
every class that has more than the limit. What is `= default` or `= delete` does not count. Exits with 1 if a class is
too large, or if a table below names a class that has shrunk. With --list, prints the largest classes instead."""
import pathlib
import re
import sys

TOPS = ("base", "compiler", "costmodel", "db", "server", "worker", "client")
LIMIT = 25
# Tables of one-liners, a function for each operation or statement that they write: (count, reason).
TABLES = {
    ("compiler/graph/onnx/builder.h", "Builder"): (45, "an operator of the graph each, most of one line"),
    ("compiler/ir/build.h", "KernelBuilder"): (46, "a buffer or a statement of kernel IR each, most of one line"),
}

LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*',
    re.S | re.M)
HEAD = re.compile(r"\b(class|struct|union)\s+((?:\w+\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*)(\w[\w:]*(?:<[^;{}]*>)?)?\s*(final\b)?[^;{}()=]*$")
NO_FUNCTION = re.compile(r"\s*(using|typedef|friend|static_assert|enum|namespace)\b")
ATTRIBUTE = re.compile(r"\b(MLC_[A-Z_]+|alignas|decltype|noexcept|explicit)\s*\(")


def without_parentheses(text, pattern):
    """The text without each match of a pattern that ends in '(', and what its parentheses hold."""
    while match := pattern.search(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[:match.start()] + " " + text[end:]
    return text


def without_angles(text):
    """The text without template arguments and parameters."""
    text = re.sub(r"operator\s*(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\s*\))", "operator_", text)
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text


def is_function(declaration):
    """Whether a member declaration, up to its body or semicolon, declares a function that is neither defaulted nor
    deleted."""
    declaration = re.sub(r"^\s*(public|protected|private)\s*:(?!:)", "", declaration)
    declaration = re.sub(r"^\s*template\s*", "", without_angles(declaration)).strip()
    if NO_FUNCTION.match(declaration) or re.search(r"=\s*(default|delete)\s*$", declaration):
        return False
    head = re.sub(r"operator\s*[^\s\w(]+", "operator_", without_parentheses(declaration, ATTRIBUTE))
    declarator = re.search(r"[\w~]\s*\((\s*\*)?", head.split("=")[0])
    return declarator is not None and declarator.group(1) is None  # no pointer to a function


def members_of(body):
    """The declarations at the top of a class body, each without the braces that it ends with."""
    start, depth, round_depth = 0, 0, 0
    for place, letter in enumerate(body):
        if letter == "{":
            depth += 1
            if depth == 1:
                head = body[start:place]
                brace = place
        elif letter == "}":
            depth -= 1
            # A member's initialiser is followed by a comma or a semicolon, a function's body by neither.
            if depth == 0 and round_depth == 0 and not re.match(r"\s*[,;{]|\s*\)", body[place + 1:place + 40]):
                yield head
                start = place + 1
        elif letter == "(" and depth == 0:
            round_depth += 1
        elif letter == ")" and depth == 0:
            round_depth -= 1
        elif letter == ";" and depth == 0 and round_depth == 0:
            yield re.sub(r"\{.*", "", body[start:place], flags=re.S)
            start = place + 1


def classes_of(text):
    """Line, name and member functions of each class of a source."""
    text = LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    stack = []
    for place, letter in enumerate(text):
        if letter == "{":
            stack.append(place)
        elif letter == "}" and stack:
            first = stack.pop()
            before = text[max(text.rfind(";", 0, first), text.rfind("{", 0, first), text.rfind("}", 0, first)) + 1:first]
            head = HEAD.search(without_angles(re.sub(r"\b(public|protected|private)\s*:(?!:)", "", before)))
            if head and not re.search(r"\benum\b", before):
                count = sum(is_function(member) for member in members_of(text[first + 1:place]))
                yield text.count("\n", 0, first) + 1, head.group(3) or "(unnamed)", count


def main():
    root = pathlib.Path(sys.argv[1])
    found, bad = {}, 0
    for top in TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in (".h", ".cc"):
                for line, name, count in classes_of(file.read_text()):
                    found[str(file.relative_to(root)), name] = (count, line)
    if "--list" in sys.argv:
        for (path, name), (count, line) in sorted(found.items(), key=lambda item: -item[1][0])[:40]:
            print(f"{count:4} {name} {path}:{line}")
        return 0
    allowed = {where: count for where, (count, _) in TABLES.items()}
    for where, (count, line) in sorted(found.items()):
        if count > allowed.get(where, LIMIT):
            print(f"{where[0]}:{line}: {where[1]} has {count} member functions; the limit is {allowed.get(where, LIMIT)}")
            bad += 1
    for where, count in sorted(allowed.items()):
        if where not in found or found[where][0] <= LIMIT:
            print(f"tests/layering/check_classes.py: {where[1]} of {where[0]} needs no row any more")
            bad += 1
        elif found[where][0] < count:
            print(f"tests/layering/check_classes.py: {where[1]} has shrunk to {found[where][0]}: lower its row")
            bad += 1
    print(f"{len(found)} classes, {bad} problems")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
