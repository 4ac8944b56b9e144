"""A strict reader of penstockd's Prometheus text format 0.0.4, which also
checks the conventions of metric names and our own rules.

It finds all that `promtool check metrics` finds. Prometheus itself is more
lenient about blanks, time stamps and the order of lines."""

import dataclasses
import math
import re

PREFIX = "penstock_"
# Allowed labels: none has a user's text or name.
LABELS = {"hostname", "jobid", "version", "policy", "pool", "place", "kind",
          "cause", "fault", "side", "quantile"}
# Forbidden parts of names: figures are in seconds or bytes, or are ratios.
NOT_BASE_UNITS = {
    "ms", "us", "ns", "s", "sec", "secs", "milliseconds", "microseconds",
    "nanoseconds", "minutes", "hours", "days", "kb", "mb", "gb", "kib", "mib",
    "gib", "kilobytes", "megabytes", "gigabytes", "bits", "percent",
    "percentage"}
TYPES = {"gauge", "counter", "summary"}
RESERVED_SUFFIXES = ("_sum", "_count", "_bucket")
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?Inf|NaN")
SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
                    r"(\{(?P<labels>.*)\})? (?P<value>\S+)")
LABEL = re.compile(r'(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)="'
                   r'(?P<value>(?:[^"\\]|\\[\\"n])*)"')


@dataclasses.dataclass
class Sample:
    name: str
    labels: dict
    value: float


@dataclasses.dataclass
class Family:
    name: str
    help: str
    type: str = ""
    samples: list = dataclasses.field(default_factory=list)


class Broken(Exception):
    """A line that violates the format."""


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found.group(1) == "n"
                  else found.group(1), text)


def read_labels(text):
    labels, at = {}, 0
    while True:
        found = LABEL.match(text, at)
        if not found:
            raise Broken("labels are not NAME=\"VALUE\", separated by commas")
        if found["name"] in labels:
            raise Broken(f"label {found['name']} twice")
        labels[found["name"]] = unescaped(found["value"])
        at = found.end()
        if at == len(text):
            return labels
        if text[at] != ",":
            raise Broken("labels are not separated by a comma")
        at += 1


def read_sample(line):
    found = SAMPLE.fullmatch(line)
    if not found:
        raise Broken("not NAME{LABELS} VALUE")
    if not NUMBER.fullmatch(found["value"]):
        raise Broken(f"{found['value']} is no number")
    labels = {}
    if found["labels"] is not None:
        labels = read_labels(found["labels"])
    return Sample(found["name"], labels, float(found["value"]))


class Reader:
    """Families by name, and faults as "line N: ..."."""

    def __init__(self, text):
        self.families = {}
        self.wrong = []
        self._family = None
        self._line = 0
        if not text.endswith("\n"):
            self.complain("the text does not end with a newline")
        if not text.isascii() or "\r" in text:
            self.complain("a byte that is no printable ASCII")
        for self._line, line in enumerate(text.splitlines(), start=1):
            try:
                self._read(line)
            except Broken as error:
                self.complain(str(error))

    def complain(self, text):
        self.wrong.append(f"line {self._line}: {text}")

    def _read(self, line):
        if line.startswith("# HELP "):
            self._begin(*line[len("# HELP "):].partition(" ")[::2])
        elif line.startswith("# TYPE "):
            self._set_type(*line[len("# TYPE "):].partition(" ")[::2])
        elif line.startswith("#") or not line:
            raise Broken("neither HELP, TYPE nor a sample")
        else:
            self._add(read_sample(line))

    def _begin(self, name, text):
        if name in self.families:
            raise Broken(f"HELP of {name} again, or its samples stand apart")
        if not text.strip():
            raise Broken(f"{name} has no HELP text")
        self._family = self.families[name] = Family(name, text)

    def _set_type(self, name, kind):
        if not self._family or self._family.name != name or self._family.type:
            raise Broken(f"TYPE of {name} does not follow its HELP")
        if kind not in TYPES:
            raise Broken(f"TYPE {kind} is none of {', '.join(sorted(TYPES))}")
        self._family.type = kind

    def _add(self, sample):
        family = self._family
        suffixes = ("", "_sum", "_count") if (
            family and family.type == "summary") else ("",)
        if not family or sample.name not in {
                family.name + suffix for suffix in suffixes}:
            raise Broken(f"{sample.name} stands outside its family, or has no "
                         "HELP")
        if not family.type:
            raise Broken(f"{family.name} has no TYPE before its samples")
        family.samples.append(sample)


def name_faults(family):
    name, kind = family.name, family.type
    if not name.startswith(PREFIX):
        yield f"the prefix is not {PREFIX}"
    if not NAME.fullmatch(name):
        yield "the name is not snake_case"
    if (kind == "counter") != name.endswith("_total"):
        yield "counters, and only they, end in _total"
    if name.endswith(RESERVED_SUFFIXES):
        yield "the suffix is a summary's"
    for part in name.split("_"):
        if part in NOT_BASE_UNITS:
            yield f"{part} is no base unit"
        if part in ("gauge", "counter", "summary", "histogram", "metric"):
            yield f"the type {part} is in the name"
    if name.endswith("_info") and kind != "gauge":
        yield "an _info is a gauge"


def sample_faults(family, sample):
    if not math.isfinite(sample.value):
        yield "what is not known is left out"
    elif family.type == "counter" and sample.value < 0:
        yield "a counter under 0"
    if family.name.endswith("_info") and sample.value != 1:
        yield "an _info is 1"
    if family.name.endswith("_ratio") and not 0 <= sample.value <= 1:
        yield "a ratio outside 0 to 1"
    for label in sample.labels.keys() - LABELS:
        yield f"label {label} is not one of ours"
    if "hostname" not in sample.labels:
        yield "no hostname"
    if family.name.startswith(PREFIX + "job_") and not re.fullmatch(
            r"[1-9]\d*", sample.labels.get("jobid", "")):
        yield "jobid is no job's number"
    is_quantile = family.type == "summary" and sample.name == family.name
    if is_quantile != ("quantile" in sample.labels):
        yield "a summary's figures, and only they, have quantiles"
    elif is_quantile and not 0 <= float(sample.labels["quantile"]) <= 1:
        yield "a quantile outside 0 to 1"


def family_faults(family):
    yield from name_faults(family)
    if not family.samples:
        yield "no samples"
    if family.type == "summary":
        names = {sample.name for sample in family.samples}
        if not {family.name + "_sum", family.name + "_count"} <= names:
            yield "a summary without _sum or _count"
    seen = set()
    for sample in family.samples:
        series = (sample.name, tuple(sorted(sample.labels.items())))
        if series in seen:
            yield f"twice: {series}"
        seen.add(series)
        yield from sample_faults(family, sample)


def lint(text):
    """Faults of the text, one per line."""
    reader = Reader(text)
    if not reader.families:
        reader.complain("no metrics")
    return reader.wrong + [f"{family.name}: {fault}"
                           for family in reader.families.values()
                           for fault in family_faults(family)]


def families(text):
    """Families by name. Raises ValueError if lint() finds a fault."""
    wrong = lint(text)
    if wrong:
        raise ValueError("\n".join(wrong))
    return Reader(text).families


def value(text, name, **labels):
    """Value of the sample with that name and these labels; None: no such
    sample.
    """
    found = [sample.value for family in families(text).values()
             for sample in family.samples
             if sample.name == name and labels.items() <= sample.labels.items()]
    if len(found) > 1:
        raise ValueError(f"{name}: {len(found)} samples have {labels}")
    return found[0] if found else None
