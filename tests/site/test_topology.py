"""On a node with two NUMA nodes, loaders are lent the CPUs near their task's
GPU, or else near its own cores."""

import json
import pathlib
import unittest

import site_case
from site_case import BUILD, journal, run, wait

FAKE_NVML = BUILD / "tests/fake_nvml"
# NVML's second GPU, as the fake has it; a device of the machine's stands there.
GPU = "0000:97:00.0"
PERIODS = 15  # of penstockd's sampling, until a demand is measured
TRIES = 5


def cpus_of(node):
    return site_case.cpus_in(pathlib.Path(
        f"/sys/devices/system/node/node{node}/cpulist").read_text("ascii"))


@unittest.skipIf(site_case.HAS_SMT, "half of a core is not lent")
class Topology(site_case.SiteCase):
    def demand(self, job):
        """The cores that its loader was found to need; None: not yet."""
        told = json.loads(run(["penstock", "top", "--json"]).stdout)
        for one in told["jobs"]:
            if one["job_id"] == job and one["quality"]["periods"] >= PERIODS:
                return one["cores"]["demand"]["value"]
        return None

    def lent(self, job):
        """The CPUs that are lent to it beside its own."""
        if not self.away_threads():
            return set()
        return site_case.cpus_in(self.away_cpus()) - site_case.cpus_in(
            self.held_by(job))

    def borrow_one(self, name, *flags):
        """(its own CPU, the one that is lent to it), of a job that needs one
        and a half: the rate for that is found by trying."""
        cores = 2
        for _ in range(TRIES):
            job = self.submit(name, cores, *flags)
            demand = wait("its demand", lambda job=job: self.demand(job), 60)
            lent = self.lent(job)
            print(f"at {cores:.2f}: {demand:.2f} cores, lent {lent}",
                  flush=True)
            if len(lent) == 1:
                (own,) = site_case.cpus_in(self.held_by(job))
                return own, lent.pop()
            run(["scancel", job])
            wait("the job to end", lambda: not self.away_threads())
            cores *= 1.5 / demand
        raise AssertionError("no rate at which one CPU is lent")

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
