"""python3 -m bench.exchange, run by `penstock bench exchange`. Prints figures
as JSON, and its progress on standard error."""

import json
import pathlib
import subprocess
import sys
import tempfile

from bench import script
from bench.demo import ending
from bench.demo.progress import Progress
from bench.exchange import cage, cells, network, ranks, steps
from bench.program import FAILURES
from bench.script import figure

COUNTS = (2, 4, 8)
DENSITIES = (0.001, 0.01, 0.05, 0.1)
DENSE_CELL = ("1g", 4, 0.01)  # for vs_dense_1g
NO_GPU = 77  # the program's exit status without a GPU


class Bench:
    """Measures cells, one link and number of ranks after the other."""

    def __init__(self, arguments, folder, progress):
        self._build = arguments.build
        self._rounds = arguments.rounds
        self._folder = pathlib.Path(folder)
        self._costs_dir = arguments.calibrate or self._folder
        self._only_calibrates = arguments.calibrate is not None
        self._progress = progress
        self.cells = []
        self.steps = []
        self.figures = []

    def over_link(self, name, count):
        if name == "memory":
            self._measure(name, ranks.Ranks(self._build, count))
            return
        with network.Network(self._folder, count, network.LINKS[name]) as nodes:
            self._measure(name, ranks.Ranks(self._build, count, nodes))

    def _measure(self, name, program):
        self._progress.phase(f"{name}, {program.count} ranks: the cost model")
        costs_file = self._costs_dir / f"{name}-{program.count}.json"
        self._calibrate(name, program, costs_file)
        if self._only_calibrates:
            return
        self._progress.phase(f"{name}, {program.count} ranks: {self._rounds} "
                             "rounds of each density")
        found = {density: [] for density in DENSITIES}
        for line in program.lines(
                "compare", "--costs", costs_file, "--rounds", self._rounds,
                "--densities", ",".join(map(str, DENSITIES))):
            rounds = found[line["density"]]
            rounds.append(line)
            if len(rounds) == self._rounds:
                self.cells.append(cells.Cell(name, program.count,
                                             line["density"], rounds))
                self._progress.say(self.cells[-1].text())
        if program.count == steps.RANKS:
            self._measure_steps(name, program, costs_file)

    def _measure_steps(self, name, program, costs_file):
        self._progress.phase(f"{name}, {program.count} ranks: training steps "
                             "beside what is predicted of them; the accelerator "
                             "is emulated")
        for compute_s in steps.COMPUTE_S:
            predicted = steps.predicted(self._build, self._folder, costs_file,
                                        compute_s)
            measured = steps.measured(program, costs_file, compute_s,
                                      self._rounds)
            for density, rounds in measured.items():
                self.steps.append(steps.compare(name, compute_s,
                                                predicted[density], rounds))
                self._progress.say(self.steps[-1].text())

    def _calibrate(self, name, program, costs_file):
        costs = list(program.lines("calibrate", "--densities",
                                   ",".join(map(str, DENSITIES))))[-1]
        costs_file.write_text(json.dumps({**costs, "link": name}, indent=1)
                              + "\n", "utf-8")
        alone, together = (costs[key] for key in
                           ("stream_bytes_per_s", "all_streams_bytes_per_s"))
        self._progress.say(
            f"  a stream gets {alone * 8e-9:.2f} Gb/s, each of all ranks at once "
            f"{together * 8e-9:.2f}; a byte costs {costs['byte_s'] * 1e9:.2f} ns,"
            f" a message {costs['message_s'] * 1e6:.0f} us, the median error of "
            f"the model is {cells.fit_error(costs):.0%}")
        label = f"{name}_{program.count}"
        self.figures += [
            figure(f"stream_{label}", [alone], "B/s"),
            figure(f"streams_{label}", [together], "B/s"),
            figure(f"model_error_{label}", [cells.fit_error(costs)])]


