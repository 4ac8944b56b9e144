"""The plugin with a penstockd that is missing, hangs, or does not belong to
root: the job runs, and starts after a bounded delay. Also wrong
plugstack.conf lines."""

import os
import pathlib
import time

import cluster_case
import embedded
import protocol
from fake_agent import FakeAgent

TIMEOUT_S = 1.0


class Faults(cluster_case.ClusterCase):
    cluster_options = {
        "plugin_arguments": [f"timeout_ms={TIMEOUT_S * 1000:.0f}"]}

    def check_runs(self, **options):
        """Runs a command under srun; returns its duration in seconds."""
        start = time.monotonic()
        done = self.cluster.srun("echo", "ran", **options)
        self.assertEqual((done.returncode, set(done.stdout.split())),
                         (0, {"ran"}), done.stderr)
        self.assertNotIn("penstock:", done.stderr)
        return time.monotonic() - start

    def test_no_socket(self):
        self.assertFalse(os.path.exists(self.cluster.socket_path))
        quickest = min(self.check_runs() for _ in range(5))
        self.check_time(quickest, TIMEOUT_S / 2)

    def test_a_socket_left_behind(self):
        agent = FakeAgent(self.cluster.socket_path, answers=False)
        os.rename(self.cluster.socket_path, self.cluster.socket_path + ".old")
        pathlib.Path(self.cluster.socket_path).touch()
        agent.close()
        os.rename(self.cluster.socket_path + ".old", self.cluster.socket_path)
        self.addCleanup(os.unlink, self.cluster.socket_path)
        quickest = min(self.check_runs() for _ in range(5))
        self.check_time(quickest, TIMEOUT_S / 2)

    def test_a_hung_penstockd_costs_one_timeout_a_step(self):
        with FakeAgent(self.cluster.socket_path, answers=False) as agent:
            took = self.check_runs(gpus=0, flags=["--ntasks=2"])
            self.assertGreaterEqual(took, TIMEOUT_S)
            # A second wait would double the time.
            self.check_time(took, 1.9 * TIMEOUT_S)
            # penstockd continues, and reads all messages of the meantime.
            agent.drain()
            agent.wait_for(protocol.TASK_START, 2)
            agent.wait_for(protocol.TASK_EXIT, 2)
            agent.wait_for(protocol.STEP_END, 1)
        self.assertIn("did not reply in time",
                      self.cluster.logs("slurmd", lines=1000))

    def test_another_users_socket_is_told_nothing(self):
        with FakeAgent(self.cluster.socket_path, owner=65534) as agent:
            quickest = min(self.check_runs() for _ in range(3))
            self.check_time(quickest, TIMEOUT_S / 2)
            self.cluster.wait_empty()
            for kind in (protocol.TASK_START, protocol.TASK_EXIT,
                         protocol.STEP_END, protocol.JOB_END):
                self.assertEqual(agent.records(kind), [])
        self.assertIn("listener is not root",
                      self.cluster.logs("slurmd", lines=1000))


class BadArgument(cluster_case.ClusterCase):
    cluster_options = {"plugin_arguments": ["colour=blue"]}

    def test_is_named_and_left_out(self):
        done = self.cluster.srun("true", flags=["--loader-threads=2"])
        self.assertEqual(done.returncode, 0)
        self.assertIn("penstock: plugstack argument colour=blue", done.stderr)


class Optional(cluster_case.ClusterCase):
    """The effect of `optional` in plugstack.conf."""

    def test_a_missing_plugin_does_not_stop_jobs(self):
        plugin = pathlib.Path(self.cluster.directory,
                              "bin/spank_penstock.so")
        plugin.rename(str(plugin) + ".away")
        self.addCleanup(os.rename, str(plugin) + ".away", plugin)
        done = self.cluster.srun("echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        # The plugin defines the flags; admin.md describes the alternative.
        done = self.cluster.srun("echo", "ran", flags=["--loader=auto"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unrecognized option '--loader=auto'", done.stderr)
        done = self.cluster.srun("echo", "ran",
                                 env={"PENSTOCK_LOADER": "auto"})
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))


class Build(cluster_case.ClusterCase):
    def test_a_build_directory_without_plugin_is_named(self):
        with self.assertRaisesRegex(embedded.ClusterError,
                                    "/nonexistent/lib/spank_penstock.so"):
            with embedded.EmbeddedCluster(build="/nonexistent"):
                pass


if __name__ == "__main__":
    cluster_case.main()
