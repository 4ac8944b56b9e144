"""Advice before a submission, from the history of real jobs and from the nodes
of a real Slurm."""

import json
import pathlib
import re

import cluster_case
import embedded
import test_nodes

CEILING = 4000  # samples/s; a core makes fewer
SECONDS = 14    # a run's, long enough for figures and a recommendation


class Advise(test_nodes.NodesCase):
    cluster_options = {"nodes": 2, "agent_lines": ("LendIdle=no",),
                       "users": 2}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(
            embedded.build_directory() / "bin" / "penstock")
        cls.conf = cls.cluster.write_login_conf()

    def setUp(self):
        super().setUp()
        profile = pathlib.Path(self.cluster.home(), "p.toml")
        profile.write_text("accelerator_s_per_sample = 0.001\n"
                           "loader_cpu_s_per_sample = 0.0015\n", "utf-8")
        self.model = f"--loader-model={profile}"
        self.plain = self.script("plain.sbatch")

    def script(self, name, *lines, seconds=SECONDS, flags=""):
        """A batch script of the first user's."""
        path = pathlib.Path(self.cluster.home(), name)
        path.write_text("\n".join(
            ["#!/bin/sh", "#SBATCH --loader=auto", *lines,
             f"exec {self.train} --data {self.data} --batch 8 "
             f"--accelerator-s-per-sample {1 / CEILING} --duration {seconds} "
             f"{flags} \"$@\""]) + "\n", "utf-8")
        return str(path)

    def sbatch(self, *words):
        done = self.cluster.command("sbatch", "--parsable", *words,
                                    user=self.cluster.user)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = int(done.stdout.split(";")[0])
        self.addCleanup(self.cluster.cancel, str(job))
        return job, done

    def advise(self, *words, user=None):
        return self.cluster.command(
            self.penstock, "advise", "--config", self.conf, *words,
            user=user or self.cluster.user)

    def advice(self, *words):
        done = self.advise("--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def run_once(self, *words):
        """A job that has ended and whose report is kept."""
        job, _ = self.sbatch(*words)
        self.cluster.wait_job(job)
        said = []

        # Slurm's word that it is complete comes to the history later.
        def is_known():
            done = self.advise("--json", "--", *words)
            said[:] = [done.stdout, done.stderr]
            return (f"job {job}," in done.stdout and
                    json.loads(done.stdout)["choices"][0]["hours"] is not None)

        try:
            self.wait("the job's advice", is_known)
        except embedded.ClusterError as error:
            raise embedded.ClusterError(f"{said}\n{error}") from None
        return job

    def test_the_next_run_is_advised_by_the_last(self):
        self.wait_granted()
        script = self.script("train.sbatch", "#SBATCH --job-name=train_7",
                             "#SBATCH --cpus-per-task=1")
        unknown = self.advise(script)
        self.assertEqual(unknown.returncode, 3, unknown.stdout)
        self.assertIn("nothing is known of it yet", unknown.stderr)
        job = self.run_once(script, "--seed", "1")

        found = self.advice("--", script, "--seed", "22")
        print(self.advise("--", script, "--seed", "22").stdout, flush=True)
        self.assertIn(f"the report of job {job}", found["basis"])
        self.assertEqual(found["notes"], [])
        asked, advised = found["choices"][:2]
        self.assertEqual([asked["what"], advised["what"]], ["asked", "advised"])
        self.assertEqual(asked["cpus_per_task"], 1)
        self.assertGreater(advised["cpus_per_task"], 1)
        self.assertIn(f"#SBATCH --cpus-per-task={advised['cpus_per_task']}",
                      found["lines"])
        self.assertGreater(advised["samples_per_s"]["value"],
                           asked["samples_per_s"]["value"])
        self.assertLess(advised["hours"], asked["hours"])
        self.assertEqual(found["nodes"]["fitting"], 2)

        # Other arguments make another kind, and --like names any job.
        other = self.advice("--", script, "--seed", "other")
        self.assertTrue(any("no run had this script" in note
                            for note in other["notes"]), other["notes"])
        like = self.advice("--like", str(job), "--", "--wrap", "train")
        self.assertEqual(like["lines"], found["lines"])
        # Nobody goes by others' jobs.
        foreign = self.advise("--", script, "--seed", "22",
                              user=self.cluster.users[1])
        self.assertEqual(foreign.returncode, 3, foreign.stdout)
        foreign = self.advise("--like", str(job), script,
                              user=self.cluster.users[1])
        self.assertEqual(foreign.returncode, 3, foreign.stdout)
        self.assertIn("only its user may read its report", foreign.stderr)

    def test_sbatch_prints_the_advice_and_submits(self):
        self.wait_granted()
        script = self.script("print.sbatch", "#SBATCH --cpus-per-task=1")
        job = self.run_once(script)
        folder = pathlib.Path(self.cluster.directory, "path")
        folder.mkdir(mode=0o755)
        program = folder / "penstock"  # with the site's file
        program.write_text("#!/bin/sh\nshift\nexec "
                           f"{self.penstock} advise --config {self.conf} "
                           "\"$@\"\n", "utf-8")
        program.chmod(0o755)
        env = {"PATH": f"{folder}:/usr/bin:/bin"}
        done = self.cluster.command("sbatch", "--loader-advise", script,
                                    user=self.cluster.user, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Submitted batch job", done.stdout)
        self.assertIn("#SBATCH --cpus-per-task=", done.stderr)
        self.assertIn(f"the report of job {job}", done.stderr)
        self.cluster.cancel(done.stdout.split()[-1])

        # The steps of the job say nothing of it.
        nested = pathlib.Path(self.cluster.home(), "nested.sbatch")
        nested.write_text("#!/bin/sh\n#SBATCH --loader-advise\n"
                          "srun echo done\n", "utf-8")
        job, _ = self.sbatch(str(nested))
        self.cluster.wait_job(job)
        self.assertEqual(pathlib.Path(
            self.cluster.home(), f"slurm-{job}.out").read_text("utf-8"),
            "done\n")

        missing = self.cluster.command(
            "sbatch", "--loader-advise", script, user=self.cluster.user,
            env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(missing.returncode, 0, missing.stderr)
        self.assertIn("--loader-advise: penstock: No such file", missing.stderr)
        self.cluster.cancel(missing.stdout.split()[-1])

    def test_requests_that_no_node_fulfils_are_refused(self):
        found = self.advice("--", self.model, self.plain)
        self.assertEqual(found["cpus_per_task"], 2)
        self.assertEqual(found["lines"],
                         ["num_workers=2", "#SBATCH --cpus-per-task=2"])
        for words, why in (
                (["-p", "nowhere"], "there is no such partition; there are "
                                    "main"),
                (["--mem=900T"], "no node of the default partition has"),
                (["--gpus=h100:1"], "of type h100"),
                (["--ntasks-per-node=5000"], "5000 tasks")):
            done = self.advise("--", self.model, *words, self.plain)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(why, done.stderr)

    def test_every_option_of_sbatch_is_known(self):
        text = self.cluster.command("sbatch", "--help").stdout
        options = re.findall(r"^ *(?:-(\w),? +)?--([a-z-]+)", text, re.MULTILINE)
        self.assertGreater(len(options), 90)
        for letter, name in options:
            for word in (f"--{name}", f"-{letter}")[:1 + bool(letter)]:
                needs_value = "requires an argument" in self.cluster.command(
                    "sbatch", word).stderr
                said = self.advise("--", word).stderr
                self.assertEqual("its value is missing" in said, needs_value,
                                 word)
                if not needs_value and name != "exclusive":
                    # An unknown option is named in the advice.
                    found = self.advise("--json", "--", word, self.model,
                                        self.plain)
                    self.assertEqual(found.returncode, 0, found.stderr)
                    self.assertNotIn(f"leaves out {word}\"", found.stdout)


if __name__ == "__main__":
    cluster_case.main()
