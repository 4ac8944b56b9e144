#!/usr/bin/python3
"""Each folder includes only headers of the layers that its layer may use.

No two files define the same type in one namespace: a linker would silently use
one for both.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Layer -> layers whose headers it may include, besides its own. A path of a
# header allows only that header. A layer inside another one precedes it.
MAY_INCLUDE = {
    "common": [],
    "wire": ["common"],
    "link": ["common", "wire"],
    "cgroup": ["common"],
    "exchange/plan": ["common"],
    "predictor": ["common", "exchange/plan"],
    "select_ext/allocator": ["common", "predictor"],
    "select_ext/ctld": ["common", "wire", "link", "predictor",
                        "select_ext/allocator", "select_ext/job_submit"],
    "select_ext/job_submit": ["common", "predictor"],
    "report": ["common", "wire", "exchange/plan"],
    "libpenstock": ["common"],
    "loader/include": ["common"],
    "loader/lmdb/mpi": ["common", "loader/include", "loader/data",
                        "loader/lmdb", "loader/pipeline"],
    "loader/lmdb": ["common", "loader/include"],
    "loader/data": ["common", "loader/include", "loader/lmdb"],
    "loader/picture": ["common", "loader/include", "loader/data"],
    "loader/pipeline": ["common", "libpenstock", "loader/include",
                        "loader/data", "loader/picture"],
    "loader/cache": ["common", "loader/include", "loader/data"],
    "loader/peer": ["common", "loader/include", "loader/data", "loader/cache"],
    "loader/staging": ["common", "loader/include", "loader/data",
                       "loader/cache", "loader/pipeline"],
    "loader/api": ["common", "libpenstock", "loader/include", "loader/data",
                   "loader/pipeline", "loader/peer", "loader/staging"],
    "loader/python": ["loader/include", "loader/data", "loader/pipeline",
                      "loader/api"],
    "loader/train": ["common", "wire", "libpenstock", "loader/include",
                     "loader/data", "loader/cache", "loader/pipeline",
                     "loader/staging", "loader/api"],
    "loader": [],
    "exchange": ["common", "exchange/plan"],
    "spank_plugin": ["common"],
    "node_agent/plan": ["common", "wire", "predictor", "select_ext/allocator",
                        "report"],
    "broker": ["common", "cgroup"],
    "node_agent": ["common", "wire", "link", "cgroup", "broker",
                   "node_agent/plan",
                   "predictor", "report"],
    "tools": ["common", "wire", "link", "cgroup", "exchange/plan", "predictor",
              "select_ext/allocator", "select_ext/ctld",
              "select_ext/job_submit", "report", "node_agent",
              "loader/include", "loader/cache", "loader/data/rule_options.h",
              "loader/lmdb", "loader/picture", "spank_plugin/settings.h"],
    "bench": ["common", "wire", "link", "exchange", "exchange/plan",
              "libpenstock", "loader/include", "loader/cache", "loader/data",
              "loader/lmdb", "loader/lmdb/mpi", "loader/picture",
              "loader/pipeline", "loader/staging", "loader/api", "loader/train",
              "predictor", "report", "select_ext/allocator",
              "select_ext/ctld", "select_ext/job_submit", "tools"],
}
# Layers without I/O, clocks and logging, and the headers that they must not
# include.
PURE = ["exchange/plan", "node_agent/plan", "predictor", "select_ext/allocator",
        "wire"]
IMPURE = (r"(dirent|dlfcn|fcntl|poll|pthread|signal|time|unistd)\.h$"
          r"|sys/(?!types\.h)|linux/"
          r"|(chrono|ctime|filesystem|fstream|iostream|mutex|random|thread)$"
          r"|common/(admin_file|clock|event_loop|log|state_dir|unique_fd)\.h")
# System and library headers that only some folders may include.
RESERVED = {
    r"slurm/(?!slurm_version\.h)": ["spank_plugin", "common/slurm_release.h"],
    r"common/slurm_release\.h": ["select_ext/job_submit",
                                 "select_ext/comment",
                                 "select_ext/ctld/slurm_api.cpp"],
    r"munge\.h": ["link", "loader/peer/munge_authority.cpp"],
    # Its cpu_set_t is too small for large machines.
    r"sched\.h": ["common/cpu_affinity.cpp", "cgroup", "broker/desk.cpp"],
    r"zmq\.h(pp)?": ["link"],
    r"sqlite3\.h": ["select_ext/ctld"],
    r"systemd/": ["common"],
    r"fuse": ["bench"],
    r"mpi\.h": ["loader/lmdb/mpi", "exchange", "bench"],
    r"hwy/": ["exchange"],
    r"cuda|cub/": ["exchange", "bench"],
    r"pybind11/": ["loader/python", "exchange"],
    r"libcgroup|hwloc": ["cgroup", "node_agent"],
}


# Installed headers, which are included by their installed path: folder ->
# layer.
PUBLIC = {"penstock/loader": "loader/include", "penstock/result.h": "common"}


def layer_of(path):
    """The layer of a path from the root, or of a public one; None: no layer."""
    for folder, layer in PUBLIC.items():
        if path == folder or path.startswith(folder + "/"):
            return layer
    return next((layer for layer in MAY_INCLUDE
                 if path.startswith(layer + "/")), None)


def check_file(path):
    """Faults of one source file, as lines of text."""
    name = str(path.relative_to(ROOT))
    layer = layer_of(name)
    wrong = []
    for number, line in enumerate(
            path.read_text("utf-8").splitlines(), start=1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not found:
            continue
        target = found.group(1)
        other = layer_of(target)
        may = (None, layer, *MAY_INCLUDE[layer])
        if other not in may and target not in may:
            wrong.append(f"{name}:{number}: {layer} must not include {other} "
                         f"({target})")
        if layer in PURE and re.match(IMPURE, target):
            wrong.append(f"{name}:{number}: {layer} is pure: no {target}")
        for pattern, allowed in RESERVED.items():
            if (re.match(pattern, target) and layer not in allowed
                    and name not in allowed):
                wrong.append(f"{name}:{number}: {target} is only for "
                             + ", ".join(allowed))
    return wrong


def types_of(path):
    """Types that a file defines for others: namespace and name.

    A nested type's name is whole: Context::Impl is no second Context. Nor is
    a specialization Context<T>.
    """
    text = path.read_text("utf-8")
    own = list(re.finditer(r"^namespace \{$.*?^\}  // namespace$", text,
                           re.MULTILINE | re.DOTALL))
    for found in re.finditer(
            r"^(?:struct|class|enum class) (\w+(?:::\w+)*)(?![\w<])[^;{()]*\{",
            text, re.MULTILINE):
        if any(part.start() < found.start() < part.end() for part in own):
            continue
        spaces = re.findall(r"^namespace ([\w:]+) \{", text[:found.start()],
                            re.MULTILINE)
        yield (spaces[-1] if spaces else ""), found.group(1)


def defined_twice(paths):
    """Lines about types that two files define."""
    places = {}
    for path in paths:
        for name in types_of(path):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return [f"{space}::{name} is defined in " + " and in ".join(files)
            for (space, name), files in places.items() if len(files) > 1]


def main():
    wrong = []
    checked = 0
    headers = []
    for layer in MAY_INCLUDE:
        for path in sorted((ROOT / layer).rglob("*")):
            if layer_of(str(path.relative_to(ROOT))) != layer:
                continue  # of a layer inside this one
            if path.suffix in (".h", ".cpp", ".c", ".hpp"):
                checked += 1
                wrong += check_file(path)
                headers += [path] if path.suffix in (".h", ".hpp") else []
    wrong += defined_twice(headers)
    print("\n".join(wrong) or f"{checked} files keep to their layers")
    return 1 if wrong or checked < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
