"""A shared library exports only its public functions, and links only libc and
libraries whose names begin with one of the given words.

usage: check_exports.py LIBRARY MAP [NAME...]
"""

import re
import subprocess
import sys


def main(library: str, version_map: str, *others: str) -> int:
    table = subprocess.run(
        ["readelf", "--wide", "--dyn-syms", "--dynamic", library],
        check=True, capture_output=True, text=True,
    ).stdout
    defined = re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (\w+)@@(\w+)", table)
    with open(version_map) as file:
        text = file.read()
    listed = re.findall(r"^ +(penstock_\w+);", text, re.MULTILINE)
    version = text.split()[0]
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", table))
    problems = []
    if sorted(defined) != sorted((name, version) for name in listed):
        problems.append(f"exports {sorted(defined)}, the map lists {listed}")
    # A sanitizer adds run-time libraries.
    strange = {
        name for name in needed - {"libc.so.6"}
        if not re.match("lib[a-z]+san[.]", name)
        and not name.startswith(others)
    }
    if strange:
        problems.append(f"needs {sorted(strange)} beside libc.so.6, {others}")
    print("\n".join(problems) or f"{len(listed)} functions, needs no other")
    return 1 if problems or not listed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
