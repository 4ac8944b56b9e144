"""Compares nodes that share their caches with nodes that each use their own
cache alone.

The nodes are slurmds, each with a network, a mount namespace, a /dev/shm, a
memory group and a disk. The kernel limits and counts the disk's reads
(tests/cluster/separate_nodes.py)."""

import dataclasses
import json
import os
import pathlib
import statistics

from node_training import NodeTraining
from separate_nodes import SeparateNodes

from bench.demo import data
from bench.program import BenchError
from bench.script import figure

NODES = (2, 4)
DISK_BYTES_PER_S = 15e6
# Bytes without decoding, because all nodes share this machine's cores. Whole
# blocks, so that the disk reads only the data.
RECORD_BYTES = 12 * 4096
RECORDS = 3000
DATA_BYTES = RECORDS * RECORD_BYTES
FILE = "records.bin"
# Room of all caches as a multiple of the data: a node's part is not exactly
# 1/n.
ROOM = 1.1
# Memory besides the cache: for programs, and free space.
PROGRAMS_BYTES = 128 << 20
FREE_PART = 16
THREADS = 4
EPOCHS = {"alone": 2, "peers": 8}  # timed epochs of a run
WORDS = {"alone": (), "peers": ("--cache-peers", "auto")}
FIO_S = 4
MEGABYTE = 1e6


@dataclasses.dataclass(frozen=True)
class Run:
    epoch_s: float         # of the epochs after the first
    first_bytes: int       # from storage, of all nodes, in the first epoch
    later_bytes: int       # the same in a later epoch, by the larger count


def make_image(build, progress):
    def fill(content):
        with open(content / FILE, "wb") as file:
            for _ in range(RECORDS):
                file.write(os.urandom(RECORD_BYTES))

    return data.kept_image(
        build / "bench_cache" / f"records-{RECORDS}-{RECORD_BYTES}.img",
        "the records", fill, progress)


def cache_bytes(count):
    return int(DATA_BYTES / count * ROOM)


def fio_bytes_per_s(cluster):
    """Returns the rate of each node's disk, all at once."""
    count = len(cluster.nodes)
    out = pathlib.Path(cluster.home())
    done = cluster.srun(
        "sh", "-c", 'exec fio --output="$0/fio.$SLURM_PROCID.json" "$@"',
        str(out), "--name=disk", f"--filename={cluster.data / FILE}",
        "--readonly", "--rw=randread", "--bs=128k", "--direct=1", "--thread",
        "--time_based", f"--runtime={FIO_S}", "--ramp_time=1",
        "--output-format=json", gpus=0, cpus=cluster.cpus,
        flags=[f"--nodes={count}", f"--ntasks={count}"])
    if done.returncode != 0:
        raise BenchError(f"fio: {done.stderr.strip()}")
    texts = [(out / f"fio.{rank}.json").read_text("utf-8")
             for rank in range(count)]
    return [float(json.loads(text)["jobs"][0]["read"]["bw_bytes"])
            for text in texts]


def measure(cluster, kind):
    epochs = EPOCHS[kind]
    with NodeTraining(
            cluster, "--data", cluster.data / FILE, "--record-bytes",
            RECORD_BYTES, "--cache", cache_bytes(len(cluster.nodes)),
            *WORDS[kind]) as training:
        first = training.step("--threads", THREADS, "--epochs", 1)
        later = training.step("--threads", THREADS, "--epochs", epochs)
    return Run(max(rank.seconds for rank in later) / epochs,
               sum(rank.library_read_bytes for rank in first),
               sum(max(rank.library_read_bytes, rank.group_read_bytes)
                   for rank in later) // epochs)


def compare(cluster, rounds, progress):
    """Returns pairs (alone, peers), measured by turns."""
    found = []
    for number in range(rounds):
        kinds = list(EPOCHS)
        runs = {kind: measure(cluster, kind)
                for kind in (kinds if number % 2 == 0 else kinds[::-1])}
        found.append((runs["alone"], runs["peers"]))
        progress.say("  " + "; ".join(
            f"{kind} {run.epoch_s:.2f} s an epoch, "
            f"{run.later_bytes / MEGABYTE:.1f} MB read "
            f"({run.first_bytes / MEGABYTE:.1f} MB in the first)"
            for kind, run in zip(kinds, found[-1])))
    return found


def figures_of(count, disks, pairs):
    missing_bytes = DATA_BYTES - cache_bytes(count)
    model_s = missing_bytes / statistics.mean(disks)
    return [
        figure(f"partitioned_gain_{count}",
               [alone.epoch_s / peers.epoch_s for alone, peers in pairs]),
        figure(f"later_read_{count}", [peers.later_bytes for _, peers in pairs],
               "B", value=max(peers.later_bytes for _, peers in pairs)),
        figure(f"alone_vs_model_{count}",
               [alone.epoch_s / model_s for alone, _ in pairs]),
        figure(f"peers_rate_{count}",
               [DATA_BYTES / peers.epoch_s for _, peers in pairs], "B/s"),
        figure(f"disk_rate_{count}", disks, "B/s"),
    ]


def measure_all(build, rounds, progress):
    image = make_image(build, progress)
    found = []
    for count in NODES:
        progress.phase(f"{count} nodes, each with a disk of "
                       f"{DISK_BYTES_PER_S / MEGABYTE:.0f} MB/s and a cache of "
                       f"{cache_bytes(count) / MEGABYTE:.0f} MB for "
                       f"{DATA_BYTES / MEGABYTE:.0f} MB of records")
        limit = round((cache_bytes(count) + PROGRAMS_BYTES)
                      * FREE_PART / (FREE_PART - 1))
        with SeparateNodes(
                nodes=count, image=image, memory_bytes=limit, plugin=False,
                read_bytes_per_s=DISK_BYTES_PER_S, build=build) as cluster:
            disks = fio_bytes_per_s(cluster)
            progress.say("  fio reads " + ", ".join(
                f"{rate / MEGABYTE:.2f}" for rate in disks) + " MB/s")
            found += figures_of(count, disks,
                                compare(cluster, rounds, progress))
    gains = [one for one in found if one["name"].startswith("partitioned_gain")]
    worst = min(gains, key=lambda one: one["value"])
    return [{**worst, "name": "partitioned_gain"}, *found]
