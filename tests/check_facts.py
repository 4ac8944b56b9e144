#!/usr/bin/python3
"""Facts that several files repeat are the same in all of them.

- The progress page's fields in common/page.h are those of libpenstock's public
  struct, of Python's offsets and of the table in docs/protocol.md.
- The files that docs/architecture.md names exist, and its picture is the
  present output of its script.
- The loader options of common/options.cpp are those of spank_penstock(8). The
  policies of common/policy.h and the keys of common/config_keys.cpp are those of
  penstock.conf(5). Few other files name any of them.
- Only one file names a metric; docs/metrics.md and the dashboard name no others.
- Few files name a stall of common/wall_parts.h, or a counter of the page.
"""

import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
KINDS = ("moment", "counter", "level", "state")

# Files of the product that may name an option: the table, a public header, a
# Python module and a benchmark.
MOST_FILES_OF_OPTION = 4

# Files that may name a policy: the table, its objective, and the simulator,
# whose baselines have the same names.
MOST_FILES_OF_POLICY = 5

# Files that may have a configuration key as a separate string (not within a
# message): the table, the doctor, which reports dependent settings, and a
# message that begins with the key.
MOST_FILES_OF_KEY = 3

# Files that may name a family of metrics: only the code that writes it.
MOST_FILES_OF_FAMILY = 1

# Files that may name a stall: the table, the code that measures it, the advice,
# two files with texts about this stall alone, the history's released columns,
# and two of the benchmarks.
MOST_FILES_OF_STALL = 8

# Files that may name a counter: the page's ends (page, C, Python), and the
# files that count it, bound it or compute a figure from it. The times of the
# loader and of the exchange are in the most files, because C and Python count
# each separately.
MOST_FILES_OF_COUNTER = 10
# Names that are also common words: a search cannot find the counter.
COMMON_WORDS = ("samples", "steps", "bytes", "prepared", "cached", "peer",
                "wait_ns")
# Start of a path -> meaning of the name in its files, which is not a counter of
# the page, or is part of an interface with fixed bytes.
NOT_OF_PAGE = {
    "bench/": "figures of a benchmark",
    "loader/api/c_api.cpp": "the loader's C interface",
    "loader/cache/": "a cache's own counters",
    "loader/include/penstock/loader.h": "the loader's C interface",
    "loader/include/penstock/loader/sample_cache.h": "a cache's own counters",
    "loader/lmdb/": "the LMDB reader's own times",
    "loader/python/cache.cpp": "a cache's own counters",
    "loader/train/": "what penstock-train prints",
    "node_agent/trainer_delay.cpp": "the kernel's run delay",
    "predictor/": "an observation of costs",
    "report/": "figures of the report, which report/fields.h lists",
    "tools/": "a cache's file",
}


def read(path):
    """The text of a file; path is relative to the root."""
    return (ROOT / path).read_text("utf-8")


@functools.cache
def product():
    """{path: text} of the product's C, C++ and Python files."""
    folders = [path for path in ROOT.iterdir()
               if path.is_dir() and not path.name.startswith(".")
               and path.name not in ("build", "tests")]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8")
            for folder in folders for path in sorted(folder.rglob("*"))
            if path.suffix in (".c", ".cpp", ".h", ".py")}


def files_naming(pattern, besides=()):
    """Paths of the product's files that match, without those that start with
    a text of `besides`."""
    return [path for path, text in product().items()
            if not path.startswith(tuple(besides))
            and re.search(pattern, text, re.MULTILINE)]


def named_too_often(fact, pattern, most, besides=()):
    """A line if more than `most` files name a fact, else no line."""
    files = files_naming(pattern, besides)
    if len(files) <= most:
        return []
    return [f"{fact}: {len(files)} files name it, {most} may: "
            + " ".join(files)]


def page_fields():
    """(kind, name) of each field, from the page's own table."""
    found = re.findall(rf"^ +({'|'.join(KINDS).upper()})\((\w+)\)",
                       read("common/page.h"), re.MULTILINE)
    return [(kind.lower(), name) for kind, name in found]


def python_fields():
    """The same of Python's copy."""
    return re.findall(r'^    \("(\w+)", "(\w+)"\),$',
                      read("libpenstock/python/penstock/_pages.py"),
                      re.MULTILINE)


def documented_fields():
    """The same of the protocol's document."""
    found = re.findall(rf"^\| `(\w+)` \| ({'|'.join(KINDS)}) \|",
                       read("docs/protocol.md"), re.MULTILINE)
    return [(kind, name) for name, kind in found]


