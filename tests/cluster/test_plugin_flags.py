"""--loader-* flags and PENSTOCK_* variables in srun, sbatch and salloc:
shown, accepted and rejected values. A penstockd that only listens receives
the values that arrive on the node."""

import os
import pathlib
import re

import cluster_case
import protocol
from fake_agent import FakeAgent

NAMES = ["loader", "loader-threads", "loader-bw", "loader-model",
         "loader-batch", "loader-weight", "loader-match", "loader-share",
         "loader-watch", "loader-elastic", "loader-report"]
BAD = {  # flag: (bad value, words of the allowed values)
    "loader": ("yes", "auto, off or guest"),
    "loader-threads": ("abc", "1 to 4096, or auto"),
    "loader-bw": ("fast", "200M, or auto"),
    "loader-model": ("nosuchmodel", "res50"),
    "loader-batch": ("0", "1 to 1000000"),
    "loader-weight": ("2.5", "(2)"),
    "loader-match": ("x" * 64, "1 to 63 printable"),
    "loader-share": (".x", "no dot in front"),
    "loader-watch": ("on", "auto or off"),
    "loader-elastic": ("yes", "exact, seeded or off"),
    "loader-report": ("html", "text, json or none"),
}


def variable(flag):
    return "PENSTOCK_" + flag.upper().replace("-", "_")


class FlagsCase(cluster_case.ClusterCase):
    cluster_options = {"plugin_arguments": ["max_weight=2",
                                            "hook_dir=/opt/hook",
                                            "elastic=exact"]}

    def setUp(self):
        super().setUp()
        self.agent = FakeAgent(self.cluster.socket_path)
        self.addCleanup(self.agent.close)

    def start_of(self, **fields):
        return self.agent.wait_for(protocol.TASK_START, **fields)[0]

    def batch_script(self, lines, flags=(), **options):
        """Runs a batch script of these lines; returns its job id."""
        job = self.cluster.sbatch("\n".join(["#!/bin/sh", *lines]),
                                  flags=flags, **options)
        self.cluster.wait_job(job)
        return job


class Help(FlagsCase):
    def test_order_and_width(self):
        for command in ("srun", "sbatch", "salloc"):
            text = self.cluster.command(command, "--help").stdout
            text = text.split("Options provided by plugins:\n")[1]
            text = text.split("\nGPU scheduling options:")[0]
            self.assertEqual(re.findall(r"^ +--(loader[a-z-]*)", text, re.M),
                             [*NAMES, "loader-advise"])
            self.assertEqual(text.count("[penstock]"), len(NAMES) + 1)
            self.assertLess(max(map(len, text.splitlines())), 80, text)


