"""packaging/slurm/penstock-epilog as EpilogSlurmctld of a real slurmctld: a
real slurmdbd keeps the reports' summaries as admin comments."""

import json
import shutil
import sys

import cluster_case
import embedded
import slurm_scripts
import test_nodes
import test_operators

SOON_S = 60


class CommentCluster(test_operators.AccountingCluster):
    def write_files(self):
        super().write_files()
        folder = slurm_scripts.install(self, "EpilogSlurmctld",
                                       "penstock-epilog")
        self.penstock = folder / "penstock"
        self.comment = self.expose(
            embedded.build_directory() / "bin" / "penstock-comment")
        slurm_scripts.write(folder / "penstock-comment",
                            f"exec {self.comment} \"$@\"")

    def comments(self, job):
        """{number of a job or task: its admin comment}"""
        shown = self.command("sacct", "-n", "-P", "-X", "-o",
                             "JobID,AdminComment", "-j", str(job)).stdout
        return dict(line.split("|", 1) for line in shown.splitlines())


class Comment(test_nodes.NodesCase):
    cluster_class = CommentCluster
    cluster_options = {"nodes": 2, "users": len(test_operators.LEVELS)}

    def setUp(self):
        super().setUp()
        self.wait_granted()

    def submit_training(self, *flags):
        job = self.cluster.sbatch(
            f"#!/bin/sh\n{self.train} --data {self.data} "
            "--batch 4 --accelerator-s-per-sample 0.005 --duration 3\n",
            gpus=0, flags=["--loader=auto", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        return job

    def summary(self, number):
        done = self.cluster.command(self.cluster.penstock, "report", number,
                                    "--summary")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_sacct_shows_the_summary_of_each_job_and_task(self):
        plain, array = self.submit_training(), self.submit_training("--array=3,7")
        for job, numbers in ((plain, {str(plain)}),
                             (array, {f"{array}_3", f"{array}_7"})):
            self.wait(f"the comments of job {job}", lambda wanted=numbers, it=job:
                      {number for number, text in
                       self.cluster.comments(it).items() if text} == wanted,
                      SOON_S)
            for number, text in self.cluster.comments(job).items():
                self.assertEqual(json.loads(text), self.summary(number))

    def test_each_component_of_a_heterogeneous_job_has_its_own(self):
        lead = self.cluster.sbatch(
            "#!/bin/sh\n#SBATCH --loader=auto\n#SBATCH hetjob\n"
            "#SBATCH --loader=auto\nunset PENSTOCK_SOCKET\n"
            f"exec srun --loader=auto --het-group=0,1 {self.train} "
            f"--data {self.data} --batch 4 --accelerator-s-per-sample 0.005 "
            "--duration 3\n", gpus=0)
        self.addCleanup(self.cluster.cancel, str(lead))
        wanted = {f"{lead}+0", f"{lead}+1"}
        self.wait("the comments of both", lambda: wanted == {
            number for number, text in self.cluster.comments(lead).items()
            if text}, SOON_S)
        for number, text in self.cluster.comments(lead).items():
            self.assertEqual(json.loads(text), self.summary(number))

    def test_a_job_without_a_report_keeps_its_comment(self):
        job = self.cluster.sbatch("#!/bin/sh\nsleep 2\n", gpus=0,
                                  flags=["--loader=off"])
        self.cluster.wait_job(job, "RUNNING")
        self.cluster.command("scontrol", "update", f"JobId={job}",
                             "AdminComment=the site's own")
        self.cluster.wait_job(job)
        managed = self.submit_training()
        self.wait("a later job's comment", lambda: any(
            self.cluster.comments(managed).values()), SOON_S)
        self.assertEqual(self.cluster.comments(job),
                         {str(job): "the site's own"})

    def test_each_refusal_is_told(self):
        job = self.submit_training()
        self.cluster.wait_job(job)
        for user, arguments, code, message in (
                (None, ["4000000"], 3, "no such job"),
                (self.cluster.user, [str(job)], 1, "Access/permission denied"),
                (None, ["x"], 2, "JOBID"),
                (None, ["9_4294967294"], 2, "not a number")):
            command = " ".join([self.cluster.comment, *arguments])
            done = self.cluster.command("sh", "-c", f"echo text | {command}",
                                        user=user)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    for program in test_operators.NEEDED:
        if shutil.which(program, path="/usr/sbin:/usr/bin") is None:
            print(f"SKIPPED: {program} is not installed (tools/install-packages)")
            sys.exit(77)
    cluster_case.main()
