"""python3 -m bench_lmdb, run by `penstock bench lmdb` and `penstock lmdb
bench`: prints figures as JSON, and on standard error what it does."""

import argparse
import pathlib
import sys

from bench_analyze.figures import figure
from bench_lmdb import cells, databases, machine, model, pairs
from demo_lib import ending
from demo_lib.progress import Progress

MEMORY_BYTES = 320 << 20  # of cold runs; 16 ranks of MPI need 130 MB of it
FIO_S = 3
LADDER_ROUNDS = 3
NODE_RANKS = 4  # of the 16 that share a buffer where nodes take turns
NODE_BUFFER_BYTES = 12 << 20  # of each of these: one machine's memory holds all
FAILURES = (machine.RunError, OSError, RuntimeError)
# The paper's largest machine, and a storage that serves a hundred nodes at
# what one took here.
PAPER_RANKS, PAPER_NODE_RANKS, STORAGE_NODES = 9216, 36, 100


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench_lmdb")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--database", type=pathlib.Path)
    return parser.parse_args()


def vs_fio(runner, group, database, progress):
    """Ours / fio with requests of the same size, by turns; each with what
    storage gave it."""
    cell = cells.Cell(database, 1, True, False)
    ratios = []
    for _ in range(runner.rounds):
        ours = runner.once(cell, cells.OURS, "--direct", "on")
        request = max(4096, round(ours.request_bytes / 4096) * 4096)
        fio = machine.fio_bytes_per_s(database.path, request, FIO_S, group)
        ratios.append(ours.read_bytes_per_s / fio)
    progress.say(f"{database.name}: {pairs.median(ratios):.2f} of fio's rate "
                 f"with requests of {request >> 10} KiB")
    return ratios


def ladder(runner, database, where, progress):
    """Figures of the optimisations added one by one: 16 ranks, cold, in order,
    nothing handed out in place."""
    cell = cells.Cell(database, 16, True, False)
    rates = {name: [] for name, _ in cells.LADDER}
    for _ in range(LADDER_ROUNDS):
        for name, switches in cells.LADDER:
            more = ["--copies", "--ranks-per-buffer", str(NODE_RANKS),
                    "--buffer-bytes", str(NODE_BUFFER_BYTES)]
            run = runner.once(cell, switches, *more)
            rates[name].append(run.bytes_per_s / 1e6)
    for name, values in rates.items():
        progress.say(f"{where}: {name:6s}{pairs.median(values):8.1f} MB/s "
                     f"{pairs.median(values) / pairs.median(rates['stock']):6.2f}"
                     " of stock")
    out = [figure(f"six_{where}_{name}", values, "MB/s")
           for name, values in rates.items()]
    ratios = [ours / stock for stock, ours in zip(rates["stock"],
                                                  rates["coal"])]
    return out, ratios


def predicted(compared, progress):
    """What the fitted model says of the paper's largest machine."""
    cold = [one for one in compared
            if one.cell.cold and not one.cell.shuffled
            and one.cell.database == compared[0].cell.database]

    def fit(runs_of):
        return model.fit_line([(one.cell.ranks, run.cpu_s)
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


def figures_of(compared):
    uppers = [one.interval[1] for one in compared]
    sixteen = [one for one in compared if one.cell.ranks == 16
               and one.cell.cold and not one.cell.shuffled]
    worst = min(sixteen, key=lambda one: pairs.median(one.ratios))
    return [figure("worst_vs_lmdb", uppers, value=min(uppers)),
            figure("vs_lmdb_16_cold", worst.ratios)]


def measure_slow(build, runner, database, progress):
    progress.phase("through the slow tier: 2 ms, 100 MB/s")
    with machine.slow_tier(build, database.path.parent) as folder:
        slow = databases.Database(database.name, folder / database.path.name,
                                  database.batch)
        figures, ratios = ladder(runner, slow, "slow", progress)
    return [*figures, figure("vs_lmdb_16_cold_slow", ratios)]


def run(arguments, progress):
    build = arguments.build
    program = machine.Program(build)
    chosen = ([databases.given(arguments.database)] if arguments.database
              else [databases.make(build, kind, progress)
                    for kind in databases.KINDS])
    with machine.MemoryGroup(MEMORY_BYTES) as group:
        if group.why:
            progress.say(f"cold runs have all memory: {group.why}")
        runner = cells.Runner(program, group, arguments.rounds)
        progress.phase("stock LMDB, ours, their ratio and its 95% interval")
        compared = []
        for cell in cells.all_cells(chosen):
            progress.live(cell.text)
            compared.append(runner.compare(cell))
            progress.say(compared[-1].text())
        figures = figures_of(compared)
        progress.phase("fio beside")
        ratios = [vs_fio(runner, group, one, progress) for one in chosen]
        figures.append(figure("vs_fio", min(ratios, key=pairs.median)))
        progress.phase("the six optimisations, one by one")
        figures += ladder(runner, chosen[0], "plain", progress)[0]
        figures += measure_slow(build, runner, chosen[0], progress)
        figures += predicted(compared, progress)
    return figures


def main():
    arguments = parse_arguments()
    return ending.print_figures("lmdb", FAILURES,
                                lambda: run(arguments, Progress()))


if __name__ == "__main__":
    sys.exit(main())
