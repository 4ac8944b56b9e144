"""python3 -m bench.lmdb, run by `penstock bench lmdb` and `penstock lmdb
bench`. Prints figures as JSON, and its progress on standard error."""

import functools
import pathlib
import sys

from bench import script
from bench.demo.memory_group import MemoryGroup
from bench.lmdb import cells, databases, machine, model, pairs, parts
from bench.program import FAILURES
from bench.script import figure

MEMORY_BYTES = 320 << 20  # of cold runs; 16 MPI ranks need 130 MB of it
FIO_S = 3
FIO_CELLS = [(1, 1), (4, 1), (4, 2), (16, 1)]  # ranks, readers among them
LADDER_ROUNDS = 3
NODE_RANKS = 4  # ranks of the 16 that share a buffer if nodes take turns
NODE_BUFFER_BYTES = 12 << 20  # per node: one machine holds all
# The paper's largest machine, and a storage with a hundred times the rate that
# one node took here.
PAPER_RANKS, PAPER_NODE_RANKS, STORAGE_NODES = 9216, 36, 100


def compare(runner, some_cells, progress):
    compared = []
    for cell in some_cells:
        progress.live(cell.text)
        compared.append(runner.compare(cell))
        progress.say(compared[-1].text())
    return compared


def vs_fio(runner, group, database, progress):
    """Returns the ratios of FIO_CELLS, and the storage's best rate.

    A ratio is ours / fio with requests of the same size, measured by turns.
    Both rates are those of the storage."""
    found, rates = [], []
    for ranks, readers in FIO_CELLS:
        cell = cells.Cell(database, ranks, True, False)
        ratios = []
        for _ in range(runner.rounds):
            ours = runner.once(cell, cells.OURS, "--direct", "on", "--readers",
                               str(readers))
            request = max(4096, round(ours.request_bytes / 4096) * 4096)
            fio = machine.fio_bytes_per_s(database.path, request, FIO_S, group)
            ratios.append(ours.read_bytes_per_s / fio)
            rates.append(max(ours.read_bytes_per_s, fio))
        progress.say(f"{database.name}, {ranks} ranks, {readers} reading: "
                     f"{pairs.median(ratios):.2f} of fio's rate with requests "
                     f"of {request >> 10} KiB")
        found.append(ratios)
    return found, max(rates)


def ladder(runner, database, where, progress):
    """Returns figures of the optimisations, added one by one: 16 ranks, cold,
    in order, without zero-copy records."""
    cell = cells.Cell(database, 16, True, False)
    rates = {name: [] for name in cells.LADDER}
    more = ["--copies", "--ranks-per-buffer", str(NODE_RANKS),
            "--buffer-bytes", str(NODE_BUFFER_BYTES)]
    for number in range(LADDER_ROUNDS):
        turn = list(cells.LADDER.items())
        for name, words in turn if number % 2 == 0 else turn[::-1]:
            run = runner.once(cell, *words, *more)
            rates[name].append(run.bytes_per_s / 1e6)
    for name, values in rates.items():
        progress.say(f"{where}: {name:10s}{pairs.median(values):8.1f} MB/s "
                     f"{pairs.median(values) / pairs.median(rates['stock']):6.2f}"
                     " of stock")
    return [figure(f"six_{where}_{name}", values, "MB/s")
            for name, values in rates.items()]


def predicted(compared, progress):
    """Returns the fitted model's prediction for the paper's largest machine."""
    cold = [one for one in compared
            if one.cell.cold and not one.cell.shuffled
            and one.cell.database == compared[0].cell.database]

    def fit(runs_of):
        # For whole epochs: stock's runs may have been stopped early.
        return model.fit_line(
            [(one.cell.ranks, run.cpu_s * one.records / run.records)
             for one in cold for run in runs_of(one)])

    size = cold[0].cell.database.bytes
    node_rate = pairs.median([run.bytes_per_s for run in cold[0].ours])
    at = model.Machine(PAPER_RANKS, PAPER_NODE_RANKS,
                       STORAGE_NODES * node_rate, node_rate)
    stock = model.Reading(fit(lambda one: one.stock), size)
    ours = model.Reading(fit(lambda one: one.ours), size)
    ratio = stock.stock_epoch_s(at) / ours.our_epoch_s(at)
    progress.say(
        f"model: stock takes {stock.cpu.slope:.3f} CPU s a rank and "
        f"{stock.cpu.fixed:.3f} in all, ours {ours.cpu.slope:.3f} and "
        f"{ours.cpu.fixed:.3f}; {at.ranks} ranks on {at.nodes} nodes, storage "
        f"of {at.storage_bytes_per_s / 1e9:.0f} GB/s, a core a rank: an epoch of "
        f"{size / 1e9:.1f} GB takes {stock.stock_epoch_s(at):.2f} s and "
        f"{ours.our_epoch_s(at):.3f} s")
    return [figure("model_9216", [ratio])]


