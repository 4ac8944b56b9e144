"""Cells of the table: stock LMDB and Penstock by turns."""

import dataclasses

from bench.lmdb import machine, pairs
from bench.program import BenchError

RANKS = (1, 2, 4, 8, 16)
OURS = "lmm,dm,dio,prov,coal"
STOCK_LIMIT_S = 3
# An epoch from memory takes 0.1 s here. A single epoch would mostly measure
# MPI's start, so its figure is printed separately.
WARM_EPOCHS = 8
# The optimisations, each added to the previous ones. dio is O_DIRECT;
# dio_cached uses the page cache.
LADDER = {"stock": ["none"], "lmm": ["lmm"], "dm": ["lmm,dm"],
          "dio_cached": ["lmm,dm,dio", "--direct", "off"],
          "dio": ["lmm,dm,dio"], "prov": ["lmm,dm,dio,prov"], "coal": [OURS],
          "stag": [OURS + ",stag"]}


@dataclasses.dataclass(frozen=True)
class Cell:
    database: object
    ranks: int
    cold: bool
    shuffled: bool
    epochs: int = 1

    @property
    def text(self):
        return (f"{self.database.name} {self.ranks:2d} ranks "
                f"{'cold' if self.cold else 'warm'} "
                f"{'shuffled' if self.shuffled else 'sequential'}"
                f"{f' x{self.epochs}' if self.epochs > 1 else ''}")

    def words(self, switches):
        words = [str(self.database.path), "--switches", switches, "--batch",
                 str(self.database.batch), "--epochs", str(self.epochs)]
        if self.cold:
            words += ["--cold", "--stock-limit", str(STOCK_LIMIT_S)]
        return words + ["--shuffle"] * self.shuffled


def all_cells(databases):
    return [Cell(database, ranks, cold, shuffled, 1 if cold else WARM_EPOCHS)
            for database in databases for cold in (True, False)
            for shuffled in (False, True) for ranks in RANKS]


def one_epoch_cells(databases):
    """Returns the warm cells with one epoch each."""
    return [dataclasses.replace(cell, epochs=1)
            for cell in all_cells(databases) if not cell.cold]


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a cell, of all ranks together."""
    bytes: int
    bytes_per_s: float
    cpu_s: float
    records: int
    read_bytes_per_s: float
    request_bytes: float
    checksum: int


def check_sidecar(lines):
    """Checks that the sidecar was used instead of a tree walk."""
    refusals = {line["sidecar_refusal"] for line in lines} - {""}
    if refusals:
        raise BenchError(f"the index was not used: {refusals.pop()}; "
                         "penstock lmdb index makes it anew")


def summed(lines):
    check_sidecar(lines)
    seconds = max(line["seconds"] for line in lines)
    requests = sum(line["requests"] for line in lines)
    read = sum(line["read_bytes"] for line in lines)
    size = sum(line["bytes"] for line in lines)
    return Run(size, size / seconds,
               sum(line["cpu_s"] for line in lines),
               sum(line["records"] for line in lines), read / seconds,
               read / requests if requests else 0,
               sum(line["checksum"] for line in lines) % 2 ** 64)


@dataclasses.dataclass(frozen=True)
class Compared:
    cell: Cell
    stock: list
    ours: list

    @property
    def ratios(self):
        return [ours.bytes_per_s / stock.bytes_per_s
                for stock, ours in zip(self.stock, self.ours)]

    @property
    def records(self):
        return self.ours[0].records

    @property
    def interval(self):
        return pairs.interval(self.ratios)

    def text(self):
        low, high = self.interval
        rates = [pairs.median([run.bytes_per_s for run in runs]) / 1e6
                 for runs in (self.stock, self.ours)]
        return (f"{self.cell.text:35s} {rates[0]:8.0f} {rates[1]:8.0f} MB/s "
                f"{pairs.median(self.ratios):8.2f} [{low:.2f}, {high:.2f}]")


class Runner:
    def __init__(self, program, group, rounds):
        self._program = program
        self._group = group
        self.rounds = rounds
        self._checksums = {}  # of whole databases

    def _check(self, cell, run):
        """Checks that all whole runs of a database, stock's and ours, have read
        the same data."""
        known = self._checksums.setdefault((cell.database.name, run.records),
                                           run.checksum)
        if known != run.checksum:
            raise BenchError(f"{cell.text}: checksums differ")

    def once(self, cell, switches, *more):
        group = self._group if cell.cold else None
        return summed(self._program.run(
            cell.ranks, cell.words(switches) + list(more), group))

    def compare(self, cell):
        """Runs stock and ours by turns; each is first in every other round."""
        if not cell.cold:
            machine.read_into_cache(cell.database.path)
        stock, ours = [], []
        for number in range(self.rounds):
            turn = [("none", stock), (OURS, ours)]
            for switches, into in turn if number % 2 == 0 else turn[::-1]:
                into.append(self.once(cell, switches))
            self._check(cell, ours[-1])
            if stock[-1].records == ours[-1].records:
                self._check(cell, stock[-1])
        return Compared(cell, stock, ours)