def selection(build, rounds, progress):
    progress.phase("selection of 1% of 16 M, beside memcpy")
    done = subprocess.run(
        [build / "bin" / "penstock-select-bench", str(rounds)], text=True,
        stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    ratios = [one["memcpy_s"] / (one["pass_s"] + one["exact_s"])
              for one in lines]
    for one, ratio in zip(lines, ratios):
        progress.say(
            f"  memcpy {one['memcpy_s'] * 1e3:.2f} ms, the pass "
            f"{one['pass_s'] * 1e3:.2f}, finding the threshold "
            f"{one['exact_s'] * 1e3:.2f} a step ({one['exact_steps']} times); "
            f"{one['taken_share']:.1%} of what was wanted: {ratio:.3f}")
    return [figure("selection_vs_memcpy", ratios)]


def gpu_selection(build, rounds, progress):
    """Returns the figures of a GPU, if there is one."""
    progress.phase("selection of 1% of 16 M on a GPU")
    program = build / "bin" / "penstock-gpu-select-bench"
    if not program.exists():
        progress.say("  not measured: there was no nvcc to build for one")
        return []
    done = subprocess.run([program, str(rounds)], text=True,
                          stdout=subprocess.PIPE, check=False)
    if done.returncode == NO_GPU:
        progress.say("  not measured: there is none")
        return []
    done.check_returncode()
    gpu, *lines = [json.loads(line) for line in done.stdout.splitlines()]
    progress.say(f"  {gpu['gpu']}")
    for one in lines:
        progress.say(
            f"  memcpy {one['memcpy_s'] * 1e6:.0f} us, accumulating "
            f"{one['accumulate_s'] * 1e6:.0f}, selecting "
            f"{one['select_s'] * 1e6:.0f} ({one['to_host_s'] * 1e6:.0f} with "
            f"the copy to the host), finding the threshold "
            f"{one['exact_s'] * 1e6:.0f} a step ({one['exact_steps']} times); "
            f"CUB's sort {one['sort_s'] * 1e6:.0f}; {one['taken_share']:.1%} "
            "of what was wanted")
    passes = [one["accumulate_s"] + one["select_s"] + one["exact_s"]
              for one in lines]
    return [figure("gpu_selection_vs_memcpy", [
                one["memcpy_s"] / pass_s for one, pass_s in zip(lines, passes)]),
            figure("gpu_selection_vs_sort", [
                one["sort_s"] / (pass_s - one["accumulate_s"])
                for one, pass_s in zip(lines, passes)])]


def cell_figures(found):
    """Returns the figures of the measured cells."""
    out = [figure("worst_vs_best", [cell.interval[1] for cell in found],
                  value=cells.worst(found))]
    for cell in found:
        if (cell.link, cell.ranks, cell.density) == DENSE_CELL:
            out.insert(0, figure("vs_dense_1g", cell.gains("dense")))
    return out


def step_figure(found):
    return figure("predicted_vs_step", [one.ratio for one in found],
                  value=steps.worst(found))


def run(arguments, progress):
    figures = []
    if "selection" in arguments.parts and not arguments.calibrate:
        figures += selection(arguments.build, arguments.rounds, progress)
        figures += gpu_selection(arguments.build, arguments.rounds, progress)
    links = [part for part in arguments.parts if part != "selection"]
    if arguments.calibrate:
        arguments.calibrate.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        bench = Bench(arguments, folder, progress)
        if links and not arguments.calibrate:
            progress.say(cells.heading())
        for link in links:
            for count in COUNTS:
                bench.over_link(link, count)
    if bench.cells:
        figures += cell_figures(bench.cells)
        figures.append(step_figure(bench.steps))
    return figures + bench.figures


def main():
    arguments = script.parse(
        "exchange", calibrate={"type": pathlib.Path},
        parts={"type": lambda text: text.split(","), "required": True})
    needs_cage = bool(network.LINKS.keys() & set(arguments.parts))
    if needs_cage and not cage.is_inside():
        ending.by_exceptions()
        ending.with_parent()
        try:
            cage.check()
            return cage.rerun()
        except KeyboardInterrupt:
            return 130
        except FAILURES as error:
            print(f"bench exchange: {error}", file=sys.stderr)
            return 1

    def measure():
        if needs_cage:
            cage.settle()
        if set(arguments.parts) != {"selection"}:
            ranks.check(arguments.build)
        return run(arguments, Progress())

    return ending.print_figures("exchange", FAILURES, measure)


if __name__ == "__main__":
    sys.exit(main())
