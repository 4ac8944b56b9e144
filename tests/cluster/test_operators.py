"""Slurm's operators, of a real slurmdbd, see all jobs that controllers know."""

import json
import os
import pathlib
import shutil
import sys

import cluster_case
import embedded
import embedded_nodes
import slurm_files
import test_nodes

LEVELS = ("None", "Operator", "None")  # of the users
NEEDED = ("slurmdbd", "mariadbd")


class AccountingCluster(embedded_nodes.NodesCluster):
    """With slurmdbd on a database of its own."""

    def _start_slurm(self):
        self._start_database()
        self._start_slurmdbd()
        # Before slurmctld: Slurm 22.05's ends when an account is added later.
        self._account("add", "cluster", self.node)
        self._account("add", "account", "main")
        for name, level in zip(self.users, LEVELS, strict=True):
            self._account("add", "user", name, "Account=main",
                          f"AdminLevel={level}")
        super()._start_slurm()

    def write_files(self):
        super().write_files()
        # After the ports that are not bound yet.
        taken = 1 + len(self.nodes) + len(self.controllers)
        self._ports = slurm_files.free_ports(taken + 2)[taken:]
        conf = pathlib.Path(self.directory, "slurm.conf")
        conf.write_text(
            conf.read_text("utf-8")
            + "AccountingStorageType=accounting_storage/slurmdbd\n"
            "AccountingStorageHost=127.0.0.1\n"
            f"AccountingStoragePort={self._ports[0]}\n"
            f"AccountingStoragePass={self.directory}/munge.sock\n", "utf-8")

    def _start_database(self):
        folder = f"{self.directory}/database"
        os.mkdir(folder, 0o700)  # without grants it needs no tables of its own
        self._start_daemon(
            "mariadbd", "/usr/sbin/mariadbd", "--no-defaults", "--user=root",
            f"--datadir={folder}", "--skip-grant-tables",
            "--bind-address=127.0.0.1", f"--port={self._ports[1]}",
            f"--socket={self.directory}/database.sock",
            f"--pid-file={self.directory}/database.pid")
        self._wait("the database", lambda: os.path.exists(
            f"{self.directory}/database.sock"), 30, ("mariadbd",))

    def _start_slurmdbd(self):
        slurm_files.write(f"{self.directory}/slurmdbd.conf", "\n".join([
            "AuthType=auth/munge", f"AuthInfo=socket={self.directory}/munge.sock",
            f"DbdHost={os.uname().nodename}", "DbdAddr=127.0.0.1",
            f"DbdPort={self._ports[0]}", "SlurmUser=root",
            f"PidFile={self.directory}/slurmdbd.pid",
            f"LogFile={self.directory}/log/slurmdbd.log",
            "StorageType=accounting_storage/mysql", "StorageHost=127.0.0.1",
            f"StoragePort={self._ports[1]}", "StorageUser=root", ""]), 0o600)
        self._start_daemon("slurmdbd", "slurmdbd", "-D")
        self._wait("slurmdbd", lambda: self._run(
            ["sacctmgr", "-n", "show", "cluster"]).returncode == 0, 30,
            ("slurmdbd",))

    def _account(self, *words):
        done = self._run(["sacctmgr", "-i", *words])
        assert done.returncode == 0, done.stdout + done.stderr

    def set_level(self, name, level):
        self._account("modify", "user", name, "set", f"AdminLevel={level}")


class Operators(test_nodes.NodesCase):
    cluster_class = AccountingCluster
    cluster_options = {"nodes": 1, "users": len(LEVELS)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(
            embedded.build_directory() / "bin" / "penstock")
        cls.login = cls.cluster.write_login_conf()

    def ask(self, user, *words):
        return self.cluster.command(self.penstock, *words, "--config",
                                    self.login, user=user)

    def test_operators_see_other_users_jobs_and_users_do_not(self):
        owner, operator, other = self.cluster.users
        self.wait_granted()
        name = self.cluster.nodes[0]
        job = self.submit("owned", 200, [name], self.trainer(
            "owned", 200, seconds=3))
        self.cluster.wait_job(job)
        # The controller asks slurmctld once a minute.
        self.wait("the operator to see the report", lambda: self.ask(
            operator, "report", str(job), "--json").returncode == 0, 90)
        report = json.loads(self.ask(operator, "report", str(job),
                                     "--json").stdout)
        self.assertEqual(report["job_id"], job)
        self.assertEqual(self.ask(operator, "report", "--cluster").returncode, 0)
        self.assertEqual(
            self.ask(operator, "history", "--user", owner).returncode, 0)
        for words in (("report", str(job)), ("report", "--cluster"),
                      ("history", "--user", owner)):
            refused = self.ask(other, *words)
            self.assertEqual(refused.returncode, 3, refused.stdout)
            self.assertEqual(len(refused.stderr.strip().splitlines()), 1)
        self.assertEqual(self.ask(owner, "report", str(job)).returncode, 0)
        # No longer an operator.
        self.cluster.set_level(operator, "None")
        self.wait("the former operator to see nothing", lambda: self.ask(
            operator, "report", str(job)).returncode == 3, 90)


if __name__ == "__main__":
    if gone := [name for name in NEEDED if shutil.which(name) is None]:
        print(f"SKIPPED: {', '.join(gone)}: not installed")
        sys.exit(77)
    cluster_case.main()
