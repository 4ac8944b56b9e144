"""penstock._memory on fake /proc and cgroup trees."""

import os
import tempfile
import unittest
from pathlib import Path

from penstock import _memory

MIB = 1 << 20
NO_LIMIT = 9223372036854771712


class RoomTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-test-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.proc = self.root / "proc"
        self.write("proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 8192000 kB\n")
        self.write("proc/self/cgroup", "0::/\n")
        self.write("proc/self/mountinfo", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def mount(self, kind, options, root="/"):
        point = self.root / "mnt"
        self.write(
            "proc/self/mountinfo",
            "21 1 0:19 / /proc rw - proc proc rw\n"
            f"30 21 0:26 {root} {point} rw,nosuid shared:9 - "
            f"{kind} {kind} {options}\n",
        )

    def group_v1(self, path, limit, usage, cache=0):
        self.write(f"mnt/{path}/memory.limit_in_bytes", f"{limit}\n")
        self.write(f"mnt/{path}/memory.usage_in_bytes", f"{usage}\n")
        self.write(
            f"mnt/{path}/memory.stat",
            f"cache 5\ninactive_file 1\ntotal_inactive_file {cache}\n",
        )

    def group_v2(self, path, limit, usage, cache=0):
        self.write(f"mnt/{path}/memory.max", f"{limit}\n")
        self.write(f"mnt/{path}/memory.current", f"{usage}\n")
        self.write(
            f"mnt/{path}/memory.stat", f"anon 5\ninactive_file {cache}\n"
        )

    def room(self):
        return _memory.room_bytes(self.proc)

    def test_without_a_group_the_machine_decides(self):
        self.assertEqual(self.room(), 8000 * MIB)

    def test_v1_the_tightest_level_decides(self):
        self.mount("cgroup", "rw,memory")
        self.write(
            "proc/self/cgroup", "4:cpu:/other\n9:memory:/slurm/job/step\n"
        )
        self.group_v1("slurm/job/step", NO_LIMIT, 100 * MIB)
        self.group_v1("slurm/job", 500 * MIB, 300 * MIB, cache=50 * MIB)
        self.group_v1("slurm", 900 * MIB, 300 * MIB)
        self.group_v1("", NO_LIMIT, 0)
        self.assertEqual(self.room(), 250 * MIB)

    def test_v1_a_group_over_its_limit_leaves_nothing(self):
        self.mount("cgroup", "rw,memory")
        self.write("proc/self/cgroup", "9:memory:/job\n")
        self.group_v1("job", 100 * MIB, 150 * MIB)
        self.assertEqual(self.room(), 0)

    def test_another_v1_controller_is_not_taken_for_memory(self):
        self.mount("cgroup", "rw,cpuset")
        self.write("proc/self/cgroup", "9:memory:/job\n")
        self.group_v1("job", 100 * MIB, 50 * MIB)
        self.assertEqual(self.room(), 8000 * MIB)

    def test_v2(self):
        self.mount("cgroup2", "rw")
        self.write("proc/self/cgroup", "0::/job/step\n")
        self.group_v2("job/step", "max", 1)
        self.group_v2("job", 400 * MIB, 300 * MIB, cache=20 * MIB)
        self.assertEqual(self.room(), 120 * MIB)

    def test_a_mount_of_a_part_of_the_tree(self):
        self.mount("cgroup", "rw,memory", root="/slurm/job")
        self.write("proc/self/cgroup", "9:memory:/slurm/job/step\n")
        self.group_v1("step", 700 * MIB, 100 * MIB)
        self.group_v1("", 500 * MIB, 100 * MIB)
        self.assertEqual(self.room(), 400 * MIB)

    def test_a_hidden_group_counts_by_what_is_mounted(self):
        self.mount("cgroup", "rw,memory", root="/docker/abc")
        self.write("proc/self/cgroup", "9:memory:/elsewhere\n")
        self.group_v1("", 500 * MIB, 100 * MIB)
        self.assertEqual(self.room(), 400 * MIB)

    def test_unreadable_values_are_passed_over(self):
        self.mount("cgroup", "rw,memory")
        self.write("proc/self/cgroup", "9:memory:/job\n")
        self.group_v1("job", "garbage", 1)
        self.assertEqual(self.room(), 8000 * MIB)


class ProcessTest(unittest.TestCase):
    def test_this_process_has_a_size_and_a_missing_one_none(self):
        self.assertGreater(_memory.process_bytes(os.getpid()), MIB)
        self.assertEqual(_memory.process_bytes(2**30), 0)

    def test_this_machine_has_room(self):
        self.assertGreater(_memory.room_bytes(), 0)


if __name__ == "__main__":
    unittest.main()
