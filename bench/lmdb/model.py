"""Models the cost of reading, fitted to the measured cells, and predicts the
time of many ranks. Pure.

Stock LMDB, with a cursor on every rank: a rank steps over all N records, and
reads N / P of them. A node reads its pages once, because its ranks share the
page cache.

    cpu of all P ranks = P * N * step_s + N * record_s

Ours: a node's reader handles each record once, ranks only their own.

    cpu of all P ranks = P * rank_s + N * record_s

An epoch takes the time of the slower of CPU and storage.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Line:
    """y = fixed + slope * x, least squares; neither below 0."""
    fixed: float
    slope: float


def fit_line(points):
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = max(0.0, sum((x - mean_x) * (y - mean_y)
                         for x, y in points) / spread) if spread else 0.0
    return Line(max(0.0, mean_y - slope * mean_x), slope)


@dataclasses.dataclass(frozen=True)
class Machine:
    """Assumptions about the machine of the prediction."""
    ranks: int
    ranks_per_node: int
    storage_bytes_per_s: float  # of all nodes together
    node_bytes_per_s: float     # maximum of one node

    @property
    def nodes(self):
        return -(-self.ranks // self.ranks_per_node)


@dataclasses.dataclass(frozen=True)
class Reading:
    """A fitted way to read: CPU seconds of all ranks, by ranks."""
    cpu: Line
    bytes: int

    def stock_epoch_s(self, machine):
        cpu_s = self.cpu.slope + self.cpu.fixed / machine.ranks
        rate = min(machine.node_bytes_per_s * machine.nodes,
                   machine.storage_bytes_per_s)
        return max(cpu_s, self.bytes * machine.nodes / rate)

    def our_epoch_s(self, machine):
        # The part that grows with ranks is each rank's own; the rest is the
        # readers'.
        cpu_s = self.cpu.slope + self.cpu.fixed / machine.nodes
        rate = min(machine.node_bytes_per_s * machine.nodes,
                   machine.storage_bytes_per_s)
        return max(cpu_s, self.bytes / rate)
