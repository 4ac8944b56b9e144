"""penstock-train on the nodes of a SeparateNodes, one rank per node, and the
bytes that each read, by the library's count and by its node's blkio group.

    with NodeTraining(cluster, *words) as training:
        first = training.step("--epochs", "1")
        second = training.step("--epochs", "1")

All steps belong to one job and use its nodes' caches. A process on each node
keeps the node's cache from the job's start to its end, and serves the other
nodes, so that a step's first sample can come from it. This process's first
training step takes eight minutes."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shlex
import signal

import embedded

FIRST_PORT = 19000  # the ranks' meeting port; another one for each step
START_S = 30
STEP_S = 180
KEEPER = ["--threads", "1", "--batch", "8", "--accelerator-s-per-sample", "60"]
# $0: path prefix of the step's files, $1: the first rank's seed.
RANK = ('files=$0.$SLURM_PROCID; seed=$(($1 + SLURM_PROCID)); shift; '
        'echo $$ >"$files.pid"; exec "$@" --seed "$seed" '
        '--log "$files.log" --json "$files.json"')


@dataclasses.dataclass(frozen=True)
class Rank:
    seconds: float
    samples: int
    broken: int
    cached: int              # samples from a cache, this node's or another's
    peer: int                # part of these from another node
    library_read_bytes: int  # bytes read, by the library's count
    group_read_bytes: int    # bytes read by the node meanwhile


def kill(files, rank):
    text = pathlib.Path(f"{files}.{rank}.pid").read_text("ascii")
    os.kill(int(text), signal.SIGKILL)


class Step:
    """One step, running or ended."""

    def __init__(self, cluster, files, future):
        self._cluster = cluster
        self._files = files
        self._future = future
        self._before = [cluster.bytes_read(name) for name in cluster.nodes]

    def kill(self, rank):
        kill(self._files, rank)

    def samples(self, rank):
        """Samples that it has trained on so far."""
        try:
            text = self._file(rank, "log").read_text("utf-8")
        except FileNotFoundError:
            return 0
        lines = [line for line in text.splitlines() if line.endswith("}")]
        return json.loads(lines[-1])["samples"] if lines else 0

    def end(self):
        """Waits for the end; srun's CompletedProcess."""
        return self._future.result()

    def rank(self, index):
        """A rank's figures, after the step's end."""
        found = json.loads(self._file(index, "json").read_text("utf-8"))
        read = self._cluster.bytes_read(self._cluster.nodes[index])
        return Rank(found["seconds"], found["samples"], found["broken"],
                    found["cached"], found["peer"], found["bytes"],
                    read - self._before[index])

    def _file(self, rank, ending):
        return pathlib.Path(f"{self._files}.{rank}.{ending}")


class NodeTraining:
    """See the module's docstring. words: arguments of penstock-train in all
    steps. Not thread-safe; one step at a time."""

    def __init__(self, cluster, *words):
        self._cluster = cluster
        self._files = pathlib.Path(cluster.home(), "training")
        self._train = cluster.expose(cluster.build / "bin" / "penstock-train")
        self._words = [*map(str, words), "--direct"]
        self._keeper = f"{self._files}.keeper"
        self._steps = 0
        self._runner = concurrent.futures.ThreadPoolExecutor(1)
        self._job = None

    def __enter__(self):
        self._begin(KEEPER)
        return self

    def __exit__(self, *unused):
        self._cluster.cancel(str(self._job))
        self._runner.shutdown()  # also of a step that has not ended
        self._cluster.wait_empty()

    def _begin(self, words):
        count = len(self._cluster.nodes)
        for path in self._files.parent.glob("training.*"):
            path.unlink()
        self._job = self._cluster.sbatch(
            "#!/bin/sh\nexec srun --overlap "
            + shlex.join(self._rank(self._keeper, words)), gpus=0,
            cpus=self._cluster.cpus,
            flags=[f"--nodes={count}", f"--ntasks={count}"])
        try:
            self._cluster._wait("the nodes' caches", lambda: all(
                os.path.exists(f"{self._keeper}.{rank}.log")
                for rank in range(count)), START_S)
        except embedded.ClusterError as error:
            raise embedded.ClusterError(
                f"{self._cluster.output(self._job)}{error}") from None

    def _rank(self, files, words):
        seed = self._steps * len(self._cluster.nodes)
        return ["sh", "-c", RANK, str(files), str(seed), self._train,
                *self._words, *map(str, words)]

    def kill_keeper(self, rank):
        """Kills the process that keeps its node's cache."""
        kill(self._keeper, rank)

    def start(self, *words):
        self._steps += 1
        files = f"{self._files}.{self._steps}"
        count = len(self._cluster.nodes)
        # A killed rank must not end the others.
        return Step(self._cluster, files, self._runner.submit(
            self._cluster.srun, *self._rank(files, words), gpus=0,
            cpus=self._cluster.cpus, timeout=STEP_S, flags=[
                f"--jobid={self._job}", "--overlap", f"--nodes={count}",
                f"--ntasks={count}", "--kill-on-bad-exit=0"]))

    def step(self, *words):
        """Starts a step whose ranks wait for each other."""
        meeting = (f"{self._cluster.address(self._cluster.nodes[0])}:"
                   f"{FIRST_PORT + self._steps}")
        step = self.start("--meet", meeting, *words)
        done = step.end()
        if done.returncode != 0:
            raise embedded.ClusterError(f"penstock-train: {done.stderr}")
        return [step.rank(index) for index in range(len(self._cluster.nodes))]
