"""packaging/slurm/penstock-mail as MailProg of a real slurmctld."""

import pathlib

import cluster_case
import embedded_nodes
import slurm_scripts
import test_nodes

SOON_S = 60


class MailCluster(embedded_nodes.NodesCluster):
    """Its slurmctld runs the script, with a mailer that keeps the mails."""

    def write_files(self):
        super().write_files()
        self.folder = slurm_scripts.install(
            self, "MailProg", "penstock-mail",
            "PENSTOCK_MAILER={folder}/mailer")
        slurm_scripts.write(
            self.folder / "mailer",
            f"(echo \"$2|$3\"; cat) > {self.folder}/$$.new\n"
            f"mv {self.folder}/$$.new {self.folder}/$$.mail")

    def mails(self):
        return {path.read_text("utf-8") for path in self.folder.glob("*.mail")}


class Mail(test_nodes.NodesCase):
    cluster_class = MailCluster
    cluster_options = {"nodes": 1}

    def run_job(self, command, *flags, state="COMPLETED"):
        job = self.cluster.sbatch(
            f"#!/bin/sh\n{command}\n", gpus=0,
            flags=["--mail-user=ada@example", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, state)
        return job

    def training(self):
        return (f"{self.train} --data {self.data} --batch 4 "
                "--accelerator-s-per-sample 0.005 --duration 3")

    def mail_on(self, job, what):
        """The head and the body of the mail."""
        found = []

        def has_come():
            found[:] = [text for text in self.cluster.mails()
                        if f"Job_id={job} " in text and what in text]
            return found

        self.wait(f"the mail on job {job}", has_come, SOON_S)
        self.assertEqual(len(found), 1)
        return found[0].split("\n", 1)

    def test_the_mail_on_a_jobs_end_has_its_report(self):
        self.wait_granted()
        job = self.run_job(self.training(), "--loader=auto",
                           "--mail-type=BEGIN,END",
                           "--job-name=a'b\"$(touch /tmp/pwned)`id`")
        _, begun = self.mail_on(job, "Began")
        self.assertEqual(begun, "")
        head, body = self.mail_on(job, "Ended")
        self.assertTrue(head.endswith("|ada@example"), head)
        self.assertIn(f"Job {job}", body)
        self.assertIn("Wall time", body)
        self.assertFalse(pathlib.Path("/tmp/pwned").exists())

    def test_the_mail_on_a_failure_has_the_report_too(self):
        self.wait_granted()
        job = self.run_job(f"{self.training()}; exit 3", "--loader=auto",
                           "--mail-type=FAIL", state="FAILED")
        _, body = self.mail_on(job, "Failed")
        self.assertIn(f"Job {job}", body)

    def test_a_job_without_a_report_gets_its_mail_too(self):
        job = self.run_job("true", "--mail-type=END")
        _, body = self.mail_on(job, "Ended")
        self.assertEqual(body, "")


if __name__ == "__main__":
    cluster_case.main()
