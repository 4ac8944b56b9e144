"""What lending would have saved of a job's time, as its reports tell it, and
what it saves. Pure."""

import dataclasses
import statistics

# Two runs of a job that is not held up differ by this much. The intervals of
# other jobs contain it.
NOISE = 0.03


@dataclasses.dataclass(frozen=True)
class Saving:
    """Shares of the job's time under Mode=observe."""
    name: str
    told: float | None  # None: the reports do not know it
    low: float
    high: float
    real: float

    @property
    def error(self):
        return abs(self.told - self.real)

    def is_inside(self):
        return self.low <= self.real <= self.high

    def text(self):
        if self.told is None:
            return "an unknown part"
        return f"{self.told:.3f} [{self.low:.3f} to {self.high:.3f}]"


def real_saving(observed, acted):
    """The same work takes observed / acted of the time. The rates are of
    several runs."""
    return 1 - statistics.median(observed) / statistics.median(acted)


def of_job(name, observed, acted, reports):
    """observed, acted: samples/s of the runs; reports: of the observed ones."""
    found = [it["would_have"] for it in reports if it["would_have"]]
    known = [it for it in found if it["saved_s"]]
    real = real_saving(observed, acted)
    if not known:
        return Saving(name, None, 0, 0, real)
    told, low, high = (
        statistics.median(it["saved_s"][end] / it["observed_s"] for it in known)
        for end in ("value", "low", "high"))
    noise = NOISE if low == high else 0
    return Saving(name, told, low - noise, high + noise, real)


def of_mix(savings, field):
    """Of all jobs, which run for the same time, with a GPU each."""
    return statistics.mean(getattr(it, field) for it in savings)
