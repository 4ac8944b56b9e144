"""One report of a job on several nodes, which share ReportDir."""

import glob
import json
import pathlib

import cluster_case
import embedded
import test_nodes

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


class ReportNodes(test_nodes.NodesCase):
    cluster_options = {"nodes": 3}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(
            embedded.build_directory() / "bin" / "penstock")

    def report(self, job, *words, before=()):
        return self.cluster.command(
            *before, self.penstock, "report", str(job), "--config",
            f"{self.cluster.directory}/penstock."
            f"{self.cluster.nodes[0]}.conf", *words,
            user=None if before else self.cluster.user)

    def parts_of(self, job):
        return [json.loads(pathlib.Path(path).read_text("utf-8"))
                for path in sorted(glob.glob(
                    f"{self.cluster.directory}/reports/{job}/*.json"))]

    def test_the_parts_of_all_nodes_are_one_report(self):
        self.wait_granted()
        nodes = self.cluster.nodes
        job = self.submit("span", 200, nodes, self.trainer(
            "span", 200, self.meeting(), seconds=6))
        self.cluster.wait_job(job)
        self.wait("a report of each node", lambda: [
            part["node"] for part in self.parts_of(job)
            if not part["running"]] == nodes)
        parts = self.parts_of(job)

        done = self.report(job, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = json.loads(done.stdout)
        self.assertEqual([part["node"] for part in whole["nodes"]], nodes)
        self.assertEqual(whole["ranks"], 3)
        for figures in (lambda it: it["quality"]["samples"],
                        lambda it: it["throughput"]["measured"]["value"],
                        lambda it: it["cores"]["used_home"]):
            self.assertAlmostEqual(figures(whole), sum(map(figures, parts)))
        self.assertGreater(whole["quality"]["samples"], 0)
        walls = [part["breakdown"]["wall_s"] for part in parts]
        self.assertLessEqual(min(walls), whole["breakdown"]["wall_s"])
        self.assertLessEqual(whole["breakdown"]["wall_s"], max(walls))

        text = self.report(job).stdout
        for node in nodes:
            self.assertIn(f"\n  {node} ", text)

        # The component and the task of other jobs have numbers of their own.
        self.assertEqual(self.report(f"{job}.batch").stdout, text)
        array = self.cluster.sbatch("#!/bin/sh\nexit 0\n",
                                    flags=["--array=1-2", "--loader=auto"])
        self.wait("the array to end", lambda: not self.cluster.squeue())
        self.wait("the reports of its tasks", lambda: all(
            self.report(f"{array}_{task}").returncode == 0
            for task in (1, 2)))
        found = {json.loads(self.report(f"{array}_{task}", "--json").stdout)
                 ["job_id"] for task in (1, 2)}
        self.assertEqual(len(found), 2)
        self.assertLessEqual(found, {array, array + 1, array + 2})
        done = self.report(f"{array}_3")
        self.assertEqual(done.returncode, 3)

        refused = self.report(job, before=NOBODY)
        self.assertEqual(refused.returncode, 3, refused.stdout)
        self.assertEqual(len(refused.stderr.strip().splitlines()), 1)
        self.assertIn("only its user may read its report", refused.stderr)

    def test_a_job_that_waits_in_the_queue(self):
        job = self.cluster.sbatch("#!/bin/sh\n", flags=["--hold"])
        self.addCleanup(self.cluster.cancel, str(job))
        done = self.report(job)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"job {job}: has not started yet (PENDING)", done.stderr)


main = cluster_case.main

if __name__ == "__main__":
    main()
