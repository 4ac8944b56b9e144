#!/usr/bin/python3
"""Runs the corpus of training scripts twice each, and compares the runs.

    corpus.py [--python PYTHON] [--hook FOLDER [--count]] [--only TEXT]

Without --hook both runs are equal: it shows that a script gives the same each
time. With --hook the second run has the folder first on PYTHONPATH, and with
--count a stand-in of penstockd, whose pages must hold exactly the samples of
the script's header (header.py).

stdout and the exit status must be equal to the last bit. stderr is compared
without addresses, times, process ids, ports, progress bars and the frames of
tracebacks. A script whose modules the interpreter lacks is skipped. The exit
status is 1 if any script differs, 77 if all are skipped.
"""

import argparse
import collections
import json
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from header import Header, HeaderError, parse
from runs import Hook, differences, run

SCRIPTS = Path(__file__).resolve().parent / "scripts"
SKIPPED = 77
_FIND = """
import importlib.util, sys
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
print(*filter(has, sys.argv[1:]))
"""


def all_scripts(folder: Path = SCRIPTS) -> dict[Path, Header]:
    """Script, or folder with a __main__.py -> its header."""
    entries = [*folder.glob("*.py"), *(main.parent for main in folder.glob("*/__main__.py"))]
    return {
        entry: parse(entry / "__main__.py" if entry.is_dir() else entry)
        for entry in sorted(entries)
    }


def lacking(python: str, headers) -> set[str]:
    """The modules that headers name and the interpreter does not have."""
    needed = {name for header in headers for name in header.needs}
    done = subprocess.run([python, "-c", _FIND, *needed], check=True, text=True,
                          stdout=subprocess.PIPE)
    return needed - set(done.stdout.split())


def compare(python: str, script: Path, header: Header, hook: Hook | None) -> dict:
    """The line of a script in the table and in the JSON file."""
    with tempfile.TemporaryDirectory(prefix="corpus-", ignore_cleanup_errors=True) as folder:
        first = run(python, script, header, Path(folder))
        second = run(python, script, header, Path(folder), hook)
    wrong = differences(header, first, second)
    return {
        "script": script.name,
        "kind": header.kind,
        "result": "differs" if wrong else "equal",
        "seconds": [round(first.seconds, 2), round(second.seconds, 2)],
        "samples": second.samples,
        "why": wrong,
    }


def skipped(script: Path, header: Header, lacks: set[str]) -> dict:
    missing = ", ".join(sorted(lacks.intersection(header.needs)))
    return {"script": script.name, "kind": header.kind, "result": "skipped",
            "seconds": None, "samples": None, "why": [f"no {missing}"]}


def show(line: dict) -> None:
    seconds = "-" if line["seconds"] is None else "{:.1f} {:.1f}".format(*line["seconds"])
    samples = "-" if line["samples"] is None else ",".join(map(str, line["samples"]))
    print(f"{line['script']:30} {line['kind']:12} {line['result']:8} {seconds:>11} {samples}",
          flush=True)
    for why in line["why"]:
        print(f"    {why}", flush=True)


def compare_all(options, scripts: dict[Path, Header]) -> list[dict]:
    hook = Hook(options.hook.resolve(), options.count) if options.hook else None
    lacks = lacking(options.python, scripts.values())
    print(f"{'script':30} {'kind':12} {'result':8} {'seconds':>11} samples")

    def line_of(item):
        script, header = item
        if lacks.intersection(header.needs):
            return skipped(script, header, lacks)
        return compare(options.python, script, header, hook)

    lines = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(line_of, scripts.items()):
            lines.append(line)
            show(line)
    return lines


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter")
    parser.add_argument("--hook", type=Path, metavar="FOLDER", help="of the second run")
    parser.add_argument("--count", action="store_true", help="count samples, with --hook")
    parser.add_argument("--only", default="", metavar="TEXT", help="in the script's name")
    parser.add_argument("--jobs", type=int, default=1, help="scripts at a time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results")
    parser.add_argument("--list", action="store_true", help="list scripts, run none")
    options = parser.parse_args()
    if options.count and not options.hook:
        parser.error("--count needs --hook")
    if options.hook and not options.hook.is_dir():
        parser.error(f"--hook {options.hook}: no such folder")
    return options


def main() -> int:
    options = parse_options()
    # Scripts must not inherit that SIGINT is ignored, as in a shell's background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        scripts = all_scripts()
    except HeaderError as error:
        print(f"corpus.py: {error}", file=sys.stderr)
        return 1
    scripts = {script: header for script, header in scripts.items()
               if options.only in script.name}
    if options.list:
        for script, header in scripts.items():
            print(f"{script.name:30} {header.kind:12} {','.join(header.needs) or '-'}")
        return 0
    lines = compare_all(options, scripts)
    results = collections.Counter(line["result"] for line in lines)
    print(", ".join(f"{count} {result}" for result, count in sorted(results.items())))
    if options.json:
        options.json.write_text(json.dumps(lines, indent=1) + "\n")
    if results["differs"]:
        return 1
    return 0 if results["equal"] else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
