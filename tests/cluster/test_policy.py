"""`penstock policy` on runs of real jobs: the table, and the mails to users."""

import json
import os
import pathlib
import pwd
import time

import cluster_case
import embedded
import slurm_scripts
import test_nodes

SHORT_H = "0.001"  # 3.6 s: what is worth telling here


class Policy(test_nodes.NodesCase):
    cluster_options = {"nodes": 1, "users": 3}

    @classmethod
    def setUpClass(cls):
        # The accelerators are emulated: a stand-in for NVIDIA's library says
        # that no kernel runs on any.
        os.environ["LD_LIBRARY_PATH"] = str(
            embedded.build_directory() / "tests" / "fake_nvml")
        os.environ["FAKE_NVML"] = "idle"
        super().setUpClass()
        cls.folder = pathlib.Path(cls.cluster.directory, "policy")
        cls.folder.mkdir()
        cls.mailer = cls.folder / "mailer"
        slurm_scripts.write(cls.mailer, (
            f'[ ! -e {cls.folder}/fail ] || {{ echo "no $3" >&2; exit 1; }}\n'
            f'{{ echo "$1|$2|$3"; cat; }} > {cls.folder}/$3.mail'))
        cls.record = cls.folder / "record" / "mails"

    def policy(self, *arguments, user=None):
        return self.cluster.command(
            self.cluster.expose(self.cluster.build / "bin" / "penstock"),
            "policy", "--mailer", str(self.mailer), *arguments, "--config",
            self.cluster.conf_of[self.cluster.nodes[0]], user=user)

    def told(self, *arguments, code=0):
        return self.said("--idle-gpus", SHORT_H, "--record", str(self.record),
                         *arguments, code=code)

    def said(self, *arguments, code=0):
        done = self.policy(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + (done.stderr if code else "")

    def idle_run(self, user):
        """A job that holds a GPU for six seconds, in the history."""
        job = self.cluster.sbatch("#!/bin/sh\nsleep 6\n", user=user, gpus=1,
                                  flags=["--loader=auto", "--job-name=idler"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job)
        self.wait("the run in the history", lambda: any(
            it["job_id"] == job and it["kind"] == "idle_gpus"
            for it in json.loads(self.told("--json"))["findings"]))
        return job

    def mail_to(self, user):
        return (self.folder / f"{user}.mail").read_text("utf-8")

    def test_idle_gpus_are_told_to_the_admin_and_mailed_to_users(self):
        ada, bob, eve = self.cluster.users
        self.wait_granted()
        jobs = {user: self.idle_run(user) for user in (ada, bob, eve)}

        # The table: of all for root, of one's own for a user.
        table = self.told()
        self.assertIn("GPUs on which no kernel ran for", table)
        for user in (ada, bob, eve):
            self.assertIn(user[:16], table)
        done = self.policy("--json", "--idle-gpus", SHORT_H, user=bob)
        self.assertEqual(done.returncode, 0, done.stderr)
        own = json.loads(done.stdout)["findings"]
        self.assertEqual([it["job_id"] for it in own], [jobs[bob]])
        self.assertAlmostEqual(own[0]["wasted_h"], own[0]["held_h"])
        self.assertGreater(own[0]["held_h"], 3.6 / 3600)
        self.assertEqual(len(self.told("--csv").splitlines()), 4)
        self.assertIn("nothing to tell", self.said("--idle-gpus", "100"))

        # The report names the GPU's use, and its user, first.
        report = self.cluster.command(
            self.cluster.build / "bin" / "penstock", "report", str(jobs[ada]),
            "--config", self.cluster.conf_of[self.cluster.nodes[0]]).stdout
        self.assertIn(f"  of {ada}, started", report)
        self.assertIn("  GPUs: 1, a kernel ran on it for 0% of the time", report)

        # Dry run: one user wants none, and nothing is sent or noted.
        home = pathlib.Path(self.cluster.home(bob))
        (home / ".penstock-no-mail").symlink_to("/nowhere")
        dry = self.told("--mail")
        self.assertIn(f"To: {ada}\nSubject: Penstock: 1 of your runs", dry)
        self.assertIn(f"{bob}: no mail: wants no mail\n", dry)
        self.assertIn(f"penstock report {jobs[eve]}", dry)
        self.assertEqual(list(self.folder.glob("*.mail")), [])
        self.assertFalse(self.record.parent.exists())

        # A mailer that fails: told, and sent the next time.
        (self.folder / "fail").touch()
        failed = self.told("--send", code=1)
        self.assertIn(f"{ada}: {self.mailer}: ended with status 1: no {ada}",
                      failed)
        self.assertIn("policy: 2 of the mails not sent", failed)
        (self.folder / "fail").unlink()
        sent = self.told("--send")
        self.assertIn(f"{ada}: mailed\n", sent)
        self.assertIn(f"{eve}: mailed\n", sent)
        head, _, body = self.mail_to(ada).partition("\n")
        self.assertEqual(head, "-s|Penstock: 1 of your runs left GPUs or cores "
                               f"idle|{ada}")
        self.assertIn(f'Job {jobs[ada]} "idler", ended', body)
        self.assertIn("no kernel ran on its GPU for", body)
        self.assertIn("touch ~/.penstock-no-mail", body)
        self.assertFalse((self.folder / f"{bob}.mail").exists())

        # One mail a week.
        again = self.told("--send")
        self.assertIn(f"{ada}: no mail: had a mail at ", again)
        self.assertNotIn("mailed", again)
        # A week less an hour, as after a change of the clocks; and a time to
        # come, of a clock that was wrong.
        uid = pwd.getpwnam(ada).pw_uid
        for last in (time.time() - 7 * 86400 + 3600, time.time() + 86400):
            self.record.write_text(f"{int(last)} {uid}\n", "utf-8")
            self.assertIn(f"{ada}: mailed\n", self.told("--send"))

        # A home that is not here is nobody's consent.
        home = pathlib.Path(self.cluster.home(eve))
        home.rename(f"{home}.away")
        self.addCleanup(lambda: pathlib.Path(f"{home}.away").rename(home))
        self.assertIn(f"{eve}: no mail: the home {home} is not here",
                      self.told("--send", "--every", "0"))

    def test_a_user_may_not_mail_and_errors_are_named(self):
        done = self.policy("--mail", user=self.cluster.user)
        self.assertEqual(done.returncode, 3)
        self.assertIn("only root may mail", done.stderr)
        for arguments in (["--mail", "--send"], ["--csv", "--send"],
                          ["--idle-gpus", "0"], ["--since", "soon"]):
            self.said(*arguments, code=2)
        broken = self.folder / "broken"
        broken.write_text("hello\n", "utf-8")
        self.assertIn(f"{broken}: line 1: not a time and a user", self.said(
            "--send", "--record", str(broken), code=2))


if __name__ == "__main__":
    cluster_case.main()
