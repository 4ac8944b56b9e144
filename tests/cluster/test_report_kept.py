"""Reports that controllers keep: asked for on a machine without penstockd and
without ReportDir."""

import contextlib
import glob
import json
import os
import pathlib
import random
import signal
import sqlite3
import time
import zlib

import cluster_case
import embedded
import test_nodes

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
SOON_S = 5  # after a job's end its report is there
# A packed report of an hour, sampled every second, has 11.1 kB.
HOUR_BYTES = 11_200
STORE_BYTES = 200e6
FIND_S = 0.3
KILLS = int(os.environ.get("PENSTOCK_KILLS", "6"))
TASKS = max(9, KILLS)
ARRAY = int(os.environ.get("PENSTOCK_ARRAY", "10"))


class ReportKept(test_nodes.NodesCase):
    cluster_options = {"nodes": 4, "controllers": 2}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(
            embedded.build_directory() / "bin" / "penstock")
        cls.login = cls.cluster.write_login_conf()

    def report(self, job, *words, before=(), user=None):
        if not before:
            user = user or self.cluster.user
        return self.cluster.command(*before, self.penstock, "report", str(job),
                                    "--config", self.login, *words, user=user)

    def whole(self, job, nodes):
        """The job's report, once it has as many nodes."""
        found = {}

        def is_whole():
            done = self.report(job, "--json")
            if done.returncode != 0:
                return False
            found.update(json.loads(done.stdout))
            return len(found["nodes"] or [found["node"]]) == nodes

        self.wait(f"the report of job {job}", is_whole)
        return found

    def parts_of(self, job):
        """What the nodes wrote into ReportDir."""
        return [json.loads(pathlib.Path(path).read_text("utf-8"))
                for path in sorted(glob.glob(
                    f"{self.cluster.directory}/reports/{job}/*.json"))]

    def waiting_parts(self):
        return glob.glob(f"{self.cluster.directory}/run.*/part.*")

    def run_job(self, name, nodes, seconds=3):
        """A job that has ended."""
        job = self.submit(name, 200, nodes, self.trainer(
            name, 200, self.meeting(), seconds=seconds))
        self.cluster.wait_job(job)
        return job

    def test_a_job_of_several_nodes_is_reported_anywhere(self):
        self.wait_granted()
        job = self.run_job("span", self.cluster.nodes)
        ended = time.monotonic()
        whole = self.whole(job, len(self.cluster.nodes))
        seconds = time.monotonic() - ended
        print(json.dumps({"complete_s": round(seconds, 2)}), flush=True)
        self.check_time(seconds, SOON_S)
        parts = self.parts_of(job)
        for figures in (lambda it: it["quality"]["samples"],
                        lambda it: it["throughput"]["measured"]["value"],
                        lambda it: it["cores"]["used_home"]):
            self.assertAlmostEqual(figures(whole), sum(map(figures, parts)))
        self.wait("all parts to be kept", lambda: not self.waiting_parts())

        refused = self.report(job, before=NOBODY)
        self.assertEqual(refused.returncode, 3, refused.stdout)
        self.assertEqual(len(refused.stderr.strip().splitlines()), 1)
        self.assertIn("only its user may read its report", refused.stderr)
        self.assertEqual(self.report(job, user="root").returncode, 0)
        unknown = self.report(99999)
        self.assertEqual(unknown.returncode, 3, unknown.stderr)
        begun = time.monotonic()
        self.report(job)
        print(json.dumps({"report_s": round(time.monotonic() - begun, 3)}),
              flush=True)

    def test_a_running_job_is_reported_anywhere(self):
        self.wait_granted()
        nodes = self.cluster.nodes
        job = self.submit("running", 200, nodes, self.trainer(
            "running", 200, self.meeting()))
        whole = self.whole(job, len(nodes))
        self.assertTrue(whole["running"])
        self.assertTrue(all(part["running"] for part in whole["nodes"]))
        self.assertGreater(whole["quality"]["samples"], 0)
        self.assertIsNone(whole["end_unix_s"])
        self.assertTrue(any("up to a minute old" in note
                            for note in whole["notes"]), whole["notes"])
        text = self.report(job)
        self.assertIn("running", text.stdout)
        refused = self.report(job, before=NOBODY)
        self.assertEqual(refused.returncode, 3, refused.stdout)
        self.cluster.cancel(str(job))
        self.cluster.wait_empty()

        def has_ended():
            return not self.whole(job, len(nodes))["running"]

        self.wait("the report of the end", has_ended)
        self.wait("all parts to be kept", lambda: not self.waiting_parts())
        ended = self.whole(job, len(nodes))
        self.assertFalse(any("missing" in note or "minute old" in note
                             for note in ended["notes"]), ended["notes"])
        self.assertEqual(
            ended["quality"]["samples"],
            sum(part["quality"]["samples"] for part in self.parts_of(job)))

    # The second node's part never comes: no managed task runs there.
    def test_a_node_without_a_part_is_named(self):
        self.wait_granted()
        first, second = self.cluster.nodes[:2]
        job = self.cluster.sbatch(
            f"#!/bin/sh\nexec {self.train} --data {self.data} --batch 4 "
            "--accelerator-s-per-sample 0.005 --duration 2\n", gpus=0,
            flags=[f"--nodelist={first},{second}", "--nodes=2",
                   "--ntasks-per-node=1", "--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job)
        whole = self.whole(job, 1)
        self.assertTrue(any(note.startswith(f"missing: {second}:")
                            for note in whole["notes"]), whole["notes"])

    def test_a_report_among_ten_thousand_of_an_hour_is_found_at_once(self):
        self.wait_granted()
        job = self.run_job("one", self.cluster.nodes[:1], seconds=1)
        self.whole(job, 1)
        self.wait("all parts to be kept", lambda: not self.waiting_parts())
        for index in (0, 1):
            self.cluster.stop_controller(index)
            self.fill_store(index)
            self.cluster.start_controller(index)
        self.whole(job, 1)
        seconds = []
        for _ in range(9):
            begun = time.monotonic()
            self.assertEqual(self.report(job).returncode, 0)
            seconds.append(time.monotonic() - begun)
        size = os.path.getsize(self.store(0))
        print(json.dumps({"median_s": round(sorted(seconds)[4], 3),
                          "store_mb": round(size / 1e6)}), flush=True)
        self.check_time(sorted(seconds)[4], FIND_S)
        self.assertLess(size, STORE_BYTES)

    # An array of as many tasks, and a job on all nodes, at once.
    def test_reports_are_kept_soon_after_their_ends(self):
        self.wait_granted()
        first = self.run_array(ARRAY)
        wide = self.run_job("wide", self.cluster.nodes)
        self.wait("the array's end", lambda: not self.cluster.squeue(), 300)
        self.wait("all parts to be kept", lambda: not self.waiting_parts(), 60)
        with contextlib.closing(sqlite3.connect(self.store(0))) as store:
            rows = store.execute(
                "SELECT job_id, kept_unix_s, packed FROM reports WHERE job_id "
                ">= ? AND job_id <= ?", (first, wide + ARRAY)).fetchall()
        ages = sorted(kept - json.loads(zlib.decompress(packed))["end_unix_s"]
                      for _, kept, packed in rows)
        self.assertEqual(len({job for job, _, _ in rows}), ARRAY + 1)
        self.assertEqual(sum(job == wide for job, _, _ in rows),
                         len(self.cluster.nodes))
        p99 = ages[int(0.99 * (len(ages) - 1))]
        print(json.dumps({"reports": len(ages), "p99_s": round(p99, 2),
                          "median_s": round(ages[len(ages) // 2], 2)}),
              flush=True)
        self.check_time(p99, SOON_S)

    def run_array(self, tasks):
        """Submits it; its id."""
        script = (f"#!/bin/sh\nexec {self.train} --data {self.data} --batch 4 "
                  "--accelerator-s-per-sample 0.005 --duration 1\n")
        array = self.cluster.sbatch(
            script, gpus=0, flags=[f"--array=1-{tasks}", "--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(array))
        return array

    def store(self, index):
        return f"{self.cluster.state_of_controller(index)}/history.sqlite"

    def fill_store(self, index):
        """Reports of other jobs; only their size matters."""
        with contextlib.closing(sqlite3.connect(self.store(index))) as store:
            with store:
                store.executemany(
                    "INSERT INTO reports (job_id, node, started_unix_s, "
                    "updated_unix_s, uid, kept_unix_s, packed) "
                    "VALUES (?, 'n', 1, 2, 4711, ?, ?)",
                    ((number, time.time(), os.urandom(HOUR_BYTES))
                     for number in range(1_000_000, 1_010_000)))
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # A node without the batch script reports at the end of each step.
    def test_the_last_step_of_a_node_counts(self):
        self.wait_granted()
        first, second = self.cluster.nodes[:2]
        step = (f"srun --nodelist={second} --nodes=1 --ntasks=1 --loader=auto "
                f"{self.train} --data {self.data} --batch 4 "
                "--accelerator-s-per-sample 0.005 --duration 1\n")
        job = self.cluster.sbatch(
            "#!/bin/sh\nunset PENSTOCK_SOCKET\n" + 3 * step, gpus=0,
            flags=[f"--nodelist={first},{second}", "--nodes=2",
                   "--ntasks-per-node=1", "--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job)
        self.wait("all parts to be kept", lambda: not self.waiting_parts())
        written = {part["node"]: part for part in self.parts_of(job)}
        self.assertGreater(written[second]["quality"]["samples"], 0)
        whole = self.whole(job, 2)
        self.assertEqual(whole["quality"]["samples"],
                         sum(part["quality"]["samples"]
                             for part in written.values()))

    def test_a_report_outlives_absent_controllers_and_a_killed_penstockd(self):
        self.wait_granted()
        node = self.cluster.nodes[0]
        for index in (0, 1):
            self.cluster.stop_controller(index, signal.SIGKILL)
        job = self.run_job("unheard", [node])
        self.wait("a part to wait", self.waiting_parts)
        alone = self.report(job)
        self.assertNotEqual(alone.returncode, 0)
        self.assertIn("cannot be reached", alone.stderr)
        self.cluster.stop_agent_of(node, signal.SIGKILL)
        self.cluster.start_agent_of(node)
        self.cluster.start_controller(1)
        self.assertEqual(self.whole(job, 1)["node"], node)
        self.assertTrue(self.waiting_parts())  # the other lacks it
        self.cluster.start_controller(0)
        self.wait("all parts to be kept", lambda: not self.waiting_parts())
        self.cluster.stop_controller(1, signal.SIGKILL)
        self.assertEqual(self.whole(job, 1)["node"], node)
        self.cluster.start_controller(1)

    def test_no_report_is_lost_while_controllers_are_killed(self):
        self.wait_granted()
        seed = random.randrange(2**32)
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        array = self.run_array(TASKS)
        for _ in range(KILLS):
            index = chance.randrange(2)
            time.sleep(chance.uniform(0, 0.5))  # at any moment of their work
            self.cluster.stop_controller(index, signal.SIGKILL)
            self.cluster.start_controller(index)
        self.wait("the array to end", lambda: not self.cluster.squeue(),
                  60 + 2 * TASKS)
        for task in range(1, TASKS + 1):
            self.whole(f"{array}_{task}", 1)
        self.wait("all parts to be kept", lambda: not self.waiting_parts())


main = cluster_case.main

if __name__ == "__main__":
    main()
