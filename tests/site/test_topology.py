"""On a node with two NUMA nodes, loaders are lent the CPUs near their task's
GPU, or else near its own cores."""

import pathlib
import unittest

import site_case
from site_case import BUILD, journal, run, wait

FAKE_NVML = BUILD / "tests/fake_nvml"
# NVML's second GPU, as the fake has it; a device of the machine's stands there.
GPU = "0000:97:00.0"


def cpus_of(node):
    return site_case.cpus_in(pathlib.Path(
        f"/sys/devices/system/node/node{node}/cpulist").read_text("ascii"))


@unittest.skipIf(site_case.HAS_SMT, "half of a core is not lent")
class Topology(site_case.SiteCase):
    def borrow_one(self, name, *flags):
        """(its own CPU, the one that is lent to it), of a job that needs
        two. The slower the machine, the more it needs at a rate."""
        for cores in (2, 1, 0.5, 0.25):
            job = self.submit(name, cores, *flags)
            self.wait_away()
            own = site_case.cpus_in(self.held_by(job))
            lent = site_case.cpus_in(self.away_cpus()) - own
            self.assertEqual(len(own), 1)
            if len(lent) == 1:
                return own.pop(), lent.pop()
            run(["scancel", job])
            wait("the job to end", lambda: not self.away_threads())
        raise AssertionError(f"lent {lent}, which leaves no choice")

    # Whoever takes the first CPU that idles takes 0.
    def test_near_the_cores_of_a_task(self):
        first = self.sbatch("exec sleep 600", "-n1", "-c3")
        self.wait_job(first, "RUNNING")
        own, lent = self.borrow_one("near_cores")
        self.assertEqual({own, lent}, cpus_of(1))
        run(["scancel", first])

    # By its cores it would be the other one of node 0.
    def test_near_the_gpu_of_a_task(self):
        where = pathlib.Path("/sys/bus/pci/devices", GPU, "numa_node")
        self.assertEqual(where.read_text("ascii"), "1\n")
        self.drop_in("[Service]\n"
                     f"Environment=LD_LIBRARY_PATH={FAKE_NVML}\n")
        wait("the GPUs to be found", lambda: GPU in journal())
        own, lent = self.borrow_one("near_gpu", "--gres=gpu:2")
        self.assertIn(own, cpus_of(0))
        self.assertIn(lent, cpus_of(1))


if __name__ == "__main__":
    site_case.main()