def worst_interval(name, compared):
    uppers = [one.interval[1] for one in compared]
    return figure(name, uppers, value=min(uppers))


def worst_of_16(compared):
    sixteen = [one for one in compared if one.cell.ranks == 16
               and one.cell.cold and not one.cell.shuffled]
    return min(sixteen, key=lambda one: pairs.median(one.ratios))


def beside_fio(runner, group, chosen, compared, progress):
    beside = {one: vs_fio(runner, group, one, progress) for one in chosen}
    worst = worst_of_16(compared)
    # All bytes of the file are read to get its records.
    share = worst.ours[0].bytes / worst.cell.database.bytes
    _, best_rate = beside[worst.cell.database]
    limits = [best_rate * share / run.bytes_per_s for run in worst.stock]
    ratios = [one for found, _ in beside.values() for one in found]
    return [figure("vs_lmdb_16_cold_limit", limits),
            figure("vs_fio", min(ratios, key=pairs.median))]


def measure_slow(build, runner, database, measured, progress):
    with machine.slow_tier(build, database.path.parent) as folder:
        slow = databases.Database(database.name, folder / database.path.name,
                                  database.batch)

        def compared():
            one = runner.compare(cells.Cell(slow, 16, True, False))
            progress.say(one.text())
            return [figure("vs_lmdb_16_cold_slow", one.ratios)]

        measured.add("slow ladder",
                     lambda: ladder(runner, slow, "slow", progress))
        measured.add("slow pairs", compared)
    return []


def measure_late(build, runner, group, chosen, compared, measured, progress):
    """Runs the last parts; a failure loses only their figures."""
    progress.phase("warm, an epoch alone")
    measured.add("an epoch alone", lambda: [worst_interval(
        "worst_vs_lmdb_one_epoch",
        compare(runner, cells.one_epoch_cells(chosen), progress))])
    progress.phase("fio beside")
    measured.add("fio", lambda: beside_fio(runner, group, chosen, compared,
                                           progress))
    progress.phase("the six optimisations, one by one")
    measured.add("plain ladder",
                 lambda: ladder(runner, chosen[0], "plain", progress))
    progress.phase("through the slow tier: 2 ms, 100 MB/s")
    measured.add("slow tier", lambda: measure_slow(build, runner, chosen[0],
                                                   measured, progress))
    measured.add("model", lambda: predicted(compared, progress))


def run(measured, arguments, progress):
    build = arguments.build
    program = machine.Program(build)
    machine.check_tools(build)
    chosen = ([databases.given(arguments.database)] if arguments.database
              else [databases.make(build, kind, progress)
                    for kind in databases.KINDS])
    with MemoryGroup(MEMORY_BYTES) as group:
        if group.why:
            progress.say(f"cold runs have all memory: {group.why}")
        for one in chosen:
            if one.bytes < 4 * MEMORY_BYTES:
                progress.say(f"{one.path} is less than four times the memory "
                             "of cold runs: part of it stays cached")
        runner = cells.Runner(program, group, arguments.rounds)
        progress.phase("stock LMDB, ours, their ratio and its 95% interval")
        compared = compare(runner, cells.all_cells(chosen), progress)
        measured.figures += [
            worst_interval("worst_vs_lmdb", compared),
            figure("vs_lmdb_16_cold", worst_of_16(compared).ratios),
            figure("cold_memory", [0 if group.why else MEMORY_BYTES], "B")]
        measure_late(build, runner, group, chosen, compared, measured, progress)
    return measured.figures


def main():
    measured = parts.Parts(FAILURES)
    code = script.main("lmdb", functools.partial(run, measured),
                       database={"type": pathlib.Path})
    return 1 if measured.failed else code


if __name__ == "__main__":
    sys.exit(main())
