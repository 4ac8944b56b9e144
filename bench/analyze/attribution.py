"""Runs jobs with known stalls, and checks their reports."""

import json

from bench.demo import data
from bench.demo.pool import Pool
from bench.demo.session import MANAGED
from bench.program import BenchError
from bench.script import figure

STALL_MS = 30  # of a step of 100 ms
SECONDS = 20
PARTS = ("compute", "fetch_stall", "prep_stall", "exchange_stall")

# Argument of stalled.py, by part. If a batch both fetches and prepares, a
# sleeping preparation looks like fetching (penstock-python(7)). So it computes.
CASES = {
    "prep": {"prep_stall": "--prep-ms"},
    "fetch": {"fetch_stall": "--file"},
    "both": {"prep_stall": "--busy-ms", "fetch_stall": "--file"},
}


def measure(runner, loops, image):
    """Returns the figures of all cases. Shares are of the job's wall time."""
    runner.session.enter("penstock")
    errors, sums = [], []
    pool = runner.session.pool
    with Pool(image, pool.bandwidth_bytes_per_s, STALL_MS) as slow:
        file = slow.mountpoint / data.PROOF_FILE
        for name, stalls in CASES.items():
            runner.progress.phase(f"attribution: a job with stalls of {name}")
            line = ["/usr/bin/python3", loops / "stalled.py", "--seconds",
                    SECONDS, "--compute-ms", 100 - STALL_MS * len(stalls)]
            for word in stalls.values():
                line += [word, file if word == "--file" else STALL_MS]
            shares, spent = shares_of(runner, line, stalls)
            for part in PARTS:
                errors.append(abs(shares[part] - spent.get(part, 0)))
                runner.progress.say(
                    f"{name:6} {part:14} reported {shares[part]:.4f}  "
                    f"spent {spent.get(part, 0):.4f}")
            sums.append(abs(sum(shares.values()) - 1))
    return [figure("attribution_error", errors, value=max(errors)),
            figure("breakdown_sum_error", sums, value=max(sums))]


def shares_of(runner, line, stalls):
    """Returns ({part: reported share}, {part: share by the job's own clock}),
    both of the wall time."""
    job = runner.cluster.sbatch(line, flags=[MANAGED])
    runner.cluster.wait_job(job, timeout=SECONDS + 60)
    spent_s = json.loads(runner.cluster.output(job).splitlines()[-1])
    breakdown = runner.session.finished_report(job)["breakdown"]
    wall_s = breakdown["wall_s"]
    unknown = [part for part in ("compute", *stalls)
               if breakdown[part]["seconds"] is None]
    if unknown:
        raise BenchError(f"job {job}: its report does not know {unknown}")
    reported = {part: (breakdown[part]["seconds"] or 0) / wall_s
                for part in PARTS}
    reported["unattributed"] = breakdown["unattributed_s"] / wall_s
    return reported, {part: value / wall_s for part, value in spent_s.items()}
