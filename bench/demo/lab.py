"""The cluster of benchmarks that run the demo's kinds of jobs: a real Slurm of
one node of two CPUs, and the demo's pool."""

import contextlib

import embedded

from bench import ROOT
from bench.demo import data, mix
from bench.demo.pool import Pool
from bench.demo.session import Session

CPUS = 2
FAILURES = (embedded.ClusterError,)


@contextlib.contextmanager
def opened(build, progress, lines=()):
    """Yields (session, mix). lines: further ones of penstock.conf."""
    demo_mix = mix.load(ROOT / "bench" / "demo" / "mix.json", CPUS)
    image = data.make_image(build, demo_mix, CPUS, progress)
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(Pool(image, demo_mix.pool_bytes_per_s(CPUS)))
        progress.phase("starting Slurm")
        cluster = stack.enter_context(embedded.EmbeddedCluster(
            cpus=CPUS, plugin=False, build=build))
        session = Session(cluster, pool, progress, lines)
        yield session, demo_mix
        session.leave()
        progress.phase("removing everything")
