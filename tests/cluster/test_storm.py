"""A storm of jobs on many emulated nodes, with two real nodes whose grants
must reach the kernel soon, also beside hostile clients."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import cluster_case
import embedded
import embedded_nodes
import test_nodes

# On an emulated machine the storm is smaller in proportion: its daemons would
# never catch up, because munge's credentials expire.
SLOWER = 1 if embedded.PATIENCE == 1 else 4 * embedded.PATIENCE
AGENTS = int(os.environ.get("PENSTOCK_STORM_AGENTS", "300")) // SLOWER
RATE = float(os.environ.get("PENSTOCK_STORM_RATE", "30")) / SLOWER
SECONDS = float(os.environ.get("PENSTOCK_STORM_SECONDS", "20"))
DECISION_P99_MS = 250
FULL_SIZE = 1998  # agents, in addition to the two real nodes
MOST_MEMORY_MB = 300
HOSTILE_S = 15  # longer than the storm's agents take to connect
KILLS = int(os.environ.get("PENSTOCK_STORM_KILLS", "25")) // SLOWER


class StormCase(test_nodes.NodesCase):
    cluster_options = {"nodes": 2, "pools": [("net", "/dev/shm", "8G")],
                       "timeout_s": 30, "users": 2}

    def run_storm(self):
        """The figures of a storm on a controller with two real nodes, which
        have a spanning job and short ones."""
        nodes = self.cluster.nodes
        self.submit("any", 50, nodes, self.trainer("any", 50, self.meeting()))
        self.wait_granted()
        out = f"{self.cluster.directory}/storm.json"
        with concurrent.futures.ThreadPoolExecutor() as beside:
            storm = beside.submit(
                self.cluster.command,
                str(embedded.build_directory() / "bin" / "penstock"), "bench",
                "ctld", "--agents", str(AGENTS), "--rate", str(RATE),
                "--seconds", str(SECONDS), "--config",
                self.cluster.conf_of[nodes[0]], "--json", out,
                *(word for node in nodes for word in
                  ("--sample", self.cluster.socket_of(node))),
                timeout=SECONDS + 300)
            # The sampled nodes' own jobs, whose events are answered in turn.
            for node in itertools.cycle(nodes):
                if storm.done():
                    break
                job = self.cluster.srun(
                    "sleep", "1", gpus=0,
                    flags=[f"--nodelist={node}", "--loader=auto"])
                self.assertEqual(job.returncode, 0, job.stderr)
            done = storm.result()
        print(done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0)
        with open(out, encoding="utf-8") as file:
            return {figure["name"]: figure for figure in
                    json.load(file)["figures"]}

    def check(self, figures):
        self.assertEqual(figures["lost"]["value"], 0)
        if embedded.PATIENCE > 1:
            return  # the other figures are times
        self.assertGreaterEqual(figures["jobs_per_s"]["value"], 0.99 * RATE)
        self.assertGreater(figures["decision_p99_ms"]["runs"], SECONDS)
        # With some dozens of grants this is the longest delay, which depends on
        # the machine. At full size it is the figure of docs/benchmarks.md.
        name = ("decision_p99_ms" if AGENTS >= FULL_SIZE else "answer_p50_ms")
        self.assertLessEqual(figures[name]["value"], DECISION_P99_MS)


class Storm(StormCase):
    def test_grants_are_in_the_kernel_soon_and_none_is_lost(self):
        self.check(self.run_storm())


@unittest.skipUnless(AGENTS >= FULL_SIZE, "a part of cluster/storm_full")
class HostileClients(StormCase):
    """An ordinary user's clients send garbage, messages without end, and
    queries in a loop, from before the storm until after it."""

    def hostile_clients(self):
        """Three sorts of them, as arguments of controller_load."""
        munge = f"{self.cluster.directory}/munge.sock"
        return [["flood", "--clients", "15"],
                ["flood", "--clients", "10", "--frames"],
                ["ask", "--clients", "25", "--munge", munge]]

    def test_hostile_clients_neither_fill_memory_nor_drop_an_agent(self):
        load = self.cluster.expose(self.cluster.build / "bin/controller_load")
        port = self.cluster.controllers[0].rpartition(":")[2]
        with concurrent.futures.ThreadPoolExecutor() as beside:
            clients = [beside.submit(
                self.cluster.command, load, *words, "--port", port,
                "--seconds", str(SECONDS + HOSTILE_S),
                user=self.cluster.users[1], timeout=SECONDS + 300)
                for words in self.hostile_clients()]
            figures = self.run_storm()
            log = self.cluster.log_of("penstockctld0")
            for client in clients:
                done = client.result()
                self.assertEqual(done.returncode, 0, done.stderr)
                print(done.stdout)
        memory_mb = self.most_memory_mb()
        print(f"penstockctld used {memory_mb:.0f} MB at most")
        self.assertLessEqual(memory_mb, MOST_MEMORY_MB)
        self.assertNotIn("silent for", log)
        self.check(figures)

    def most_memory_mb(self):
        status = pathlib.Path(
            f"/proc/{self.cluster.controller_pid()}/status").read_text("ascii")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


class Killed(unittest.TestCase):
    """penstockctld is killed at random moments and restarted."""

    def test_no_job_is_lost(self):
        with tempfile.TemporaryDirectory() as directory:
            out = f"{directory}/kills.json"
            rate, seconds = 20 / SLOWER, 0.6 * KILLS * SLOWER
            subprocess.run(
                [embedded.build_directory() / "bin" / "penstock", "bench",
                 "ctld", "--agents", str(100 // SLOWER), "--rate", str(rate),
                 "--seconds", str(seconds), "--kills", str(KILLS), "--json",
                 out], check=True, timeout=seconds + 240 * SLOWER)
            with open(out, encoding="utf-8") as file:
                figures = {figure["name"]: figure["value"] for figure in
                           json.load(file)["figures"]}
        self.assertEqual(figures["kills"], KILLS)
        self.assertEqual(figures["lost"], 0)
        if embedded.PATIENCE == 1:
            self.assertGreater(figures["events"], rate * seconds)


if __name__ == "__main__":
    cluster_case.main()
