"""job_submit_penstock.so in a real slurmctld: rejected jobs, additions to
jobs, and Slurm's handling of them."""

import re

import cluster_case
import submit_case
from submit_case import MIB, SubmitCase
from test_plugin_flags import BAD, variable


def asked_cpus(count):
    """Matches a job's line of scontrol; 22.05 has gres:, 24.11 gres/."""
    return f"gres[:/]loader_cpu:{count}\\b"


class Refused(SubmitCase):
    """Clients whose own plugin does not check options: slurmctld does."""

    cluster_options = dict(SubmitCase.cluster_options,
                           plugin_arguments=["max_weight=1000"])

    def check_refused(self, done, text):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"penstock: {text}", done.stderr)
        self.assertIn("Invalid argument", done.stderr)
        self.assertEqual(self.cluster.squeue(), [])

    def test_flags(self):
        text = ("--loader-weight=5: not valid; allowed: 0.001 to the MaxWeight "
                "that the admin set (1)")
        flag = "--loader-weight=5"
        self.check_refused(self.cluster.try_sbatch("#!/bin/sh\n",
                                                   flags=[flag]), text)
        self.check_refused(self.cluster.try_sbatch(
            "#!/bin/sh\n", flags=[flag, "--export=NONE"]), text)
        self.check_refused(self.cluster.try_sbatch(
            f"#!/bin/sh\n#SBATCH {flag}\n"), text)
        self.check_refused(self.cluster.srun("true", flags=[flag]), text)
        self.check_refused(self.cluster.command(
            "salloc", flag, "true", user=self.cluster.user), text)

    def test_variables_of_srun_and_salloc(self):
        env = {"PENSTOCK_LOADER_WEIGHT": "5"}
        text = "PENSTOCK_LOADER_WEIGHT=5: not valid; allowed: "
        self.check_refused(self.cluster.srun("true", env=env), text)
        self.check_refused(self.cluster.command(
            "salloc", "true", user=self.cluster.user, env=env), text)

    def test_the_table_of_a_het_job_names_the_component(self):
        done = self.cluster.try_sbatch(
            "#!/bin/sh\n#SBATCH hetjob\n#SBATCH --loader-weight=5\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("1: penstock: --loader-weight=5", done.stderr)


class RefusedWithoutClient(SubmitCase):
    cluster_options = dict(SubmitCase.cluster_options, plugin=False)

    def test_every_variable(self):
        for name, (value, allowed) in BAD.items():
            if value == "nosuchmodel":
                continue  # only the client can see the profiles
            with self.subTest(name):
                done = self.cluster.try_sbatch(
                    "#!/bin/sh\n", env={variable(name): value})
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"penstock: {variable(name)}={value}"[:60],
                              done.stderr)
                # This site's MaxWeight is 1.
                self.assertIn(allowed.replace("(2)", "(1)"), done.stderr)
        self.assertEqual(self.cluster.squeue(), [])

    def test_a_good_variable(self):
        job = self.held(env={"PENSTOCK_LOADER_MODEL": "res50"})
        self.assertEqual(self.gres(job),
                         {"gpu": 1, "loader_cpu": 2, "loader_bw": 50})


