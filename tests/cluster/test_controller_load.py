"""penstockctld under load of an ordinary user: its memory stays bounded, and
agents are served."""

import concurrent.futures
import json
import pathlib
import pwd
import re
import sqlite3
import time

import cluster_case
import embedded
import embedded_nodes

CONNECTIONS = 400
SECONDS = 10
AGENTS = 50
GROWTH_MB = 100
CLIENTS = 50
ANSWER_P99_MS = 250


class Load(cluster_case.ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded_nodes.NodesCluster(nodes=1, users=2)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        cls.load = cls.cluster.expose(
            cls.cluster.build / "bin/controller_load")
        cls.penstock = cls.cluster.expose(cls.cluster.build / "bin/penstock")
        cls.conf = cls.cluster.conf_of[cls.cluster.nodes[0]]
        cls.user, cls.other = cls.cluster.users
        cls.cluster._wait("the controller", lambda: cls.cluster.command(
            cls.penstock, "nodes", "--config", cls.conf).returncode == 0, 40)

    def put_load(self, how, clients, *more):
        """Runs controller_load as an ordinary user; its output."""
        port = self.cluster.controllers[0].rpartition(":")[2]
        done = self.cluster.command(
            self.load, how, "--port", port, "--clients", str(clients),
            "--seconds", str(SECONDS), *more, user=self.user,
            timeout=SECONDS + 60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def serve_agents(self):
        """Figures of a crowd of agents that connects and starts jobs."""
        out = f"{self.cluster.directory}/crowd.json"
        done = self.cluster.command(
            str(embedded.build_directory() / "bin/penstock"), "bench", "ctld",
            "--agents", str(AGENTS), "--rate", "10", "--seconds",
            str(SECONDS / 2), "--config", self.conf, "--json", out,
            timeout=SECONDS + 300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(out, encoding="utf-8") as file:
            return {figure["name"]: figure["value"] for figure in
                    json.load(file)["figures"]}

    def memory_mb(self, name):
        status = pathlib.Path(
            f"/proc/{self.cluster.controller_pid()}/status").read_text("utf-8")
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024

    def check_flood(self, *kind):
        before = self.memory_mb("VmRSS")
        pathlib.Path(f"/proc/{self.cluster.controller_pid()}/clear_refs"
                     ).write_text("5", "utf-8")  # resets VmHWM
        with concurrent.futures.ThreadPoolExecutor() as beside:
            flood = beside.submit(self.put_load, "flood", CONNECTIONS, *kind)
            figures = self.serve_agents()
            flood.result()
        growth_mb = self.memory_mb("VmHWM") - before
        print(kind, f"memory grew by {growth_mb:.0f} MB", figures)
        self.assertLessEqual(growth_mb, GROWTH_MB)
        self.assertEqual(figures["lost"], 0)

    def test_large_messages_of_strangers_neither_fill_memory_nor_stop_agents(
            self):
        self.check_flood()

    def test_a_message_without_end_neither_fills_memory_nor_stops_agents(self):
        self.check_flood("--frames")

    def fill_history(self, uid, rows=20_000):
        """Adds ended runs of the user, so that queries take time."""
        path = f"{self.cluster.directory}/penstockctld0/history.sqlite"
        with sqlite3.connect(path, timeout=10) as history:
            types = {name: kind for _, name, kind, needed, default, _ in
                     history.execute("PRAGMA table_info(jobs)")
                     if needed and default is None}
            run = {name: "x" if kind == "TEXT" else 1
                   for name, kind in types.items()}
            run.update(uid=uid, state="COMPLETED",
                       last_seen_unix_s=time.time())
            history.executemany(
                f"INSERT INTO jobs ({', '.join(run)}) VALUES "
                f"({', '.join(':' + name for name in run)})",
                (dict(run, job_id=number) for number in range(1, rows + 1)))

    def history_of(self, user):
        return self.cluster.command(self.penstock, "history", "--config",
                                    self.conf, user=user)

    def test_a_users_queries_delay_neither_agents_nor_other_users(self):
        self.fill_history(pwd.getpwnam(self.user).pw_uid)
        quiet_ms = self.serve_agents()["answer_p99_ms"]
        with concurrent.futures.ThreadPoolExecutor() as beside:
            asking = beside.submit(
                self.put_load, "ask", CLIENTS, "--munge",
                f"{self.cluster.directory}/munge.sock")
            agents = beside.submit(self.serve_agents)
            others, own = [], []
            while not (asking.done() and agents.done()):
                others.append(self.history_of(self.other))
                own.append(self.history_of(self.user))
            figures, counts = agents.result(), json.loads(asking.result())
        print(f"quiet: {quiet_ms:.0f} ms;", figures, counts, len(others), "queries of another user")
        self.assertEqual(figures["lost"], 0)
        # Other programs may slow down both.
        self.check_time(figures["answer_p99_ms"],
                        max(ANSWER_P99_MS, 3 * quiet_ms))
        for done in others:
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(counts["answered"], 0)
        self.assertGreater(counts["refused"], 0)
        refused = [done for done in own if done.returncode != 0]
        self.assertTrue(refused)
        for done in refused:
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^penstock: too many queries from "
                             r"user \d+; try again in \d+ s$")


if __name__ == "__main__":
    cluster_case.main()
