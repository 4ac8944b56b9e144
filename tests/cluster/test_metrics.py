"""penstockd's metrics file for node_exporter while jobs lend to each other."""

import os
import pathlib
import signal

import agent_case
import prometheus_text

WRITTEN_S = 60  # penstockd writes it every 15 s


class Metrics(agent_case.AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.file = pathlib.Path(cls.cluster.directory, "metrics",
                                "penstock.prom")
        cls.file.parent.mkdir(mode=0o755)
        cls.cluster.stop_agent()
        cls.cluster.start_agent(lines=(f"MetricsFile={cls.file}",))

    def text(self):
        """The file's present text, which is always complete; "" if it does
        not exist."""
        try:
            text = self.file.read_text("utf-8")
        except FileNotFoundError:
            return ""
        self.assertEqual(prometheus_text.lint(text), [])
        return text

    def value(self, name, **labels):
        text = self.text()
        return prometheus_text.value(text, name, **labels) if text else None

    def updated_s(self):
        return self.value("penstock_agent_last_update_timestamp_seconds")

    def wait_for_another(self):
        """Waits for the next version of the text."""
        before = self.updated_s()
        self.wait("another text", lambda: self.updated_s() != before,
                  WRITTEN_S)
        return self.text()

    def counters(self, text, job):
        """The job's counters, by names and labels."""
        return {(sample.name, tuple(sorted(sample.labels.items()))):
                sample.value
                for family in prometheus_text.families(text).values()
                if family.type == "counter" for sample in family.samples
                if sample.labels.get("jobid") == str(job)}

    def test_of_jobs_until_they_end(self):
        lender, borrower = self.lend("M")
        granted = "penstock_job_granted_cores"
        self.wait("the lent cores to be told", lambda: self.value(
            granted, jobid=str(borrower), place="away"), WRITTEN_S)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o644)
        before = self.wait_for_another()
        after = self.wait_for_another()
        counted = self.counters(after, borrower)
        for series, earlier in self.counters(before, borrower).items():
            self.assertGreaterEqual(counted[series], earlier, series)
        cpu = "penstock_job_cpu_seconds_total"
        # Other programs may use the lent CPUs for a while.
        for name, labels in ((cpu, {"place": "home"}),
                             ("penstock_job_samples_total", {}),
                             ("penstock_job_wall_seconds_total",
                              {"cause": "prep"})):
            with self.subTest(name=name):
                now, earlier = (prometheus_text.value(
                    text, name, jobid=str(borrower), **labels)
                    for text in (after, before))
                self.assertGreater(now, earlier)
        self.assertEqual(
            prometheus_text.value(after, "penstock_node_jobs"), 2)
        self.cluster.cancel(lender, borrower)
        self.wait("the jobs to be gone", lambda: self.value(
            "penstock_node_jobs") == 0, WRITTEN_S)
        self.assertEqual(self.counters(self.text(), borrower), {})
        self.check_nothing_left()

    def test_a_killed_one_leaves_it_and_a_stopped_one_does_not(self):
        self.wait("the file", self.updated_s, WRITTEN_S)
        self.cluster.stop_agent(signal.SIGKILL)
        stale = self.updated_s()
        self.assertIsNotNone(stale)
        self.cluster.start_agent()
        self.wait("a new file", lambda: self.updated_s() > stale, WRITTEN_S)
        self.assertEqual(self.cluster.stop_agent(), 0)
        self.assertEqual(os.listdir(self.file.parent), [])
        self.cluster.start_agent()


if __name__ == "__main__":
    agent_case.main()
