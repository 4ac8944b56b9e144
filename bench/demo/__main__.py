"""python3 -m bench.demo, run by tools/demo after the build."""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys

import embedded

from bench import ROOT
from bench.demo import (calibrate, data, dynamic, ending, figures, launch,
                        machine, mix, recalls, results, sets, table,
                        wrong_profiles)
from bench.demo.pool import Pool
from bench.demo.progress import Progress
from bench.demo.session import MANAGED, Session
from bench.program import FAILURES, BenchError

EXIT_FAILED = 1
EXIT_MISSED = 4
INTERVAL_REPEATS = 5  # minimum repeats for figures with intervals
LAUNCH_PAIRS = 400
FEW_LAUNCH_PAIRS = 40


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/demo", description=(
            "Runs a mix of training jobs on a real one-node Slurm under plain "
            "Slurm (stock), with the storage pool split evenly (even), and "
            "with Penstock, prints them side by side and leaves nothing "
            "behind. Needs root. The accelerator and the pool's capacity are "
            "emulated, everything else is real."),
        epilog="Exit status: 0 all targets met; 4 a target missed, not "
               "measured, or a measuring error; 1 it could not be run.")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path,
                        help="write the figures to FILE, too")
    parser.add_argument("--keep", action="store_true",
                        help="leave the cluster up until Ctrl-C, and print "
                             "how to use it")
    parser.add_argument("--duration", metavar="SECONDS", type=float,
                        default=12, help="length of each steady interval, "
                        "10 or more (default: 12)")
    parser.add_argument("--repeat", metavar="N", type=int, default=1,
                        help="with --full: rounds of the three regimes "
                             "(default: 1; 5 for intervals and 400 launches)")
    parser.add_argument("--full", action="store_true",
                        help="also jobs that arrive and end, wrong profiles, "
                             "recalls and launches (13 minutes; without it "
                             "the fixed sets only, 7 minutes)")
    arguments = parser.parse_args()
    if arguments.duration < 10:
        parser.error("--duration: 10 seconds or more")
    if arguments.repeat < 1:
        parser.error("--repeat: 1 or more")
    if arguments.repeat > 1 and not arguments.full:
        parser.error("--repeat: needs --full")
    return arguments


def main():
    arguments = parse_arguments()
    ending.by_exceptions()
    try:
        return run(arguments, Progress())
    except KeyboardInterrupt:
        print("tools/demo: interrupted; everything has been removed",
              file=sys.stderr)
        return 130
    except (*FAILURES, embedded.ClusterError) as error:
        print(f"tools/demo: {error}", file=sys.stderr)
        return EXIT_FAILED


def ignore_signals():
    """Ignores signals, so that they cannot interrupt the cleanup."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def run(arguments, progress):
    slots = os.cpu_count() // 2 * 2
    demo_mix = mix.load(ROOT / "bench" / "demo" / "mix.json", slots)
    build = embedded.build_directory()
    image = data.make_image(build, demo_mix, slots, progress)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(
            Pool(image, demo_mix.pool_bytes_per_s(slots)))
        progress.phase("proving the emulated pool by fio")
        proof = pool.prove(data.PROOF_FILE)
        print(table.pool_text(proof, pool.bandwidth_bytes_per_s), flush=True)
        if not proof.holds(pool.bandwidth_bytes_per_s):
            raise BenchError("the pool does not have its stated capacity")
        progress.phase("starting Slurm")
        cluster = stack.enter_context(embedded.EmbeddedCluster(
            cpus=slots, plugin=False, build=build))
        stack.callback(ignore_signals)
        session = Session(cluster, pool, progress)
        measured = measure(session, demo_mix, slots, proof, arguments, build)
        code = show(measured, demo_mix, proof, arguments)
        write_page(session, measured, build)
        if arguments.keep:
            keep(session)
        progress.phase("removing everything")
    return code


def measure(session, demo_mix, slots, proof, arguments, build):
    pool = session.pool
    calibration = calibrate.Calibration(
        session, {name: data.bytes_per_sample(pool.mountpoint / name, name)
                  for name in data.SAMPLE_SUFFIX}, proof.direct, slots)
    costs = calibration.costs

    def show_set(set_results, set_index):
        kinds = demo_mix.sets[set_index]
        runs = [run for run in set_results.runs if run.set_index == set_index]
        print(table.comparison_text(
            kinds, [costs[kind.name].ceiling for kind in kinds],
            runs[-len(figures.REGIMES):]), flush=True)

    set_results = sets.measure(
        session, demo_mix, calibration,
        arguments.repeat if arguments.full else 0, arguments.duration, slots,
        show_set)
    schedule_runs, launches = [], []
    errors = wrong_profiles.from_reports(set_results.reports, demo_mix.sets,
                                         costs)
    if arguments.full:
        schedule_runs = dynamic.measure(session, demo_mix, costs,
                                        arguments.repeat,
                                        build / "demo" / "reports")
        errors += wrong_profiles.measure(session, demo_mix.wrong_profile_set,
                                         costs)
        recalls.measure(session, demo_mix.recall_set, costs)
        launches = launch.measure(
            session, LAUNCH_PAIRS if arguments.repeat >= INTERVAL_REPEATS
            else FEW_LAUNCH_PAIRS)
    session.leave()
    print(table.costs_text(costs), flush=True)
    optima = sets.optima(demo_mix.sets, costs, set_results, proof.direct,
                         slots, build / "bin" / "penstock-optimum")
    return results.Measured(
        demo_mix.sets, costs, sets.ceilings(demo_mix.sets, costs), optima,
        set_results, schedule_runs, launches, errors, session.statuses)


def write_page(session, measured, build):
    """Writes the HTML report of the first set's last job under Penstock."""
    job = len(measured.sets[0]) - 1
    number = measured.set_results.reports[0, job][0]["job_id"]
    page = build / "demo" / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([build / "bin" / "penstock", "report", str(number), "--dir",
                    session.report_dir, "--html", page],
                   check=True)
    print(f"one job's report, for a browser: {page}", flush=True)


def show(measured, demo_mix, proof, arguments):
    """Prints everything; returns the exit status."""
    found = results.all_figures(measured)
    if not arguments.full:
        found = [one for one in found if one.runs]
    texts = [table.sets_text(measured)]
    if measured.dynamic:
        texts.append(table.dynamic_text(measured, demo_mix.schedule))
    for text in (*texts, table.errors_text(measured.errors),
                 table.figures_text(found)):
        print(text + "\n", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results.to_json(
            found, machine.describe(), dataclasses.asdict(proof)), indent=1)
            + "\n", "utf-8")
    unmet = [one for one in found if one.target and not one.passed]
    return EXIT_MISSED if unmet else 0


def keep(session):
    """Keeps the cluster up for other users until Ctrl-C or TERM."""
    session.enter("penstock")
    cluster = session.cluster
    print(f"The cluster is up, with Penstock, until Ctrl-C ends it "
          f"(or kill {os.getpid()}).\n"
          f"  export SLURM_CONF={cluster.env['SLURM_CONF']}\n"
          f"  export PENSTOCK_SOCKET={cluster.socket_path}\n"
          f"  srun --gres=gpu:1 {MANAGED} hostname\n"
          f"ordinary user: {cluster.user}; pool: {session.pool.mountpoint}; "
          f"logs: {cluster.directory}/log", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    sys.exit(main())
