"""The first line of a corpus script: what it needs, and what it must give.

    # corpus: kind=loops needs=torch samples=640 loaders=2 trains=train_loader exit=0

Words are split as a shell does.

kind     group of the script in lists: one of KINDS
needs    modules that the interpreter must have, with commas; "-": none
samples  samples that the training loaders give a process in its whole run; with
         commas, a number for each process that trains; "-": there is no
         training loader that could be counted. A sample is an item of the
         dataset, or an element of the first tensor where batch_size=None.
         Of a pass before the first with an optimizer step, such as a look at the
         first batch's shape, none count; of later passes all do.
loaders  loaders that the script reads from, in all processes
trains   the name of the loader that trains, or of several with commas, whose
         samples are summed; "-": no optimizer steps that could be seen. Of
         loaders that are read together, with zip(), only the last is named.
exit     exit status; -N: ended by signal N
run      (optional) arguments of the interpreter; {script}: the script's path
path     (optional) the user's own PYTHONPATH, below the working folder
differs  (optional) "stdout", "stderr" or both, with a comma: what a hook may
         change, or what differs in each run
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

MARK = "# corpus: "
KINDS = (
    "plain",
    "workers",
    "sampling",
    "batches",
    "loops",
    "models",
    "wrappers",
    "endings",
    "processes",
    "environment",
    "frameworks",
)
STREAMS = ("stdout", "stderr")
REQUIRED = ("kind", "needs", "samples", "loaders", "trains", "exit")
OPTIONAL = {"run": "{script}", "path": "", "differs": "-"}


class HeaderError(ValueError):
    """Names the file, the field, its value and what is allowed."""


@dataclass(frozen=True)
class Header:
    kind: str
    needs: tuple[str, ...]
    samples: tuple[int, ...] | None  # ascending, one per process; None: uncounted
    loaders: int
    trains: tuple[str, ...]
    exit: int
    run: str
    path: str
    differs: tuple[str, ...]


def parse(file: Path) -> Header:
    """The header of a script. Raises HeaderError."""
    with open(file, encoding="utf-8") as script:
        line = script.readline()
    if not line.startswith(MARK):
        raise HeaderError(f"{file}: the first line must begin with {MARK!r}")
    return parse_fields(file, _split(file, line[len(MARK):]))


def parse_fields(file: Path, words: dict[str, str]) -> Header:
    def fail(field, allowed):
        raise HeaderError(
            f"{file}: field {field}: {words[field]!r}; must be {allowed}"
        )

    def several(field, allowed):
        items = () if words[field] == "-" else tuple(words[field].split(","))
        if not all(items):
            fail(field, allowed)
        return items

    def number(field, least, allowed):
        try:
            value = int(words[field])
        except ValueError:
            fail(field, allowed)
        return value if value >= least else fail(field, allowed)

    words = OPTIONAL | words
    if words["kind"] not in KINDS:
        fail("kind", "one of " + ", ".join(KINDS))
    if not set(several("differs", "streams")) <= set(STREAMS):
        fail("differs", "'-' or of " + ",".join(STREAMS))
    counts = several("samples", "'-' or numbers with commas")
    if not all(count.isdecimal() for count in counts):
        fail("samples", "'-' or numbers with commas")
    trains = several("trains", "'-' or names with commas")
    if bool(trains) != bool(counts):
        fail("trains", "'-' where samples is '-', and only there")
    return Header(
        kind=words["kind"],
        needs=several("needs", "'-' or modules with commas"),
        samples=tuple(sorted(map(int, counts))) if counts else None,
        loaders=number("loaders", 0, "a number"),
        trains=trains,
        exit=number("exit", -64, "an exit status, or -N for signal N"),
        run=words["run"],
        path=words["path"],
        differs=several("differs", "streams"),
    )


def _split(file: Path, line: str) -> dict[str, str]:
    """field -> text. Each field is known, and none is missing or repeated."""
    words = {}
    for word in shlex.split(line):
        field, equals, text = word.partition("=")
        if not equals or field not in (*REQUIRED, *OPTIONAL):
            allowed = ", ".join((*REQUIRED, *OPTIONAL))
            raise HeaderError(f"{file}: {word!r}: must be FIELD=TEXT; fields: {allowed}")
        if field in words:
            raise HeaderError(f"{file}: field {field} is given twice")
        words[field] = text
    for field in REQUIRED:
        if field not in words:
            raise HeaderError(f"{file}: field {field} is missing")
    return words
