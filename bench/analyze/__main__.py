"""python3 -m bench.analyze, run by `penstock bench analyze`. Prints figures as
JSON; prints its progress and every point on standard error."""

import sys

from bench import script
from bench.analyze import attribution, jobs, overhead, profiles
from bench.analyze.compare import Comparison
from bench.analyze.runs import Runner
from bench.demo import data, lab, mix
from bench.demo.lab import CPUS
from bench.script import figure

NO_ACCELERATOR_S = 1e-6


def say(progress, points):
    for point in points:
        progress.say(point.text())


def compare(runner, work, arguments):
    """Returns (points, error of the profile's ceiling, seconds of the
    analysis)."""
    progress = runner.progress
    progress.phase(f"{work.name}: what a sample costs")
    runner.session.enter("stock")
    alone = runner.rates_at(work.line(NO_ACCELERATOR_S), work,
                            lambda held, cores: held.hold_cores(cores),
                            [CPUS], f"{work.name}, cores")[CPUS]
    pool = runner.session.pool.bandwidth_bytes_per_s
    accelerator_s = work.accelerator_s(CPUS / alone, pool / CPUS)
    comparison = Comparison(runner, work, accelerator_s, arguments.rounds,
                            arguments.budget)
    progress.phase(f"{work.name}: amounts of cores; alone {alone:.0f} "
                   f"samples/s, ceiling {1 / accelerator_s:.0f}")
    points, findings, profile, seconds = comparison.cores()
    say(progress, points)
    progress.phase(f"{work.name}: its profile, believed by another job")
    ceiling_error = profiles.ceiling_error(runner, work, accelerator_s,
                                           profile)
    progress.phase(f"{work.name}: bandwidths and cache sizes")
    wanted = min(1 / accelerator_s, findings["prep"][-1]["value"])
    stored = comparison.storage(profile, wanted)
    say(progress, stored)
    return points + stored, ceiling_error, seconds


def figures_of(points, ceiling_errors, seconds):
    def errors(of):
        return [point.error for point in points
                if point.of == of and point.held_back]

    out = []
    if points:
        cores = errors("cores")
        out += [figure("whatif_cpu_error", cores),
                figure("whatif_cpu_worst", cores, value=max(cores)),
                figure("whatif_bandwidth_error", errors("bandwidth")),
                figure("whatif_bandwidth_worst", errors("bandwidth"),
                       value=max(errors("bandwidth"))),
                figure("whatif_cache_error", errors("cache")),
                figure("whatif_cache_worst", errors("cache"),
                       value=max(errors("cache"))),
                figure("profile_ceiling_error", ceiling_errors,
                       value=max(ceiling_errors)),
                figure("analyze_s", seconds, "s", max(seconds))]
    return out


def run(arguments, progress):
    names = arguments.jobs.split(",")
    points, ceiling_errors, seconds = [], [], []
    with lab.opened(arguments.build, progress) as (session, demo_mix):
        runner = Runner(session, session.cluster.expose(
            arguments.build / "bin" / "penstock"))
        loops = jobs.staged(session.cluster)
        for work in jobs.make(session.cluster, loops, session.pool, demo_mix,
                              names):
            found = compare(runner, work, arguments)
            points += found[0]
            ceiling_errors.append(found[1])
            seconds.append(found[2])
        figures = figures_of(points, ceiling_errors, seconds)
        if mix.PYTORCH in names:
            figures += attribution.measure(runner, loops, data.make_image(
                arguments.build, demo_mix, CPUS, progress))
            figures += overhead.measure(progress)
    return figures


if __name__ == "__main__":
    sys.exit(script.main("analyze", run, lab.FAILURES,
                         jobs={"required": True},
                         budget={"type": int, "required": True}))
