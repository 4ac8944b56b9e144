"""A pool without a block device, like a network file system. The kernel
neither counts nor limits its bytes; the loader does, by the hint page."""

import glob
import json
import os
import pathlib

import agent_case
import embedded

SAMPLES_PER_S = 40  # rate that the pool's bandwidth allows


class NetworkPool(agent_case.AgentCase):
    def sample_bytes(self):
        files = glob.glob(f"{self.data}/**/*.jpg", recursive=True)
        return sum(os.stat(path).st_size for path in files) / len(files)

    def test_the_loader_keeps_to_its_part_and_says_what_it_reads(self):
        bandwidth = int(SAMPLES_PER_S * self.sample_bytes())
        self.cluster.stop_agent()
        # tmpfs has no block device either.
        self.cluster.start_agent(pools=[("net", "/dev/shm", str(bandwidth))])
        job = self.submit("network", 1 / 3)
        self.wait("the limit to be felt", lambda: self.rate(
            "network", 2) < 1.5 * SAMPLES_PER_S, 40)
        rate = self.rate("network", 6)
        pool, = self.cluster.status()["pools"]
        self.assertLess(rate / SAMPLES_PER_S, 1.15)
        self.assertLess(pool["used_bytes_per_s"] / bandwidth, 1.3)
        if embedded.PATIENCE == 1:  # an emulated CPU may be slower
            self.assertGreater(rate / SAMPLES_PER_S, 0.85)
            self.assertGreater(pool["used_bytes_per_s"] / bandwidth, 0.7)
        self.cluster.cancel(job)
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(job))
        report = json.loads(
            pathlib.Path(self.reports(job)[0]).read_text("utf-8"))
        self.assertGreater(report["bandwidth"]["used_bytes_per_s"], 0)
        self.assertGreater(
            report["bandwidth"]["demand_bytes_per_s"]["value"], bandwidth)


if __name__ == "__main__":
    agent_case.main()
