"""Training steps: the prediction of `penstock what-if` from measured costs, and
the measured times. The accelerator is emulated: its ranks sleep."""

import dataclasses
import json
import subprocess

from bench.lmdb import pairs
from bench.program import BenchError

RANKS = 4
DENSITIES = (0.01, 0.1, 1)
# The longer time hides more of the exchange.
COMPUTE_S = (0.2, 0.8)
LAYERS = 4
ELEMENTS = 25 * 2**18  # of a layer: the predictor's bucket of 25 MiB

PROFILE = """name = "emulated"
accelerator_s_per_sample = {compute_s}
trainer_cpu_s_per_sample = 0
bytes_per_sample = 0
relative_error = 0.05
batch = 1
params_m = {params_m}
"""


@dataclasses.dataclass(frozen=True)
class Step:
    """One link, density and computing time."""
    link: str
    compute_s: float
    density: float
    method: str
    predicted_s: float
    seconds: list  # round by round

    @property
    def measured_s(self):
        return pairs.median(self.seconds)

    @property
    def ratio(self):
        return self.predicted_s / self.measured_s

    def text(self):
        beyond_ms, predicted_ms = (
            (seconds - self.compute_s) * 1e3
            for seconds in (self.measured_s, self.predicted_s))
        return (f"{self.link:>6s} {RANKS} ranks {self.density:6.1%} a step takes "
                f"{self.compute_s * 1e3:4.0f} + {beyond_ms:6.1f} ms, predicted "
                f"+ {predicted_ms:6.1f}: {self.ratio:.2f} {self.method}")


def predicted(build, folder, costs_file, compute_s):
    """Returns density -> its row of what-if's JSON."""
    profile = folder / "emulated.toml"
    profile.write_text(PROFILE.format(
        compute_s=compute_s, params_m=LAYERS * ELEMENTS / 1e6), "utf-8")
    done = subprocess.run(
        [build / "bin" / "penstock", "what-if", profile, "--json", "--gpus",
         str(RANKS), "--nodes", str(RANKS), "--exchange-costs", costs_file,
         "--density",
         ",".join(f"{density * 100:g}%" for density in DENSITIES)],
        text=True, stdout=subprocess.PIPE, check=True)
    tables = json.loads(done.stdout)["tables"]
    return {row["density"]: row for table in tables for row in table["rows"]}


def measured(program, costs_file, compute_s, rounds, elements=ELEMENTS):
    """Returns density -> its rounds, as printed by penstock-exchange-bench."""
    found = {density: [] for density in DENSITIES}
    for line in program.lines(
            "step", "--elements", elements, "--layers", LAYERS, "--compute-s",
            compute_s, "--costs", costs_file, "--rounds", rounds,
            "--densities", ",".join(map(str, DENSITIES))):
        found[line["density"]].append(line)
    return found


def compare(link, compute_s, row, rounds):
    """Compares a row of what-if with rounds of the same density."""
    chosen = rounds[0]["method"].replace("_", "-")  # what-if's spelling
    expected = row["step"]["method"]
    if chosen != expected:
        raise BenchError(f"{link}: ranks exchange by {chosen}, what-if says "
                         f"{expected}, from the same costs")
    return Step(link, compute_s, row["density"], chosen, row["step"]["step_s"],
                [one["step_s"] for one in rounds])


def worst(steps):
    """Returns the ratio furthest from 1."""
    return max((one.ratio for one in steps),
               key=lambda ratio: max(ratio, 1 / ratio))
