"""penstock doctor on a real node: no findings on a working node, and a
finding for each broken part."""

import contextlib
import json
import os
import pathlib
import signal

import agent_case
import hierarchy


@contextlib.contextmanager
def changed(path, text):
    """The file temporarily has other contents."""
    file = pathlib.Path(path)
    before = file.read_text("utf-8")
    file.write_text(text, "utf-8")
    try:
        yield
    finally:
        file.write_text(before, "utf-8")


class Doctor(agent_case.AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(cls.cluster.build / "bin/penstock")
        cls.conf = f"{cls.cluster.directory}/penstock.conf"

    def look(self, user=None):
        """The exit status, and the findings by check."""
        done = self.cluster.command(self.penstock, "doctor", "--json",
                                    "--config", self.conf, user=user)
        self.assertEqual(done.stderr, "")
        return done.returncode, {
            finding["check"]: finding for finding in json.loads(done.stdout)}

    def check_failed(self, check, *parts):
        """That check fails; its text contains these parts."""
        code, found = self.look()
        self.assertEqual(code, 1, found)
        self.assertEqual(found[check]["status"], "fail", found)
        for part in parts:
            self.assertIn(part, found[check]["found"] + found[check]["remedy"])

    def test_nothing_is_wrong_with_a_good_node(self):
        code, found = self.look()
        self.assertEqual(code, 0, found)
        if hierarchy.COMOUNTED:
            self.assertEqual(found["cgroup"]["status"], "warn", found)
            self.assertIn("are one hierarchy", found["cgroup"]["found"])
            found["cgroup"]["status"] = "ok"
        wrong = [finding for finding in found.values()
                 if finding["status"] in ("warn", "fail")]
        self.assertEqual(wrong, [])
        for check in ("slurm version", "plugstack.conf", "plugin", "cgroup",
                      "ConstrainCores", "StateDir", "socket", "penstockd"):
            self.assertEqual(found[check]["status"], "ok", found)

    def test_a_user_sees_it_too_and_is_told_of_the_rest(self):
        code, found = self.look(self.cluster.user)
        self.assertEqual(code, 0, found)
        self.assertIn("only root may read", found["user"]["found"])
        self.assertEqual(found["penstockd"]["status"], "ok")

    def test_text_names_what_to_do(self):
        with changed(f"{self.cluster.directory}/cgroup.conf",
                     "ConstrainCores=no\n"):
            done = self.cluster.command(self.penstock, "doctor", "--config",
                                        self.conf)
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        row = next(i for i, line in enumerate(lines)
                   if line.startswith("FAIL  ConstrainCores"))
        self.assertIn("fix: " + self.cluster.directory + "/cgroup.conf:1: ",
                      lines[row + 1])

    def test_what_is_broken_is_named(self):
        directory = self.cluster.directory
        with changed(f"{directory}/plugstack.conf", "# nothing\n"):
            self.check_failed("plugstack.conf", "/spank_penstock.so; then")
        with changed(self.conf, "Policy=greedy\n"):
            self.check_failed("penstock.conf", f"{self.conf}:1: Policy=greedy")
        os.chmod(self.conf, 0o666)
        self.check_failed("penstock.conf", "chmod go-w")
        os.chmod(self.conf, 0o644)
        os.chmod(f"{directory}/reports", 0o777)
        self.check_failed("ReportDir", "chmod go-w")
        os.chmod(f"{directory}/reports", 0o755)

    def test_a_mark_of_off_that_penstockd_does_not_know(self):
        mark = pathlib.Path(self.cluster.directory, "run", "off")
        for word, spoil, warned in (
                ("off", mark.unlink, "will be on when it starts again"),
                ("on", mark.touch, "will be off when it starts again")):
            done = self.cluster.command(self.penstock, word, "--config",
                                        self.conf)
            self.assertEqual(done.returncode, 0, done.stderr)
            spoil()
            code, found = self.look()
            self.assertEqual((code, found["switch"]["status"]), (0, "warn"))
            self.assertIn(warned, found["switch"]["found"])
        mark.unlink()
        self.assertEqual(self.look()[1]["switch"]["status"], "ok")

    def test_a_penstockd_that_stands_still_or_is_gone(self):
        os.kill(self.cluster.agent_pid, signal.SIGSTOP)
        try:
            self.check_failed("penstockd", "does not answer")
        finally:
            os.kill(self.cluster.agent_pid, signal.SIGCONT)
        self.cluster.stop_agent()
        try:
            self.check_failed("socket", "penstockd does not run",
                              "systemctl enable --now penstockd")
        finally:
            self.cluster.start_agent()


if __name__ == "__main__":
    agent_case.main()
