#!/usr/bin/python3
"""Facts that several files have to know are the same in all of them.

The fields of the progress page stand in common/page.h. The public struct of
libpenstock, Python's offsets and the table in docs/protocol.md have the same
fields. The files that docs/architecture.md names exist, and its picture is what
its script draws.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
KINDS = ("moment", "counter", "level", "state")


def read(path):
    """The text of a file, by its path from the root."""
    return (ROOT / path).read_text("utf-8")


def page_fields():
    """(kind, name) of each field, from the page's own table."""
    found = re.findall(rf"^ +({'|'.join(KINDS).upper()})\((\w+)\)",
                       read("common/page.h"), re.MULTILINE)
    return [(kind.lower(), name) for kind, name in found]


def python_fields():
    """The same of Python's end."""
    return re.findall(r'^    \("(\w+)", "(\w+)"\),$',
                      read("libpenstock/python/penstock/_pages.py"),
                      re.MULTILINE)


def documented_fields():
    """The same of the protocol's description."""
    found = re.findall(rf"^\| `(\w+)` \| ({'|'.join(KINDS)}) \|",
                       read("docs/protocol.md"), re.MULTILINE)
    return [(kind, name) for name, kind in found]


def public_fields():
    """Names in libpenstock's struct; the library sets moments itself."""
    text = read("libpenstock/include/penstock.h")
    struct = re.search(r"^struct penstock_progress \{(.*?)^\};", text,
                       re.MULTILINE | re.DOTALL).group(1)
    return re.findall(r"^  uint\d+_t (\w+);", struct, re.MULTILINE)


def check_page():
    """Lines about ends that have other fields than the page."""
    fields = page_fields()
    wrong = []
    for where, found, expected in (
            ("libpenstock/python/penstock/_pages.py", python_fields(), fields),
            ("docs/protocol.md", documented_fields(), fields),
            # The order is the ABI's own.
            ("libpenstock/include/penstock.h", sorted(public_fields()),
             sorted(name for kind, name in fields if kind != "moment"))):
        if found != expected:
            wrong.append(f"{where}: the progress page's fields are {found}, "
                         f"in common/page.h {expected}")
    return wrong


def named_files(text):
    """Patterns of the files that a document names in `code`."""
    for name in re.findall(r"`([\w./*{},-]+\.[\w{},]+)`", text):
        if "/" not in name or "NAME" in name:
            continue
        choices = re.search(r"\{([^}]*)\}", name)
        if not choices:
            yield name
            continue
        for choice in choices.group(1).split(","):
            yield name[:choices.start()] + choice + name[choices.end():]


def check_map():
    """Lines about what docs/architecture.md says of files."""
    wrong = [f"docs/architecture.md: there is no {name}"
             for name in named_files(read("docs/architecture.md"))
             if not any(ROOT.glob(name))]
    drawn = subprocess.run([sys.executable, ROOT / "docs/draw_processes.py"],
                           stdout=subprocess.PIPE, check=True, text=True)
    if drawn.stdout != read("docs/processes.svg"):
        wrong.append("docs/processes.svg is not what docs/draw_processes.py "
                     "draws: docs/draw_processes.py > docs/processes.svg")
    return wrong


def main():
    if len(page_fields()) < 2:
        print("common/page.h: the table of fields was not found")
        return 1
    wrong = check_page() + check_map()
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
