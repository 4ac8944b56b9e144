"""penstock jobs, nodes and history, with a real penstockctld: users see only
their own jobs, and ended jobs are recorded."""

import csv
import io
import json

import cluster_case
import embedded_nodes
import typed


class Commands(cluster_case.ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded_nodes.NodesCluster(nodes=2, users=2)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        cls.owner, cls.other = cls.cluster.users
        cls.penstock = cls.cluster.expose(cls.cluster.build / "bin/penstock")
        # A controller may not be active yet just after its start.
        cls.cluster._wait("the controller", lambda: cls.ask(
            cls, "nodes").returncode == 0, 40)

    def ask(self, *words, user=None):
        """The command's CompletedProcess; user None: root."""
        conf = self.cluster.conf_of[self.cluster.nodes[0]]
        return self.cluster.command(self.penstock, *map(str, words),
                                    "--config", str(conf), user=user)

    def ask_json(self, *words, user=None):
        done = self.ask(*words, "--json", user=user)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def wait(self, what, condition, timeout=40):
        self.cluster._wait(what, condition, timeout)

    def job_ids(self, what, user=None):
        return [job["job_id"] for job in self.ask_json(what, user=user)["jobs"]]

    def test_users_see_their_own_jobs_while_they_run_and_afterwards(self):
        job = self.cluster.sbatch(
            "#!/bin/sh\nunset PENSTOCK_SOCKET\n"
            "exec srun --loader=auto sleep 600\n", gpus=0,
            flags=["--nodes=2", "--ntasks-per-node=1", "--loader=auto",
                   "--job-name=train_3", "--account=physics"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.wait("both nodes' ranks", lambda: any(
            row["job_id"] == job and len(row["nodes"]) == 2
            for row in self.ask_json("jobs")["jobs"]))
        self.assertEqual(self.job_ids("jobs", self.owner), [job])
        self.assertEqual(self.job_ids("jobs", self.other), [])
        text = self.ask("jobs", user=self.owner).stdout
        self.assertIn(f"{job} train_3", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))

        denied = self.ask("jobs", "--user", self.owner, user=self.other)
        self.assertEqual(denied.returncode, 3)
        self.assertIn("only root and Slurm's operators see other users' jobs",
                      denied.stderr)
        missing = self.ask("jobs", job, user=self.other)
        self.assertEqual(missing.returncode, 3)
        self.assertIn(f"job {job}: no managed job", missing.stderr)

        nodes = self.ask_json("nodes", user=self.other)["nodes"]
        self.assertEqual([node["node"] for node in nodes], self.cluster.nodes)
        self.assertEqual([node["jobs"] for node in nodes], [1, 1])

        # Another user's queries from a node must not block its agent.
        self.wait("the record", lambda: job in self.job_ids("history"))
        self.cluster.cancel(str(job))
        self.wait("the end of the record", lambda: any(
            row["state"] == "CANCELLED" for row in
            self.ask_json("history", job)["jobs"]))
        row, = self.ask_json("history", job, user=self.owner)["jobs"]
        # More days than since 1970.
        self.assertIn(row, self.ask_json("history", "--days", "36500",
                                         user=self.owner)["jobs"])
        self.assertEqual(row["name"], "train_3")
        self.assertEqual(row["account"], "physics")
        self.assertEqual(row["nodes"], 2)
        self.assertEqual(row["ranks"], 2)
        self.assertEqual(row["restart_count"], 0)
        self.assertGreaterEqual(row["end_unix_s"], row["start_unix_s"])
        self.assertEqual(self.job_ids("history", self.other), [])
        self.assertIn("train_3", self.ask("history", user=self.owner).stdout)
        self.wait("no job to run", lambda: self.job_ids("jobs") == [])

        # The record survives kill -9.
        self.cluster.stop_controller(number=9)
        down = self.ask("history")
        self.assertEqual(down.returncode, 3)
        self.assertIn("cannot be reached", down.stderr)
        self.cluster.start_controller()
        self.wait("the controller", lambda: self.ask(
            "history").returncode == 0)
        self.assertIn(job, self.job_ids("history", self.owner))

    # Slurm starts each component on nodes of its own.
    def test_top_shows_all_nodes_and_obeys_keys(self):
        job = self.cluster.sbatch(
            "#!/bin/sh\nunset PENSTOCK_SOCKET\n"
            "exec srun --loader=auto sleep 600\n", gpus=0,
            flags=["--nodes=2", "--ntasks-per-node=1", "--loader=auto",
                   "--job-name=train_4"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.wait("the job", lambda: job in self.job_ids("jobs"))
        plain = self.ask("top", "--cluster", user=self.owner)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertIn(f"{job} train_4", plain.stdout)
        self.assertNotIn("\033", plain.stdout)
        self.assertEqual(
            [row["job_id"] for row in self.ask_json(
                "top", "--cluster", user=self.owner)["jobs"]],
            self.job_ids("jobs", self.owner))
        self.assertNotIn("train_4", self.ask("top", "--cluster",
                                             user=self.other).stdout)
        wrong = self.ask("top", "--sort", "colour")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("allowed: JOB, NAME", wrong.stderr)

        conf = self.cluster.conf_of[self.cluster.nodes[0]]
        with typed.Typed(self.cluster, [
                self.penstock, "top", "--cluster", "--config", conf],
                self.owner) as top:
            top.wait_for(f">{job:>7} train_4")
            top.press("\r", "Wall time")  # its report
            top.press("\177", "train_4")
            top.press("n", f">{self.cluster.nodes[0]}")
            top.press("\033[B", f">{self.cluster.nodes[1]}")
            top.press("\r", "Backspace: all nodes")
            top.press("rq", "")
            self.assertEqual(top.wait_end(), 0)
            self.assertTrue(top.is_restored())
        with typed.Typed(self.cluster, [
                self.penstock, "top", "--cluster", "--config", conf],
                self.owner) as top:
            top.wait_for("train_4")
            top.interrupt()
            self.assertEqual(top.wait_end(), 0)
            self.assertTrue(top.is_restored())

    def test_each_component_of_a_heterogeneous_job_is_a_job(self):
        lead = self.cluster.sbatch(
            "#!/bin/sh\n#SBATCH --loader=auto --job-name=one\n"
            "#SBATCH hetjob\n#SBATCH --job-name=two\nunset PENSTOCK_SOCKET\n"
            "exec srun --loader=auto --het-group=0,1 sh -c '"
            "echo $SLURM_PROCID: $SLURM_JOB_ID $SLURM_JOB_ID_HET_GROUP_1;"
            " exec sleep 600'\n", gpus=0)
        self.addCleanup(self.cluster.cancel, str(lead))
        other = lead + 1
        self.wait("both components' tasks", lambda: [
            [(job["job_id"], job["job_name"])
             for job in self.cluster.status_of(node)["jobs"]]
            for node in self.cluster.nodes] == [[(lead, "one")],
                                                [(other, "two")]])
        self.wait("both to be known", lambda: sorted(
            self.job_ids("jobs", self.owner)) == [lead, other])
        # What the manual says of the numbers in the job.
        self.wait("the tasks' output", lambda: all(
            f"{rank}: {lead} {other}\n" in self.cluster.output(lead)
            for rank in (0, 1)))
        self.cluster.cancel(lead)
        self.wait("both records' ends", lambda: [
            (row["job_id"], row["het_job_id"], row["het_offset"])
            for row in self.ask_json("history", lead)["jobs"]
            if row["state"] == "CANCELLED"] == [(other, lead, 1),
                                                (lead, lead, 0)])
        text = self.ask("history", lead, user=self.owner).stdout
        for name in (f"{lead}+0 ", f"{lead}+1 "):
            self.assertIn(name, text)
        for job, name in ((lead, "one"), (other, "two")):
            report = self.ask_json("report", job, user=self.owner)
            self.assertEqual((report["job_id"], report["job_name"],
                              report["tasks"]), (job, name, 1))

    def test_doctor_asks_munge_and_the_controller(self):
        done = self.ask("doctor", "--json")
        found = {row["check"]: row for row in json.loads(done.stdout)}
        self.assertEqual(found["munge"]["status"], "ok")
        self.assertEqual(found["controller"]["status"], "ok")
        self.assertIn("answers", found["controller"]["found"])
        self.assertEqual(found["penstockd"]["status"], "ok")

    def test_a_node_that_is_off_gives_nothing(self):
        def cores():
            return next(row["loader_cores"]
                        for row in self.ask_json("nodes")["nodes"]
                        if row["node"] == self.cluster.nodes[0])

        self.wait("idle CPUs", lambda: cores() > 0)
        self.addCleanup(self.ask, "on")
        done = self.ask("off")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait("none to be left", lambda: cores() == 0)
        self.assertEqual(self.ask("on").returncode, 0)
        self.wait("them to be back", lambda: cores() > 0)

    def test_where_the_time_of_many_jobs_went(self):
        array = self.cluster.sbatch(
            "#!/bin/sh\nunset PENSTOCK_SOCKET\n"
            "exec srun --loader=auto sleep 5\n", gpus=0,
            flags=["--array=1-2", "--nodes=2", "--ntasks-per-node=1",
                   "--loader=auto", "--job-name==1+1"])
        self.addCleanup(self.cluster.cancel, str(array))
        self.wait("both tasks' records", lambda: sum(
            row["array_job_id"] == array and row["end_unix_s"] is not None
            for row in self.ask_json("history", user=self.owner)["jobs"]) == 2,
            90)

        table = self.ask_json("report", "--array", array, user=self.owner)
        self.assertEqual(table["kind"], "job_stalls")
        self.assertEqual({row["job"] for row in table["jobs"]},
                         {f"{array}_1", f"{array}_2"})
        for row in table["jobs"]:
            self.assertIsNotNone(row["wall_s"], row)
            parts = [row[part + "_s"] or 0 for part in
                     ("compute", "fetch_stall", "prep_stall",
                      "exchange_stall", "unattributed")]
            self.assertAlmostEqual(sum(parts), row["wall_s"], places=3)
            self.assertIsNotNone(row["home_core_s"])
            self.assertEqual(row["ranks"], 2)
        sums = table["totals"]
        self.assertEqual(sums["runs"], 2)
        self.assertAlmostEqual(
            sums["told_gpu_h"] * 3600,
            sum(row["wall_s"] * row["ranks"] for row in table["jobs"]), places=3)

        text = self.ask("report", "--array", array, user=self.owner).stdout
        self.assertIn(f"{array}_*", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        done = self.ask("report", "--since", "1d", "--csv", user=self.owner)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertIn("'=1+1", [row["name"] for row in rows])
        self.assertIn(f"{array}_1", [row["job"] for row in rows])

        for words in (["--array", array], ["--user"], ["--since", "1d"]):
            nothing = self.ask("report", *words, user=self.other)
            self.assertEqual(nothing.returncode, 3)
            self.assertIn("remembers no managed job", nothing.stderr)
        denied = self.ask("report", "--user", self.owner, user=self.other)
        self.assertEqual(denied.returncode, 3)
        self.assertIn("only root and Slurm's operators see other users' jobs",
                      denied.stderr)
        denied = self.ask("report", "--cluster", user=self.owner)
        self.assertEqual(denied.returncode, 3)
        self.assertIn("only root and Slurm's operators see the cluster's "
                      "totals", denied.stderr)

        of_owner = self.ask_json("report", "--user", self.owner)["totals"]
        done = self.ask("report", "--cluster", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        cluster = json.loads(done.stdout)
        self.assertEqual(cluster["totals"]["runs"], of_owner["runs"])
        self.assertAlmostEqual(cluster["totals"]["ran_gpu_h"],
                               of_owner["ran_gpu_h"], places=6)
        for secret in (str(array), "1+1", self.owner):
            self.assertNotIn(f'"{secret}', done.stdout)
            self.assertNotIn(f"{secret}_", done.stdout)


if __name__ == "__main__":
    cluster_case.main()