def public_fields():
    """Names in libpenstock's struct; the library sets moments itself."""
    text = read("libpenstock/include/penstock.h")
    struct = re.search(r"^struct penstock_progress \{(.*?)^\};", text,
                       re.MULTILINE | re.DOTALL).group(1)
    return re.findall(r"^  uint\d+_t (\w+);", struct, re.MULTILINE)


def check_page():
    """Lines about copies with other fields than the page."""
    fields = page_fields()
    wrong = []
    for where, found, expected in (
            ("libpenstock/python/penstock/_pages.py", python_fields(), fields),
            ("docs/protocol.md", documented_fields(), fields),
            # The order of this struct is part of the ABI.
            ("libpenstock/include/penstock.h", sorted(public_fields()),
             sorted(name for kind, name in fields if kind != "moment"))):
        if found != expected:
            wrong.append(f"{where}: the progress page's fields are {found}, "
                         f"in common/page.h {expected}")
    return wrong


def options():
    """(name, variable) of each loader option, from the options' table."""
    return re.findall(r'^    \{"(loader[a-z-]*)", "(\w+)"',
                      read("common/options.cpp"), re.MULTILINE)


def advise_option():
    """The flag that is no option of a job."""
    return re.search(r'kAdviseOption = "(loader-\w+)"',
                     read("common/options.h")).group(1)


def check_options():
    """Lines about the options' manual page, and about options that too many
    files name."""
    manual = "docs/man/spank_penstock.8"
    text = read(manual)
    listed = re.findall(r"^\.It Fl -(loader\S*)", text, re.MULTILINE)
    variables = re.findall(r"^\.Ev (PENSTOCK_LOADER\w*) ?[,.]?$",
                           text.split("\n.Sh ENVIRONMENT\n")[1], re.MULTILINE)
    wrong = []
    for found, expected in ((listed, [*(name for name, _ in options()),
                                      advise_option()]),
                            (variables, [name for _, name in options()])):
        if found != expected:
            wrong.append(f"{manual}: lists {found}, common/options.cpp has "
                         f"{expected}")
    known = {advise_option(), *(name for pair in options() for name in pair)}
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.[1-9m]*")]:
        named = re.findall(r"(?:--|Fl -)(loader-[a-z]+)|(PENSTOCK_LOADER\w*\w)",
                           page.read_text("utf-8"))
        wrong += [f"{page.relative_to(ROOT)}: there is no option {name}"
                  for pair in named for name in pair
                  if name and name not in known]
    for name, variable in options():
        wrong += named_too_often(
            f"--{name}", rf"--{name}(?![-*\w])|{variable}(?!\w)",
            MOST_FILES_OF_OPTION)
    return wrong


def policies():
    """The enumerators of the policies of the allocation."""
    enum = re.search(r"^enum class Policy \{(.*?)^\};",
                     read("common/policy.h"), re.MULTILINE | re.DOTALL)
    return re.findall(r"^  (k\w+),", enum.group(1), re.MULTILINE)


def check_policies():
    """Lines about policies that too many files name, or that the manual
    lacks."""
    wrong = []
    for policy in policies():
        wrong += named_too_often(policy, rf"\b{policy}\b",
                                 MOST_FILES_OF_POLICY)
    names = re.search(r"kPolicyNames\[\] = \{(.*?)\};",
                      read("common/policy.h"), re.DOTALL).group(1)
    manual = "docs/man/penstock.conf.5"
    listed = re.search(r"^\.It Cm Policy .*?^\.Bl(.*?)^\.El", read(manual),
                       re.MULTILINE | re.DOTALL).group(1)
    expected = re.findall(r'"(\w+)"', names)
    found = re.findall(r"^\.It Cm (\w+)$", listed, re.MULTILINE)
    if found != expected:
        wrong.append(f"{manual}: the policies are {found}, in common/policy.h "
                     f"{expected}")
    return wrong


def config_keys():
    """{key: (least, most) or None} of penstock.conf, from its table."""
    rows = re.findall(r'^ {6}(?:[\w:<>]+\(|\{)"([A-Z]\w+)", [&\w:]+'
                      r"(?:, ([\d.]+), ([\d.]+)\))?",
                      read("common/config_keys.cpp"), re.MULTILINE)
    return {key: (least, most) if most else None for key, least, most in rows}


def config_words():
    """[(key, word)] of the keys that have words as values."""
    rows = re.findall(r'\("(\w+)", &Config::\w+,\s*(\{\{.*?\}\})\)',
                      read("common/config_keys.cpp"), re.DOTALL)
    return [(key, word) for key, words in rows
            for word in re.findall(r'\{"(\w+)"', words)]


