"""On a node with two NUMA nodes, loaders are lent the CPUs near their task's
GPU, or else near its own cores."""

import pathlib
import unittest

import site_case
from site_case import BUILD, journal, run, wait

FAKE_NVML = BUILD / "tests/fake_nvml"
# The fake NVML's second GPU; a device of the machine has its address.
GPU = "0000:97:00.0"


def cpus_of(node):
    return site_case.cpus_in(pathlib.Path(
        f"/sys/devices/system/node/node{node}/cpulist").read_text("ascii"))


@unittest.skipIf(site_case.HAS_SMT, "half of a core is not lent")
class Topology(site_case.SiteCase):
    def lent(self, job):
        """The CPUs lent to the job in addition to its own."""
        if not self.away_threads():
            return set()
        return site_case.cpus_in(self.away_cpus()) - site_case.cpus_in(
            self.held_by(job))

    def borrow_one(self, name, *flags):
        """(its own CPU, the CPU lent to it), for a job that needs three
        cores and can use two."""
        job = self.submit(name, 3, "--loader-threads=2", *flags)
        lent = wait("one CPU to be lent", lambda: self.lent(job), 60)
        (own,) = site_case.cpus_in(self.held_by(job))
        self.assertEqual(len(lent), 1)
        return own, lent.pop()

    # Without a preference, the first idle CPU would be 0.
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