class Accepted(FlagsCase):
    def test_each_flag_arrives(self):
        self.cluster.srun("true", flags=[
            "--loader=auto", "--loader-threads=3", "--loader-bw=1.5M",
            "--loader-model=res50", "--loader-batch=32", "--loader-weight=2",
            "--loader-match=dali*", "--loader-report=json",
            "--loader-share=search", "--loader-elastic=seeded"])
        start = self.start_of()
        self.assertEqual(
            (start.mode, start.threads, start.threads_auto,
             start.bw_bytes_per_s, start.bw_auto, start.model, start.batch,
             start.weight_milli, start.match, start.report_format,
             start.share, start.elastic),
            (protocol.MODE_AUTO, 3, 0, 1572864, 0, "res50", 32, 2000, "dali*",
             protocol.REPORT_JSON, "search", 2))

    def test_no_flag_no_wish(self):
        self.cluster.srun("true")
        start = self.start_of()
        self.assertEqual(
            (start.mode, start.threads, start.threads_auto,
             start.bw_bytes_per_s, start.bw_auto, start.model, start.batch,
             start.weight_milli, start.match, start.report_format),
            (0, 0, 0, 0, 0, "", 0, 0, "", 0))

    def test_sbatch_flag_directive_and_nested_srun(self):
        job = self.batch_script(["#SBATCH --loader-threads=5",
                                 "srun true", "srun --loader-threads=6 true"],
                                flags=["--loader-batch=7"])
        found = [(start.step_id, start.threads, start.batch)
                 for start in self.agent.wait_for(protocol.TASK_START, 3,
                                                  job_id=job)]
        self.assertEqual(found, [(protocol.BATCH_STEP, 5, 7), (0, 5, 7),
                                 (1, 6, 7)])

    def python_path(self, *flags, **env):
        """PYTHONPATH of a task; "": not set."""
        done = self.cluster.srun("sh", "-c", "echo $PYTHONPATH", flags=flags,
                                 env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_hook_leads_the_python_path_of_watched_jobs(self):
        self.assertEqual(self.python_path("--loader=auto"), "/opt/hook")
        self.assertEqual(self.python_path("--loader-watch=auto",
                                          PYTHONPATH="/a:/b"),
                         "/opt/hook:/a:/b")
        long = "/" + 20000 * "x"
        self.assertEqual(self.python_path("--loader=auto", PYTHONPATH=long),
                         f"/opt/hook:{long}")

    def test_jobs_that_are_not_watched_keep_their_python_path(self):
        for flags in ((), ("--loader=off",), ("--loader=off",
                                              "--loader-watch=auto"),
                      ("--loader=auto", "--loader-watch=off")):
            with self.subTest(flags):
                self.assertEqual(self.python_path(*flags, PYTHONPATH="/a"),
                                 "/a")
        self.assertEqual(self.python_path(
            "--loader=auto", PENSTOCK_LOADER_WATCH="off"), "")

    def test_an_inherited_hook_is_not_repeated(self):
        home = pathlib.Path(self.cluster.home())
        self.batch_script([f"echo $PYTHONPATH > {home}/batch",
                           f"srun sh -c 'echo $PYTHONPATH > {home}/step'"],
                          ["--loader=auto"])
        self.assertEqual([(home / name).read_text()
                          for name in ("batch", "step")], ["/opt/hook\n"] * 2)

    def test_a_share_reaches_the_job(self):
        """The loader finds the name in its environment, also in the steps of
        a batch script; the flag precedes the variable."""
        show = "printenv PENSTOCK_LOADER_SHARE"
        done = self.cluster.srun("sh", "-c", show,
                                 env={"PENSTOCK_LOADER_SHARE": "other"},
                                 flags=["--loader-share=search"])
        self.assertEqual(done.stdout, "search\n", done.stderr)
        self.assertEqual(self.start_of().share, "search")
        home = pathlib.Path(self.cluster.home())
        self.batch_script([f"{show} > {home}/batch", f"srun sh -c '{show}' > {home}/step"],
                          ["--loader-share=search2"])
        self.assertEqual([(home / name).read_text() for name in ("batch", "step")],
                         ["search2\n"] * 2)

    def elastic(self, *flags, **env):
        """What the job's Python finds; "": nothing."""
        done = self.cluster.srun(
            "sh", "-c", "echo $PENSTOCK_LOADER_ELASTIC", flags=flags, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_the_choice_of_elastic_workers_reaches_the_job(self):
        self.assertEqual(self.elastic("--loader-elastic=seeded"), "seeded")
        self.assertEqual(self.start_of().elastic, 2)
        self.assertEqual(self.elastic("--loader-elastic=off",
                                      PENSTOCK_LOADER_ELASTIC="seeded"), "off")
        self.assertEqual(self.elastic("--loader=auto",
                                      PENSTOCK_LOADER_ELASTIC="seeded"),
                         "seeded")

    def test_the_sites_choice_is_for_watched_jobs_that_choose_nothing(self):
        self.assertEqual(self.elastic("--loader=auto"), "exact")
        for flags in ((), ("--loader=off",), ("--loader-watch=off",)):
            self.assertEqual(self.elastic(*flags), "")

    def test_export_none_keeps_the_flags(self):
        job = self.batch_script(["/usr/bin/srun /bin/true"],
                                ["--loader-threads=5", "--export=NONE"])
        found = [(start.step_id, start.threads) for start in
                 self.agent.wait_for(protocol.TASK_START, 2, job_id=job)]
        self.assertEqual(found, [(protocol.BATCH_STEP, 5), (0, 5)])

    def test_salloc(self):
        done = self.cluster.command("salloc", "--loader-threads=2", "srun",
                                    "true", user=self.cluster.user)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.start_of().threads, 2)

    def test_variables_and_flags_win(self):
        wishes = {"PENSTOCK_LOADER_THREADS": "4", "PENSTOCK_LOADER_BW": "1K"}
        self.cluster.srun("true", env=wishes, flags=["--loader-threads=auto"])
        start = self.start_of()
        self.assertEqual((start.threads, start.threads_auto,
                          start.bw_bytes_per_s), (0, 1, 1024))

    def test_variables_in_a_batch_script(self):
        job = self.batch_script(["PENSTOCK_LOADER_THREADS=9 srun true"],
                                env={"PENSTOCK_LOADER_THREADS": "8"})
        found = [start.threads for start in
                 self.agent.wait_for(protocol.TASK_START, 2, job_id=job)]
        self.assertEqual(found, [8, 9])


class Models(FlagsCase):
    def setUp(self):
        super().setUp()
        home = pathlib.Path(self.cluster.home())
        (home / "p.toml").write_text("", "utf-8")
        (home / "elsewhere").mkdir(exist_ok=True)
        self.path = f"{home}/./p.toml"

    def test_relative_path_becomes_absolute(self):
        for number, extra in enumerate(([], ["--export=NONE"]), 1):
            done = self.cluster.srun("/usr/bin/env", flags=[
                "--loader-model=./p.toml", *extra])
            self.assertNotIn("PENSTOCK_MODEL", done.stdout)
            *_, start = self.agent.wait_for(protocol.TASK_START, number)
            self.assertEqual(start.model, self.path)

    def test_relative_path_in_a_variable(self):
        self.cluster.srun("true", env={"PENSTOCK_LOADER_MODEL": "./p.toml"})
        self.assertEqual(self.start_of().model, self.path)

    def test_relative_path_for_steps_elsewhere(self):
        for extra in ([], ["--export=NONE"]):
            job = self.batch_script(
                ["cd elsewhere", "/usr/bin/srun /bin/true"],
                flags=["--loader-model=./p.toml", *extra])
            found = {start.model for start in self.agent.wait_for(
                protocol.TASK_START, 2, job_id=job)}
            self.assertEqual(found, {self.path})

    def test_a_profile_of_the_site(self):
        profile = pathlib.Path(self.cluster.directory, "profiles/mine.json")
        profile.write_text("{}", "utf-8")
        self.addCleanup(os.unlink, profile)
        self.cluster.srun("true", flags=["--loader-model=mine"])
        self.assertEqual(self.start_of().model, "mine")

    def test_what_is_no_readable_file_is_refused(self):
        secret = pathlib.Path(self.cluster.directory, "munge.key")
        for model in ("./missing.toml", "./elsewhere", str(secret)):
            done = self.cluster.srun("true", flags=[f"--loader-model={model}"])
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"--loader-model={model}: ", done.stderr)


