"""python3 -m bench.unmodified, run by `penstock bench unmodified`. Prints
figures as JSON, and its progress on standard error."""

import pathlib
import sys

from bench import ROOT, script
from bench.demo import lab
from bench.demo.logged_jobs import LoggedJobs
from bench.script import figure
from bench.unmodified import programs
from bench.unmodified.toggling import Toggling


def measure(session, build, arguments):
    """Returns {figure: values}."""
    cluster, progress = session.cluster, session.progress
    busy = cluster.expose(build / "bin" / "busy")
    script_command = ["/usr/bin/python3",
                      cluster.expose(ROOT / "bench/demo/train_pytorch.py")]
    pictures = programs.make_pictures(
        pathlib.Path(cluster.directory, "bin", "pictures"),
        session.pool.mountpoint / "jpeg")
    wanted = [programs.Program.parse(text, pictures)
              for text in arguments.program]
    jobs = LoggedJobs(cluster)
    toggling = Toggling(session, jobs, script_command, busy, build)
    found = {}
    for number in range(arguments.rounds):
        progress.phase(f"round {number + 1} of {arguments.rounds}: a lender "
                       "that comes and goes")
        for name, value in toggling.round(number).items():
            found.setdefault(name, []).append(value)
    for program in wanted:
        progress.phase(f"{program.name}: {' '.join(program.command)}")
        found.update(programs.compare(session, jobs, busy, program,
                                      arguments.rounds))
    return found


def run(arguments, progress):
    with lab.opened(arguments.build, progress) as (session, _):
        found = measure(session, arguments.build, arguments)
    return [figure(name, values) for name, values in found.items()]


if __name__ == "__main__":
    sys.exit(script.main("unmodified", run, lab.FAILURES,
                         program={"action": "append", "default": []}))
