"""Jobs that stall for known times, and what their reports say."""

from bench_analyze.figures import figure
from demo_lib import data
from demo_lib.pool import Pool
from demo_lib.session import DemoError

STALL_MS = 30  # of a step of 100
SECONDS = 20
PARTS = ("compute", "fetch_stall", "prep_stall", "exchange_stall")
CASES = {
    "prep": {"prep_stall": STALL_MS},
    "fetch": {"fetch_stall": STALL_MS},
    "both": {"prep_stall": STALL_MS, "fetch_stall": STALL_MS},
}


def measure(runner, loops, image):
    """The figures of all cases: shares are of the job's wall time."""
    runner.session.enter("penstock")
    errors, sums = [], []
    pool = runner.session.pool
    with Pool(image, pool.bandwidth_bytes_per_s, STALL_MS) as slow:
        for name, stalls_ms in CASES.items():
            runner.progress.phase(f"attribution: a job with stalls of {name}")
            parts_ms = {**stalls_ms,
                        "compute": 100 - sum(stalls_ms.values())}
            shares, wanted = shares_of(runner, line_of(
                loops / "stalled.py", parts_ms, slow.mountpoint / data.PROOF_FILE), parts_ms)
            for part in PARTS:
                errors.append(abs(shares[part] - wanted[part]))
                runner.progress.say(
                    f"{name:6} {part:14} reported {shares[part]:.4f}  "
                    f"by construction {wanted[part]:.4f}")
            sums.append(abs(sum(shares.values()) - 1))
    return [figure("attribution_error", errors, value=max(errors)),
            figure("breakdown_sum_error", sums, value=max(sums))]


def line_of(script, parts_ms, path):
    line = ["/usr/bin/python3", script, "--seconds", SECONDS, "--compute-ms",
            parts_ms["compute"], "--prep-ms", parts_ms.get("prep_stall", 0)]
    return [*line, *["--file", path] * ("fetch_stall" in parts_ms)]


def shares_of(runner, line, parts_ms):
    """({part: reported share}, {part: share by construction}) of a job that
    prints how many steps it took."""
    job = runner.cluster.sbatch(line, flags=["--loader=auto"])
    runner.cluster.wait_job(job, timeout=SECONDS + 60)
    steps = int(runner.cluster.output(job).split()[-1])
    breakdown = runner.session.finished_report(job)["breakdown"]
    wall_s = breakdown["wall_s"]
    unknown = [part for part in PARTS if breakdown[part]["seconds"] is None
               and part in parts_ms]
    if unknown:
        raise DemoError(f"job {job}: its report does not know {unknown}")
    reported = {part: (breakdown[part]["seconds"] or 0) / wall_s
                for part in PARTS}
    reported["unattributed"] = breakdown["unattributed_s"] / wall_s
    return reported, {part: steps * parts_ms.get(part, 0) / 1000 / wall_s
                      for part in PARTS}
