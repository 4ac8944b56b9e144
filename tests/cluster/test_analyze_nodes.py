"""penstock analyze of a job on two nodes. Its ranks wait for each other
after every step, and one rank has more to prepare."""

import json
import pathlib
import unittest

import cluster_case
import embedded
import embedded_nodes
import hierarchy
import quiet
import slurm_files

ACCELERATOR_S = 0.004  # per sample: 250 samples/s


class AnalyzeNodes(quiet.Quiet, cluster_case.ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded_nodes.NodesCluster(nodes=2)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        build = embedded.build_directory() / "bin"
        cls.train = cls.cluster.expose(build / "penstock-train")
        cls.penstock = cls.cluster.expose(build / "penstock")
        cls.data = f"{cls.cluster.directory}/bin/jpeg"
        done = cls.cluster.command(
            str(build / "penstock-demo-data"), "--out", cls.data, "--format",
            "jpeg", "--count", "64")
        assert done.returncode == 0, done.stderr

    def trainer(self):
        """A trainer's command; rank 1 makes pictures nine times as large."""
        port, = slurm_files.free_ports(20)[19:]
        return ("[ $SLURM_PROCID = 1 ] && crop=672 || crop=224; "
                f"exec {self.train} --data {self.data} --batch 8 --crop $crop "
                f"--accelerator-s-per-sample {ACCELERATOR_S} --duration 1 "
                f"--meet 127.0.0.1:{port}")

    @unittest.skipIf(hierarchy.COMOUNTED, "SKIPPED: no quota where cpu and "
                     "cpuacct are one hierarchy")
    def test_ranks_are_told_apart_and_the_slowest_is_named(self):
        saved = pathlib.Path(self.cluster.home(), "two.toml")
        done = self.cluster.command(
            self.penstock, "analyze", "--json", "--budget", "45s", "--save",
            saved, "--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=1",
            "--gres=gpu:1", "--", "sh", "-c", self.trainer(),
            user=self.cluster.user, timeout=150)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["ranks"], 2)
        first, second = found["by_rank"]
        self.assertEqual([first["node"], second["node"]], self.cluster.nodes)
        # One step with both ranks, each with its own loader.
        self.assertAlmostEqual(second["ceiling"] / first["ceiling"], 1,
                               delta=0.1)
        self.assertLess(second["prep"], first["prep"])
        self.assertEqual(found["slowest_rank"], 1)
        # The job's figures are those of its slowest rank.
        whole, = [point for point in found["prep"] if point["cores"] == 1]
        self.assertAlmostEqual(whole["value"] / second["prep"], 1, delta=0.1)
        limited = [point for point in found["prep"] if point["cores"] < 1]
        self.assertTrue(limited)
        self.assertEqual({point["limited_by"] for point in limited}, {"quota"})
        # A profile covers a node's ranks. Here that is one, which it omits.
        self.assertNotIn("ranks", saved.read_text("utf-8"))
        self.cluster.wait_empty()
        self.cluster._wait("all groups to be removed", lambda: not [
            path for node in self.cluster.nodes
            for path in hierarchy.our_groups(node) if "/job_" in path], 30)


if __name__ == "__main__":
    cluster_case.main()
