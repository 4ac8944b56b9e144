"""The demo's job mix (bench/demo/mix.json) as values. Pure, except load()."""

import dataclasses
import json

from bench.program import BenchError

MIB = 1 << 20
TRAIN = "penstock-train"
PYTORCH = "pytorch"  # train_pytorch.py


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of job. A slice is one job's entitlement: one CPU, and one job's
    share of the pool."""
    name: str
    bound: str            # "cpu" or "storage": the slice that is too small
    format: str           # "jpeg" or "raw" (PPM): the pool's folder
    batch: int            # samples per step
    demand_slices: float  # slices that its ceiling needs
    program: str = TRAIN

    @property
    def direct(self):
        """Whether the kind reads the pool at every epoch: storage-bound kinds
        do."""
        return self.bound == "storage"

    def threads_option(self, threads):
        """Returns the program's option for this number of loader threads, or
        workers. None: the program's own choice."""
        option = {TRAIN: "--threads", PYTORCH: "--workers"}[self.program]
        return [] if threads is None else [option, str(threads)]


@dataclasses.dataclass(frozen=True)
class Arrival:
    kind: Kind
    arrive_s: float
    slice_seconds: float  # work: the output of its slice alone in that time


@dataclasses.dataclass(frozen=True)
class Mix:
    bandwidth_bytes_per_s_per_slot: float
    jpeg_samples: int
    raw_samples: int
    kinds: dict            # name: Kind
    sets: tuple            # tuples of Kind, one per slot
    wrong_profile_set: tuple
    recall_set: tuple      # its lenders compute in bursts
    schedule: tuple        # Arrivals, in order

    def pool_bytes_per_s(self, slots):
        return self.bandwidth_bytes_per_s_per_slot * slots


def load(path, slots):
    """Loads the mix for a node of `slots` jobs at once; raises BenchError,
    OSError."""
    with open(path, encoding="utf-8") as file:
        try:
            return parse(json.load(file), slots)
        except (ValueError, KeyError, TypeError) as error:
            raise BenchError(f"{path}: {error!r}") from error


def parse(data, slots):
    """Sets and schedule are defined for two slots and repeated for more."""
    if slots < 2 or slots % 2:
        raise BenchError(
            f"{slots} CPUs: the mix needs an even number, 2 or more")
    kinds = {name: parse_kind(name, entry, data["entitlement_cpu_per_gpu"])
             for name, entry in data["kinds"].items()}
    copies = slots // 2

    def repeated(names):
        if len(names) != 2:
            raise BenchError(f"set {names}: needs two kinds")
        return tuple(kinds[name] for name in names) * copies

    schedule = [Arrival(kinds[entry["kind"]], float(entry["arrive_s"]),
                        float(entry["slice_seconds"]))
                for entry in data["schedule"] for _ in range(copies)]
    pool = data["pool"]
    return Mix(float(pool["bandwidth_mib_per_s_per_slot"]) * MIB,
               int(pool["jpeg_samples"]), int(pool["raw_samples"]), kinds,
               tuple(repeated(names) for names in data["sets"]),
               repeated(data["wrong_profile_set"]),
               bursty(repeated(data["recall_set"]["kinds"]),
                      int(data["recall_set"]["first_batch"])),
               tuple(sorted(schedule, key=lambda one: one.arrive_s)))


def bursty(kinds, batch):
    """Gives every other kind a batch that takes its loader long to prepare. The
    loader then pauses for the accelerator's time."""
    return tuple(dataclasses.replace(kind, batch=batch) if index % 2 == 0
                 else kind for index, kind in enumerate(kinds))


def parse_kind(name, entry, entitlement_cpu_per_gpu):
    if entry["bound"] == "cpu":
        demand = entry["ideal_cpu_per_gpu"] / entitlement_cpu_per_gpu
    elif entry["bound"] == "storage":
        demand = float(entry["demand_slices"])
    else:
        raise BenchError(f"kind {name}: bound={entry['bound']}; "
                         "allowed: cpu, storage")
    if entry["format"] not in ("jpeg", "raw"):
        raise BenchError(f"kind {name}: format={entry['format']}; "
                         "allowed: jpeg, raw")
    program = entry.get("program", TRAIN)
    if program not in (TRAIN, PYTORCH):
        raise BenchError(f"kind {name}: program={program}; "
                         f"allowed: {TRAIN}, {PYTORCH}")
    if demand <= 0 or entry["batch"] < 1:
        raise BenchError(f"kind {name}: demand and batch must be positive")
    return Kind(name, entry["bound"], entry["format"], int(entry["batch"]),
                demand, program)


def accelerator_s_per_sample(kind, cpu_s_per_sample, bytes_per_sample,
                             slice_bytes_per_s):
    """Returns the emulated accelerator's time per sample that gives the kind
    its demand on this machine. The ceiling is 1 / that time.

    A slice prepares 1 / cpu_s_per_sample samples/s, or reads slice_bytes_per_s
    / bytes_per_sample. The ceiling is demand_slices times that rate."""
    if kind.bound == "cpu":
        return cpu_s_per_sample / kind.demand_slices
    return bytes_per_sample / (kind.demand_slices * slice_bytes_per_s)


def slice_rate(kind, accelerator_s):
    """Returns the samples/s that the kind's slice alone allows."""
    return min(1.0, 1.0 / kind.demand_slices) / accelerator_s


def samples_of(arrival, accelerator_s):
    """Returns the fixed number of samples of a scheduled job: whole steps."""
    samples = arrival.slice_seconds * slice_rate(arrival.kind, accelerator_s)
    return max(1, round(samples / arrival.kind.batch)) * arrival.kind.batch
