"""python3 -m bench.unmodified, run by `penstock bench unmodified`. Prints
figures as JSON, and its progress on standard error."""

import contextlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cluster"))

# pylint: disable=wrong-import-position
import embedded  # noqa: E402

from bench import script  # noqa: E402
from bench.demo import data, mix  # noqa: E402
from bench.demo.logged_jobs import LoggedJobs  # noqa: E402
from bench.demo.pool import Pool  # noqa: E402
from bench.demo.session import Session  # noqa: E402
from bench.script import figure  # noqa: E402
from bench.unmodified import programs  # noqa: E402
from bench.unmodified.toggling import Toggling  # noqa: E402

CPUS = 2


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
    demo_mix = mix.load(ROOT / "bench" / "demo" / "mix.json", CPUS)
    image = data.make_image(arguments.build, demo_mix, CPUS, progress)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(Pool(image, demo_mix.pool_bytes_per_s(CPUS)))
        progress.phase("starting Slurm")
        cluster = stack.enter_context(embedded.EmbeddedCluster(
            cpus=CPUS, plugin=False, build=arguments.build))
        session = Session(cluster, pool, progress)
        found = measure(session, arguments.build, arguments)
        session.leave()
        progress.phase("removing everything")
    return [figure(name, values) for name, values in found.items()]


if __name__ == "__main__":
    sys.exit(script.main("unmodified", run, (embedded.ClusterError,),
                         program={"action": "append", "default": []}))
