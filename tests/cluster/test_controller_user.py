"""penstockctld as an ordinary user: it grants, hears submissions, publishes the
demand table and keeps the history. Agents refuse it as another user."""

import json
import os
import re
import signal
import stat

import cluster_case
import submit_case
import test_nodes

# Neither has an account.
USER = 64131
OTHER = 64132
STATE = "{directory}/penstockctld0"


class ControllerUser(test_nodes.NodesCase):
    cluster_options = {
        "nodes": 2, "controller_user": USER, "counted_gres": submit_case.GRES,
        "submit": (f"SubmitTable={STATE}/demand_table",
                   f"SubmitSocket={STATE}/submit.sock",
                   "SubmitNodeCores=4", "SubmitNodeBandwidth=400M",
                   "SubmitModel=res50")}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.command = cls.cluster.expose(cls.cluster.build / "bin/penstock")

    def setUp(self):
        super().setUp()
        self.state = self.cluster.state_of_controller()

    def said(self, daemon, text):
        return text in self.cluster.log_of(daemon)

    def lapses(self, node):
        return self.cluster.log_of(node).count("the node is solved alone")

    def uid(self):
        with open(f"/proc/{self.cluster.controller_pid()}/status",
                  encoding="ascii") as file:
            return re.search(r"^Uid:(.*)", file.read(),
                             re.MULTILINE).group(1).split()

    def spanning_job(self, name):
        return self.submit(name, 100, self.cluster.nodes, self.trainer(
            name, 100, self.meeting()))

    def penstock(self, *arguments):
        """What the command prints, as a user."""
        conf = self.cluster.conf_of[self.cluster.nodes[0]]
        return self.cluster.command(self.command, *arguments, "--config",
                                    conf, user=self.cluster.user)

    def test_it_does_all_its_work_without_root(self):
        self.assertEqual(self.uid(), [str(USER)] * 4)
        job = self.spanning_job("spans")
        self.wait_granted()
        self.rate("spans", 2)
        shown = self.penstock("jobs", "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual([entry["job_id"] for entry in
                          json.loads(shown.stdout)["jobs"]], [job])
        self.cluster.cancel(str(job))
        self.wait("the run's record", lambda: json.loads(self.penstock(
            "history", str(job), "--json").stdout)["jobs"])
        for name in ("term", "history.sqlite", "demand_table", "submit.sock"):
            self.assertEqual(os.stat(f"{self.state}/{name}").st_uid, USER)

    def test_slurmctlds_plugin_reads_its_table_and_is_heard(self):
        self.wait("the table", lambda: os.path.exists(
            f"{self.state}/demand_table"))
        self.cluster.restart_controller()
        job = self.cluster.sbatch("#!/bin/sh\n", gpus=1,
                                  flags=["--hold", "--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.assertRegex(self.cluster.job(job)["TresPerNode"],
                         r"loader_cpu[:=]\d")
        self.wait("the submission", lambda: self.said(
            "penstockctld0", "plugin is heard"))
        # Slurm's user may send, and nobody else.
        mode = os.stat(f"{self.state}/submit.sock").st_mode
        self.assertEqual(stat.S_IMODE(mode), 0o620)

    def replace(self, user):
        self.cluster.stop_controller(number=signal.SIGKILL)
        self.cluster.start_controller(user=user)

    def give_state_to(self, user):
        for name in ["", *os.listdir(self.state)]:
            os.chown(os.path.join(self.state, name), user, user)

    def test_agents_and_commands_refuse_one_of_another_user(self):
        node = f"penstockd.{self.cluster.nodes[0]}"
        self.wait_granted()
        lapses = self.lapses(node)
        self.addCleanup(self.replace, USER)
        self.addCleanup(self.give_state_to, USER)
        self.give_state_to(OTHER)
        self.replace(OTHER)
        refusal = (f"of user {OTHER}: only those of root and of "
                   f"ControllerUser={USER} (user {USER} here) are believed; "
                   "give the account one number on all hosts")
        self.wait("the refusal", lambda: self.said(node, refusal))
        self.wait("the node to be alone", lambda: (
            self.lapses(node) > lapses))
        self.assertIn(refusal, self.penstock("jobs").stderr)

    def test_one_of_root_is_believed_as_well(self):
        self.wait_granted()
        before = self.granted(self.cluster.nodes[0])
        self.addCleanup(self.replace, USER)
        self.addCleanup(self.give_state_to, USER)
        self.give_state_to(0)
        self.replace(0)
        self.wait("root's grants", lambda: self.granted(
            self.cluster.nodes[0]) > before)
        self.assertEqual(self.penstock("jobs").returncode, 0)

    def test_the_state_of_another_user_is_an_error_with_its_remedy(self):
        self.addCleanup(self.replace, USER)
        self.addCleanup(self.give_state_to, USER)
        self.give_state_to(0)
        kept = sorted(os.listdir(self.state))
        self.cluster.stop_controller()
        self.cluster.start_controller()
        self.wait("the error", lambda: self.said(
            "penstockctld0",
            f"{self.state}: belongs to user 0, but penstockctld runs as user "
            f"{USER}; run it as that user, or: chown -R {USER} {self.state}"))
        self.assertEqual(sorted(set(os.listdir(self.state)) | {"submit.sock"}),
                         kept)

    def test_any_other_user_is_told_who_may_run_it(self):
        done = self.cluster.command(
            f"{self.cluster.directory}/bin/penstockctld", "-f",
            self.cluster.conf_of[self.cluster.nodes[0]], "-c",
            self.cluster.controllers[0], user=self.cluster.user)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"root and ControllerUser={USER} (user {USER} here)",
                      done.stderr)


if __name__ == "__main__":
    cluster_case.main()
