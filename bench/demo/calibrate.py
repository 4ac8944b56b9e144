"""Measures the cost of each kind of job on this machine, under plain Slurm,
before the regimes are compared."""

import dataclasses

from bench.demo import job_log, mix
from bench.demo.session import Order
from bench.program import BenchError

# Without accelerator time, only the loader bounds a job.
NO_ACCELERATOR_S = 1e-6
SETTLE_S = 2
COST_S = 5
RUN_S = 4  # of each run of one job alone


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of one kind; times and bytes are per sample.

    CPU times are the kernel's count of the whole job. All CPUs of the node are
    busy, as in the sets: a lone thread on an idle machine would look cheaper.
    """
    kind: mix.Kind
    cpu_s_one: float   # each job with one loader thread on its slice
    cpu_s_all: float   # one job, with one loader thread per CPU
    pool_bytes: float  # read from the pool at every epoch
    accelerator_s: float
    ceiling: float     # samples/s, with one prepared batch replayed
    profile: str       # file for --loader-model; "": none

    def order(self):
        return Order(self.kind, self.accelerator_s, self.profile)


@dataclasses.dataclass(frozen=True)
class LoaderCost:
    """The cost of one loader. Kinds that share it differ only in the
    accelerator."""
    cpu_s_one: float
    cpu_s_all: float


def loader_of(kind):
    return kind.program, kind.format, kind.batch


def loader_name(kind):
    return f"{kind.program}'s {kind.format}"


def measure_loader(session, kind, slots):
    one = session.steady(
        [Order(kind, NO_ACCELERATOR_S, threads=1)] * slots, SETTLE_S, COST_S,
        f"{loader_name(kind)}: one loader thread per slice")
    every = session.steady(
        [Order(kind, NO_ACCELERATOR_S, cpus=slots, threads=slots)],
        SETTLE_S, COST_S, f"{loader_name(kind)}: {slots} loader threads")
    return LoaderCost(one.usage.jobs / sum(one.rates),
                      every.usage.jobs / sum(every.rates))


def measure_kind(session, kind, loader, bytes_per_sample, pool_bytes_per_s,
                 slots):
    """Makes the kind's profile from two runs, and measures its ceiling in a
    third. So the prediction and its check share no measurement. A program that
    knows nothing of Penstock has no profile."""
    accelerator_s = mix.accelerator_s_per_sample(
        kind, loader.cpu_s_one, bytes_per_sample, pool_bytes_per_s / slots)
    order = Order(kind, accelerator_s, cpus=slots, threads=slots)
    writes = kind.program == mix.TRAIN
    read_before = session.pool.bytes_read()
    lines, training = short_run(session, order, "training", writes)
    from_pool = session.pool.bytes_read() - read_before
    cached_share = min(1.0, max(0.0, 1 - from_pool / (
        bytes_per_sample * lines[-1].samples)))
    profile = ""
    if writes:
        _, replaying = short_run(session, order, "replaying", True, "--replay")
        profile = session.user_file(
            f"{kind.name}.profile",
            joined_profile(training, replaying, cached_share))
    lines, _ = short_run(session, order, "one batch replayed", False,
                         "--replay")
    return Cost(kind, loader.cpu_s_one, loader.cpu_s_all,
                bytes_per_sample * (1 - cached_share), accelerator_s,
                job_log.rate_after_start(lines), str(profile))


def short_run(session, order, what, writes_profile, *arguments):
    """Returns the run's log, and the text of the profile that it writes."""
    path = session.user_file(f"{order.kind.name}-{what}.profile")
    session.progress.live(f"{order.kind.name}: {what}")
    job = session.run_to_end(dataclasses.replace(order, arguments=(
        "--duration", str(RUN_S), *["--write-profile", path] * writes_profile,
        *arguments)), 60)
    lines = job_log.read(job.log)
    if not any(line.samples > 0 for line in lines) or \
            job_log.rate_after_start(lines) is None:
        raise BenchError(f"{order.kind.name}, {what}: the job has logged too "
                         f"little in {RUN_S} s")
    return lines, path.read_text("utf-8")


def joined_profile(training, replaying, cached_share):
    """Joins the training run's profile with the replaying run's accelerator
    time and the share of bytes from the page cache. A starved trainer cannot
    measure its accelerator alone."""
    key = "accelerator_s_per_sample"
    line = next(line for line in replaying.splitlines()
                if line.startswith(key))
    lines = [line if old.startswith(key) else old
             for old in training.splitlines()]
    return "\n".join([*lines, f"cached_share = {cached_share:.6f}"]) + "\n"


def measure_loaders(session, kinds, slots):
    """Returns {loader: LoaderCost} of these kinds, measured now."""
    session.enter("stock")
    return {loader_of(kind): measure_loader(session, kind, slots)
            for kind in {loader_of(kind): kind for kind in kinds}.values()}


def with_loaders(costs, loaders):
    """Returns the costs with CPU times measured at another moment."""
    return {name: dataclasses.replace(
                cost, **dataclasses.asdict(loaders[loader_of(cost.kind)]))
            for name, cost in costs.items()}


class Calibration:
    """Measures kinds on first use. bytes_of_format: per sample, from the data
    itself."""

    def __init__(self, session, bytes_of_format, pool_bytes_per_s, slots):
        self._session = session
        self._bytes_of_format = bytes_of_format
        self._pool_bytes_per_s = pool_bytes_per_s
        self._slots = slots
        self.loaders = {}  # LoaderCost by loader_of()
        self.costs = {}    # Cost by kind name

    def measure(self, kinds):
        """Adds the missing costs of these kinds."""
        for kind in kinds:
            if kind.name not in self.costs:
                self._session.enter("stock")
                self._measure_kind(kind)

    def _measure_kind(self, kind):
        shared = loader_of(kind)
        progress = self._session.progress
        if shared not in self.loaders:
            progress.phase(f"calibrating: {loader_name(kind)} loader, "
                           f"batches of {kind.batch}")
            self.loaders[shared] = measure_loader(self._session, kind,
                                                  self._slots)
        progress.phase(f"calibrating: {kind.name}")
        self.costs[kind.name] = measure_kind(
            self._session, kind, self.loaders[shared],
            self._bytes_of_format[kind.format], self._pool_bytes_per_s,
            self._slots)


def scaled_profile(text, factor):
    """Returns a profile's text with its times multiplied by the factor.

    penstock-train writes TOML: one `key = value` per line."""
    lines = []
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip().endswith("_s_per_sample"):
            line = f"{key}= {float(value) * factor!r}"
        elif equals and key.strip() in ("rate_at_cores", "cores"):
            continue  # would contradict the scaled costs
        lines.append(line)
    return "\n".join(lines) + "\n"
