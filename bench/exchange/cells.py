"""Cells of the table: the time of each way to exchange a gradient, round by
round. Pure."""

import dataclasses

from bench.lmdb import pairs

WAYS = ("dense", "allgather", "two_phase", "auto")
OTHERS = ("dense", "allgather")  # available without Penstock


@dataclasses.dataclass(frozen=True)
class Cell:
    link: str
    ranks: int
    density: float
    rounds: list  # lines of penstock-exchange-bench

    def seconds(self, way):
        return [one[f"{way}_s"] for one in self.rounds]

    def median_s(self, way):
        return pairs.median(self.seconds(way))

    @property
    def chosen(self):
        return self.rounds[0]["auto"]

    @property
    def best_other(self):
        return min(OTHERS, key=self.median_s)

    def gains(self, over):
        """Returns the ratios of another way's time to the automatic
        choice's."""
        return [theirs / ours for theirs, ours in
                zip(self.seconds(over), self.seconds("auto"))]

    @property
    def interval(self):
        return pairs.interval(self.gains(self.best_other))

    def text(self):
        low, high = self.interval
        times = " ".join(f"{self.median_s(way) * 1e3:9.1f}" for way in WAYS)
        gain = pairs.median(self.gains(self.best_other))
        return (f"{self.link:>6s} {self.ranks} ranks {self.density:6.1%} {times}"
                f" ms {gain:6.2f} [{low:.2f}, {high:.2f}] {self.chosen}")


def heading():
    ways = " ".join(f"{way:>9s}" for way in WAYS)
    return f"{'':23s} {ways}    best of dense and allgather / auto"


def worst(cells):
    """Returns the lowest upper end of a cell's interval."""
    return min(cell.interval[1] for cell in cells)


def fit_error(costs):
    """Returns the median of |modelled / measured - 1| over the fitted
    points."""
    return pairs.median([abs(one["model_s"] / one["seconds"] - 1)
                         for one in costs["measured"]])