class Amounts(SubmitCase):
    def test_a_job_that_did_not_ask_is_left_alone(self):
        self.assertEqual(self.gres(self.held()), {"gpu": 1})
        self.assertEqual(self.gres(self.held("--loader=off")), {"gpu": 1})
        told = self.reader.next()
        self.assertEqual((told.managed, told.loader_cpu, told.gpus_per_node),
                         (0, 0, 1))

    def test_a_guest_takes_what_is_left(self):
        model = "--loader-model=res50"
        self.assertEqual(self.gres(self.held(model, gpus=0)),
                         {"loader_cpu": 2, "loader_bw": 50})
        self.assertEqual(self.gres(self.held(model, "--loader=guest", gpus=0)),
                         {})
        # A job with a GPU is none.
        self.assertEqual(self.gres(self.held(model, "--loader=guest")),
                         {"gpu": 1, "loader_cpu": 2, "loader_bw": 50})

    def test_a_model_and_any_other(self):
        self.assertEqual(self.gres(self.held("--loader-model=res50")),
                         {"gpu": 1, "loader_cpu": 2, "loader_bw": 50})
        self.assertEqual(self.gres(self.held("--loader-model=alexnet")),
                         {"gpu": 1, "loader_cpu": 1, "loader_bw": 20})
        self.assertEqual(self.gres(self.held("--loader=auto")),
                         {"gpu": 1, "loader_cpu": 1, "loader_bw": 20})

    def test_by_the_gpus_however_they_are_asked_for(self):
        for flags, gpus in ((["--gpus-per-node=2"], 0), (["--gpus=2", "-N1"], 0),
                            (["-n2", "--gpus-per-task=1", "-N1"], 0), ([], 2)):
            with self.subTest(flags):
                found = self.gres(self.held("--loader-model=res50", *flags,
                                            gpus=gpus))
                self.assertEqual((found["loader_cpu"], found["loader_bw"]),
                                 (3, 100))

    def test_at_most_what_a_node_has(self):
        found = self.gres(self.held("--loader-model=heavy", gpus=2))
        self.assertEqual((found["loader_cpu"], found["loader_bw"]), (4, 400))

    def test_a_rate_of_the_users_own(self):
        found = self.gres(self.held("--loader-model=res50", "--loader-bw=70M"))
        self.assertEqual((found["loader_cpu"], found["loader_bw"]), (2, 70))

    def test_a_count_of_the_users_own_stands(self):
        job = self.held("--loader-model=res50", "--gres=gpu:1,loader_cpu:1",
                        gpus=0)
        self.assertEqual(self.gres(job), {"gpu": 1, "loader_cpu": 1})

    def test_export_none(self):
        found = self.gres(self.held("--loader-model=res50", "--export=NONE"))
        self.assertEqual(found["loader_cpu"], 2)

    def test_srun_and_salloc(self):
        env = {"PENSTOCK_LOADER_MODEL": "res50"}
        for flags, given in ((["--loader-model=res50"], None), ([], env)):
            with self.subTest(flags):
                show = ["sh", "-c", "scontrol -o show job $SLURM_JOB_ID"]
                done = self.cluster.srun(*show, flags=flags, env=given)
                self.assertRegex(done.stdout, asked_cpus(2), done.stderr)
                done = self.cluster.command(
                    "salloc", "--gres=gpu:1", *flags, *show, env=given,
                    user=self.cluster.user)
                self.assertRegex(done.stdout, asked_cpus(2), done.stderr)

    def test_arrays(self):
        job = self.held("--loader-model=res50", "--array=1-2")
        self.cluster.command("scontrol", "release", job)
        self.wait_for("both to end", lambda: not self.cluster.squeue())
        done = self.cluster.command("scontrol", "-o", "show", "job", job)
        self.assertEqual(len(re.findall(asked_cpus(2), done.stdout)), 2,
                         done.stdout)

    def test_het_jobs(self):
        done = self.cluster.try_sbatch(
            "#!/bin/sh\n#SBATCH --hold --gres=gpu:1 --loader-model=res50\n"
            "#SBATCH hetjob\n#SBATCH --gres=gpu:2\n",
            gpus=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.cluster.command("scontrol", "-o", "show", "job",
                                    done.stdout.strip()).stdout
        # Slurm 22.05 passes the first component's flags to the others.
        self.assertEqual(re.findall(r"loader_cpu:(\d)", text), ["2", "3"])

    def test_requeue(self):
        job = self.cluster.sbatch("#!/bin/sh\nsleep 60\n",
                                  flags=["--loader-model=res50"])
        self.cluster.wait_job(job, "RUNNING")
        self.cluster.command("scontrol", "requeuehold", job)
        self.wait_for("the job to be held", lambda: self.cluster.job(job)[
            "JobState"] in ("PENDING", "SPECIAL_EXIT"))
        self.assertEqual(self.gres(job)["loader_cpu"], 2)


class Told(SubmitCase):
    def test_what_penstockctld_hears(self):
        self.held("--loader-model=res50", "--loader-batch=32", "--job-name=näme",
                  "--time=90", "-N1", "-n2", "-c1")
        told = self.reader.next()
        self.assertEqual(
            (told.kind, told.job_id, told.managed, told.gpus_per_node,
             told.nodes, told.tasks_per_node, told.cpus_per_task,
             told.time_limit_min, told.loader_cpu, told.loader_bw_mib_s,
             told.job_name, told.model, told.batch),
            (submit_case.SUBMITTED, 0, 1, 1, 1, 2, 1, 90, 2, 50, "n??me",
             "res50", 32))

    def test_hooks_are_counted(self):
        first = [self.held() and self.reader.next() for _ in range(3)]
        self.assertEqual([it.number - first[0].number for it in first],
                         [0, 1, 2])
        self.assertEqual([it.hooks - first[0].hooks for it in first],
                         [0, 1, 2])


class Placement(SubmitCase):
    def test_jobs_that_cannot_be_fed_together_are_not_stacked(self):
        if self.cluster.cpus < 2:
            self.skipTest("two CPUs are needed")
        script = "#!/bin/sh\nsleep 120\n"
        flags = ["--loader-model=heavy"]
        first = self.cluster.sbatch(script, flags=flags)
        self.cluster.wait_job(first, "RUNNING")
        second = self.cluster.sbatch(script, flags=flags)
        unmanaged = self.cluster.sbatch(script)
        self.cluster.wait_job(unmanaged, "RUNNING")
        self.assertEqual(self.cluster.job(second)["JobState"], "PENDING")
        self.cluster.cancel(unmanaged)
        self.wait_for("Slurm to say why", lambda: self.cluster.job(second)[
            "Reason"] == "Resources")
        self.cluster.cancel(first)
        self.cluster.wait_job(second, "RUNNING")

    def test_jobs_that_can_are(self):
        script = "#!/bin/sh\nsleep 120\n"
        jobs = [self.cluster.sbatch(script, flags=["--loader-model=res50"])
                for _ in range(2)]
        for job in jobs:
            self.cluster.wait_job(job, "RUNNING")


# Each step waits until the other one runs, or fails.
TOGETHER = """#!/bin/sh
#SBATCH -n2
cd "$SLURM_SUBMIT_DIR"
rm -f step.a step.b
meet='PATH=/usr/bin:/bin; touch step.$0; i=0
while [ ! -e step.$1 ]; do i=$((i+1)); [ $i -lt 150 ] || exit 9; sleep 0.1; done
echo $0 met $1, gpus $SLURM_STEP_GPUS'
{srun} /bin/sh -c "$meet" a b &
first=$!
{srun} /bin/sh -c "$meet" b a
second=$?
wait $first && exit $second
"""


class Steps(SubmitCase):
    def run_together(self, srun, *flags, gpus=0):
        if self.cluster.cpus < 2:
            self.skipTest("two CPUs are needed")
        job = self.cluster.sbatch(TOGETHER.replace("{srun}", srun),
                                  flags=["--loader-model=heavy", *flags],
                                  gpus=gpus)
        # Slurm retries a delayed step after a minute.
        self.cluster.wait_job(job, timeout=60)
        return self.cluster.output(job)

    def test_parallel_steps_of_a_job_without_gpus(self):
        job = self.held("--loader-model=heavy", gpus=0)
        self.assertEqual(self.gres(job)["loader_cpu"], 3)
        for flags in ([], ["--export=NONE"]):
            with self.subTest(flags):
                text = self.run_together("/usr/bin/srun -n1 --exact", *flags)
                self.assertIn("a met b", text)

    def test_parallel_steps_with_a_gpu_each(self):
        for srun in ("srun -n1 --exact --gres=gpu:1",
                     "srun -n1 --exact --gpus=1"):
            with self.subTest(srun):
                text = self.run_together(srun, gpus=2)
                self.assertEqual(sorted(re.findall("gpus ([01])", text)),
                                 ["0", "1"])

    def test_overlapping_steps_share_the_gpus(self):
        text = self.run_together("srun -n1 --overlap", gpus=1)
        self.assertEqual(re.findall("gpus ([01])", text), ["0", "0"])

    def test_a_step_without_wishes_gets_the_jobs_gpus(self):
        job = self.cluster.sbatch(
            "#!/bin/sh\nsrun sh -c 'echo gpus $SLURM_STEP_GPUS'\n", gpus=2,
            flags=["--loader-model=heavy"])
        self.cluster.wait_job(job)
        self.assertIn("gpus 0,1", self.cluster.output(job))

    def test_variable_of_the_users_own_stands(self):
        job = self.cluster.sbatch(
            "#!/bin/sh\necho $SLURM_GRES\n", gpus=0,
            env={"SLURM_GRES": "gpu:0"}, flags=["--loader-model=heavy"])
        self.cluster.wait_job(job)
        self.assertEqual(self.cluster.output(job).strip(), "gpu:0")


class Updates(SubmitCase):
    def update(self, job, *settings):
        done = self.cluster.command("scontrol", "update", f"jobid={job}",
                                    *settings, user=self.cluster.user)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_gres_follow_the_gpus_of_a_known_job(self):
        job = self.held("--loader-model=res50")
        self.publish(f"--job={job}:1500:{50 * MIB}")
        self.addCleanup(self.publish)
        self.update(job, "gres=gpu:2")
        self.assertEqual(self.gres(job),
                         {"gpu": 2, "loader_cpu": 3, "loader_bw": 100})
        self.assertEqual(self.reader.next().kind, submit_case.SUBMITTED)
        told = self.reader.next()
        self.assertEqual((told.kind, told.job_id, told.loader_cpu),
                         (submit_case.MODIFIED, job, 3))

    def test_array(self):
        job = self.held("--loader-model=res50", "--array=1-2")
        self.publish(f"--job={job}:1500:{50 * MIB}")
        self.addCleanup(self.publish)
        self.update(f"{job}", "gres=gpu:2")
        text = self.cluster.command("scontrol", "-o", "show", "job",
                                    job).stdout
        self.assertRegex(text, asked_cpus(3))

    def test_a_job_that_is_not_known_is_left_alone(self):
        job = self.held()
        self.update(job, "gres=gpu:2")
        self.assertEqual(self.gres(job), {"gpu": 2})

    def test_counts_of_the_users_own_stand(self):
        job = self.held("--loader-model=res50")
        self.publish(f"--job={job}:1500:{50 * MIB}")
        self.addCleanup(self.publish)
        self.update(job, "gres=gpu:2,loader_cpu:1")
        self.assertEqual(self.gres(job)["loader_cpu"], 1)

    def test_other_updates_change_no_gres(self):
        job = self.held("--loader-model=res50")
        before = self.gres(job)
        self.update(job, "name=other", "comment=mine")
        self.assertEqual(self.gres(job), before)

    def test_updated_jobs_are_not_stacked(self):
        if self.cluster.cpus < 2:
            self.skipTest("two CPUs are needed")
        script = "#!/bin/sh\nsleep 120\n"
        first = self.cluster.sbatch(script, flags=["--loader-model=heavy"])
        self.cluster.wait_job(first, "RUNNING")
        job = self.held("--loader-model=heavy", script=script, gpus=2)
        self.publish(f"--job={job}:3000:{300 * MIB}")
        self.addCleanup(self.publish)
        self.update(job, "gres=gpu:1")
        self.cluster.command("scontrol", "release", job)
        self.wait_for("Slurm to say why", lambda: self.cluster.job(job)[
            "Reason"] == "Resources")
        self.cluster.cancel(first)
        self.cluster.wait_job(job, "RUNNING")


class AllJobs(SubmitCase):
    """Default=auto, a demand of twice the node's capacity, comments."""

    cluster_options = dict(SubmitCase.cluster_options, submit=(
        *submit_case.SUBMIT_CONF, "Default=auto", "SubmitOvercommit=2",
        "SubmitComment=comment"))

    def test_every_job_but_those_that_say_off(self):
        self.assertEqual(self.gres(self.held(gpus=2)),
                         {"gpu": 2, "loader_cpu": 1, "loader_bw": 20})
        self.assertEqual(self.gres(self.held("--loader=off")), {"gpu": 1})
        self.assertEqual(self.gres(self.held(gpus=0)), {})

    def test_overcommit(self):
        found = self.gres(self.held("--loader-model=heavy"))
        self.assertEqual((found["loader_cpu"], found["loader_bw"]), (2, 150))

    def test_an_update_of_a_job_that_is_not_to_be_managed(self):
        job = self.held("--loader=off")
        self.cluster.command("scontrol", "update", f"jobid={job}", "gres=gpu:2")
        self.assertEqual(self.gres(job), {"gpu": 2})

    def comment(self, *flags):
        text = self.cluster.command("scontrol", "show", "job",
                                    self.held(*flags)).stdout
        return re.search(r"\n   Comment=(.*)", text).group(1).strip()

    def test_comment(self):
        self.assertEqual(
            self.comment("--loader-model=res50"),
            "penstock: res50 per GPU, 700 [350, 1.4e+03] samples/s, 1.5 "
            "[0.75, 3] loader cores, 50 [25, 100] MiB/s")
        self.assertTrue(self.comment("--loader-model=res50", "--comment=mine")
                        .startswith("mine; penstock: res50 per GPU"))
        long = "x" * 1000
        self.assertEqual(self.comment(f"--comment={long}"), long)


class AdminComment(SubmitCase):
    cluster_options = dict(SubmitCase.cluster_options, submit=(
        *submit_case.SUBMIT_CONF, "SubmitComment=admin_comment"))

    def test_admin_comment(self):
        text = self.cluster.command("scontrol", "show", "job", self.held(
            "--loader-model=res50")).stdout
        self.assertRegex(text, r"AdminComment=penstock: res50 per GPU")
        self.assertNotRegex(text, r"\n   Comment=")


if __name__ == "__main__":
    cluster_case.main()