class Refused(FlagsCase):
    def check_refused(self, done, name, value, allowed):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{name}={value}"[:60], done.stderr)
        self.assertIn(allowed, done.stderr)
        self.assertEqual(self.agent.records(protocol.TASK_START), [])

    def jobs_so_far(self):
        return re.findall(r"JobId=(\d+)", self.cluster.command(
            "scontrol", "-o", "show", "jobs").stdout)

    def test_flags(self):
        before = self.jobs_so_far()
        for name, (value, allowed) in BAD.items():
            with self.subTest(name):
                flag = f"--{name}={value}"
                self.check_refused(self.cluster.srun("true", flags=[flag]),
                                   f"--{name}", value, allowed)
                self.check_refused(
                    self.cluster.try_sbatch(f"#!/bin/sh\n#SBATCH {flag}\n"),
                    f"--{name}", value, allowed)
                self.check_refused(
                    self.cluster.command("salloc", flag, "true",
                                         user=self.cluster.user),
                    f"--{name}", value, allowed)
        self.assertEqual(self.jobs_so_far(), before)

    def test_variables(self):
        before = self.jobs_so_far()
        for name, (value, allowed) in BAD.items():
            with self.subTest(name):
                env = {variable(name): value}
                self.check_refused(self.cluster.srun("true", env=env),
                                   variable(name), value, allowed)
                self.check_refused(
                    self.cluster.try_sbatch("#!/bin/sh\n", env=env),
                    variable(name), value, allowed)
        self.assertEqual(self.jobs_so_far(), before)

    def test_bad_variables_that_only_the_node_sees(self):
        job = self.batch_script(
            ["true"], flags=["--export=ALL,PENSTOCK_LOADER_THREADS=x,"
                             "PENSTOCK_LOADER_MODEL=./here.toml,"
                             "PENSTOCK_LOADER_BATCH=8"])
        start = self.start_of(job_id=job)
        self.assertEqual((start.threads, start.model, start.batch),
                         (0, "", 8))
        log = self.cluster.logs("slurmd", lines=1000)
        self.assertIn("left out: PENSTOCK_LOADER_THREADS=x", log)
        self.assertIn("left out: model ./here.toml", log)


if __name__ == "__main__":
    cluster_case.main()
