"""Hooks of MkDocs: they let it read the documents as code hosts do.

- The navigation follows from the lists in docs/README.md and docs/benchmarks/README.md.
- Anchors of headings are those of code hosts.
- List items continue where CommonMark says. Python-Markdown wants four columns, so text below an
  item is moved there.
"""

import pathlib
import re

MARKER = re.compile(r"(?:[-*]|\d+\.) +(?=\S)")
FENCE = re.compile(r" *```")


def slug(heading, _separator="-"):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def reindented(text):
    """Text whose list items are indented by CommonMark's rules, for Python-Markdown."""
    out, items, fenced = [], [], False  # items: (column of the text below, column to move it to)
    for line in text.splitlines():
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if not body:
            out.append("")
            continue
        while not fenced and items and indent < items[-1][0]:
            items.pop()
        old, new = items[-1] if items else (0, 0)
        place = new + max(0, indent - old)
        out.append(" " * place + body)
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and indent - old < 4 and (found := MARKER.match(body)):
            items.append((indent + found.end(), place + 4))
    return "\n".join(out) + "\n"


def links(text):
    return [link for link in re.findall(r"\]\(([^)#\s]+)", text) if link.endswith(".md")]


def navigation(folder):
    """The sections of docs/README.md with the pages that they list."""
    sections = re.split(r"^## ", (folder / "README.md").read_text(), flags=re.M)[1:]
    nav = ["README.md"]
    for section in sections:
        title = section.partition("\n")[0]
        pages = links(section)
        for page in list(pages):
            if page.endswith("/README.md"):
                parent = page.removesuffix("README.md")
                below = links((folder / page).read_text())
                pages += [parent + link for link in below if not link.startswith("..")]
        # A page may be linked more than once, and to other sections.
        own = [page for page in dict.fromkeys(pages) if page.startswith(pages[0].split("/")[0])]
        nav.append({title: own})
    return nav


def on_config(config):
    config.nav = navigation(pathlib.Path(config.docs_dir))
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_page_markdown(markdown, **_):
    return reindented(markdown)
