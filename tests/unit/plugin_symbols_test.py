#!/usr/bin/python3
"""A plugin's exported, imported and linked names, and its Slurm release.

Slurm's processes load it: an additional symbol may hide one of theirs, an
additional library may conflict with one of theirs.

    plugin_symbols_test.py PLUGIN INCLUDE_DIR
"""

import pathlib
import re
import struct
import subprocess
import sys
import unittest

SPANK = {"plugin_name", "plugin_type", "plugin_version",
         "spank_plugin_version"}
EXPORTED = {
    "spank_penstock": SPANK | {
        "slurm_spank_init", "slurm_spank_init_post_opt",
        "slurm_spank_task_post_fork", "slurm_spank_task_exit",
        "slurm_spank_exit", "slurm_spank_job_epilog",
    },
    # No other plugin may have this symbol: it makes slurmd start a process per
    # job.
    "spank_penstock_account": SPANK | {"slurm_spank_job_prolog"},
    "job_submit_penstock": {
        "plugin_name", "plugin_type", "plugin_version", "init", "fini",
        "job_submit", "job_modify",
    },
}
FROM_SLURM = {
    "spank_penstock": {
        "slurm_debug", "slurm_error", "slurm_info", "slurm_spank_log",
        "spank_context",
        "spank_get_item", "spank_getenv", "spank_job_control_setenv",
        "spank_option_register", "spank_setenv", "spank_unsetenv",
    },
    "spank_penstock_account": {"slurm_debug", "slurm_error",
                               "spank_get_item"},
    "job_submit_penstock": {"slurm_error", "slurm_info", "slurm_xcalloc",
                            "slurm_xfree"},
}
NAMED = {  # plugin_type and plugin_name
    "spank_penstock": (b"spank", b"penstock"),
    "spank_penstock_account": (b"spank", b"penstock_account"),
    "job_submit_penstock": (b"job_submit/penstock",
                            b"Penstock job submit plugin"),
}
LIBRARIES = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
plugin = include_dir = name = ""


def lines(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True,
                          timeout=30).stdout.splitlines()


def section_bytes(name, size):
    """The first bytes of a symbol in .rodata."""
    symbol = next(line.split() for line in
                  lines("readelf", "--dyn-syms", "--wide", plugin)
                  if line.endswith(" " + name))
    address, index = int(symbol[1], 16), symbol[6]
    section = next(line for line in lines("readelf", "-S", "--wide", plugin)
                   if re.match(rf"\s*\[\s*{index}\]", line))
    start, offset = (int(field, 16) for field in
                     section.split("]")[1].split()[2:4])
    with open(plugin, "rb") as file:
        file.seek(offset + address - start)
        return file.read(size)


class Symbols(unittest.TestCase):
    def test_exports_only_slurms(self):
        names = {line.split()[-1] for line in
                 lines("nm", "-D", "--defined-only", plugin)}
        self.assertEqual(names, EXPORTED[name])

    def test_needs_only_libc_and_slurm(self):
        strong = [line.split()[-1] for line in
                  lines("nm", "-D", "--undefined-only", plugin)
                  if line.split()[0] == "U"]
        others = {name for name in strong if "@GLIBC" not in name}
        self.assertEqual(others, FROM_SLURM[name])

    def test_links_only_libc(self):
        needed = {match.group(1) for line in lines("readelf", "-d", plugin)
                  if (match := re.search(r"NEEDED.*\[(.*)\]", line))}
        self.assertIn("libc.so.6", needed)
        self.assertLessEqual(needed, LIBRARIES)

    def test_binds_lazily(self):
# srun lacks symbols that only slurmstepd has, and vice versa.
        flags = " ".join(line for line in lines("readelf", "-d", plugin)
                         if "FLAGS" in line)
        self.assertNotIn("NOW", flags)

    def test_is_for_the_headers_version(self):
        with open(f"{include_dir}/slurm/slurm_version.h",
                  encoding="utf-8") as file:
            number = re.search(r"#define\s+SLURM_VERSION_NUMBER\s+(\w+)",
                               file.read()).group(1)
        built = struct.unpack("=I", section_bytes("plugin_version", 4))[0]
        self.assertEqual(built, int(number, 0))
        for symbol, text in zip(("plugin_type", "plugin_name"), NAMED[name]):
            self.assertEqual(section_bytes(symbol, len(text) + 1),
                             text + b"\0")


if __name__ == "__main__":
    include_dir = sys.argv.pop()
    plugin = sys.argv.pop()
    name = pathlib.Path(plugin).stem
    unittest.main()
