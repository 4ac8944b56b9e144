"""The shared library exports its public functions and needs libc alone.

usage: check_exports.py LIBRARY MAP
"""

import re
import subprocess
import sys


def main(library: str, version_map: str) -> int:
    table = subprocess.run(
        ["readelf", "--wide", "--dyn-syms", "--dynamic", library],
        check=True, capture_output=True, text=True,
    ).stdout
    defined = re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (\w+)@@(\w+)", table)
    with open(version_map) as file:
        listed = re.findall(r"^ +(penstock_\w+);", file.read(), re.MULTILINE)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", table))
    problems = []
    if sorted(defined) != sorted((name, "PENSTOCK_1") for name in listed):
        problems.append(f"exports {sorted(defined)}, the map lists {listed}")
    # A sanitizer adds run-time libraries.
    sanitizers = {name for name in needed if re.match("lib[a-z]+san[.]", name)}
    if needed - sanitizers != {"libc.so.6"}:
        problems.append(f"needs {sorted(needed)}; allowed: libc.so.6")
    print("\n".join(problems) or f"{len(listed)} functions, needs libc only")
    return 1 if problems or not listed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