def check_config():
    """Lines about keys that the manual lacks, or whose values differ there."""
    manual = "docs/man/penstock.conf.5"
    items = dict(re.findall(r"^\.It Cm (\w+) Ns =(.*?)(?=^\.It|^\.Ss|\Z)",
                            read(manual), re.MULTILINE | re.DOTALL))
    keys = config_keys()
    wrong = [f"{manual}, common/config_keys.cpp: only one of them has {key}"
             for key in sorted(set(items) ^ set(keys))]
    for key, allowed in keys.items():
        if allowed and "{} to {}".format(*allowed) not in items[key]:
            wrong.append(f"{manual}: {key} is not {allowed[0]} to {allowed[1]}")
        wrong += named_too_often(key, f'"{key}"', MOST_FILES_OF_KEY)
    wrong += [f"{manual}: {key} has no {word}" for key, word in config_words()
              if not re.search(rf"\bCm {word}\b", items[key])]
    return wrong


def families():
    """[(name, type)] of the metrics, as the code writes them."""
    code = read("report/metrics.cpp")
    found = [(name, kind.lower()) for name, kind in
             re.findall(r'"(penstock_\w+)",\s*Kind::k(\w+)', code)]
    return found + [(name, "summary") for name in
                    re.findall(r'write_latency\(out, "(\w+)"', code)]


def check_metrics():
    """Lines about metrics that differ between the code, the table and the
    panels."""
    table = "docs/metrics.md"
    documented = re.findall(r"^\| `(penstock_\w+)` \| (\w+) \|", read(table),
                            re.MULTILINE)
    wrong = [f"{table}, report/metrics.cpp: only one of them has {name}, {kind}"
             for name, kind in sorted(set(documented) ^ set(families()))]
    known = {name for name, _ in families()}
    known |= {name + end for name, kind in families() if kind == "summary"
              for end in ("_sum", "_count")}
    for user in ("packaging/grafana/penstock.json",
                 "packaging/prometheus/penstock.rules.yml",
                 "tests/packaging/alerts.yml", table, "docs/admin.md",
                 "docs/man/penstockd.8"):
        named = re.findall(r"\bpenstock_(?:agent|node|pool|job|rebalance|recall|"
                           r"launch|grant)_\w+", read(user))
        wrong += [f"{user}: there is no metric {name}"
                  for name in sorted(set(named) - known)]
    for name in sorted(name for name, _ in families()):
        wrong += named_too_often(name, rf"\b{name}\b", MOST_FILES_OF_FAMILY)
    return wrong


def stalls():
    """(enumerator, key) of each stall, from the table of the wall parts."""
    return re.findall(r'\{WallPart::(k\w+Stall), "(\w+)"',
                      read("common/wall_parts.h"))


def check_counters():
    """Lines about stalls and counters of the page that too many files name."""
    wrong = []
    for enumerator, key in stalls():
        wrong += named_too_often(key, f"{enumerator}|{key}",
                                 MOST_FILES_OF_STALL)
    for kind, name in page_fields():
        if kind == "counter" and name not in COMMON_WORDS:
            wrong += named_too_often(name, rf"\b{name}_?\b",
                                     MOST_FILES_OF_COUNTER, NOT_OF_PAGE)
    return wrong


def named_files(text):
    """Patterns of the files that a document names in `code`."""
    for name in re.findall(r"`([\w./*{},-]+\.[\w{},]+)`", text):
        if "/" not in name or "NAME" in name:
            continue
        choices = re.search(r"\{([^}]*)\}", name)
        if not choices:
            yield name
            continue
        for choice in choices.group(1).split(","):
            yield name[:choices.start()] + choice + name[choices.end():]


def check_map():
    """Lines about missing files and an outdated picture in
    docs/architecture.md."""
    wrong = [f"docs/architecture.md: there is no {name}"
             for name in named_files(read("docs/architecture.md"))
             if not any(ROOT.glob(name))]
    drawn = subprocess.run([sys.executable, ROOT / "docs/draw_processes.py"],
                           stdout=subprocess.PIPE, check=True, text=True)
    if drawn.stdout != read("docs/processes.svg"):
        wrong.append("docs/processes.svg is not what docs/draw_processes.py "
                     "draws: docs/draw_processes.py > docs/processes.svg")
    return wrong


def main():
    if len(page_fields()) < 2:
        print("common/page.h: the table of fields was not found")
        return 1
    if not options():
        print("common/options.cpp: the table of options was not found")
        return 1
    if not stalls():
        print("common/wall_parts.h: the table of stalls was not found")
        return 1
    wrong = (check_page() + check_map() + check_options() + check_policies()
             + check_config() + check_metrics() + check_counters())
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
