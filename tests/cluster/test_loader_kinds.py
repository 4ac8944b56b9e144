"""For each kind of loader, next to an idle job. penstockd divides the job's
CPU time between loader and trainer like the kernel's count by thread, also
while threads move. It lends to the loader in time, and the job gains."""

import json
import pathlib
import statistics
import tempfile
import time

import agent_case
import embedded
import hierarchy
import loader_kinds
import python_jobs

CORES = 0.05  # allowed difference between penstockd's figures and the kernel's
WINDOW_S = 6
LOAN_S = 2
PAIRS = 3  # of rates with penstockd and without


def slope(points):
    """Slope of (x, y) pairs, by least squares."""
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    return (sum((x - mean_x) * (y - mean_y) for x, y in points)
            / sum((x - mean_x) ** 2 for x, _ in points))


class Follower:
    """Cores of loader and trainer by penstockd and by the kernel, and use of
    lent cores, between two of penstockd's samples."""

    def __init__(self, case, job, labels):
        self._case, self._job = case, job
        self._kernel = loader_kinds.KernelCount(labels)
        self._periods = None

    def window(self):
        """{name: cores} over the next WINDOW_S."""
        moments = []
        until = time.monotonic() + WINDOW_S
        while time.monotonic() < until or len(moments) < 3:
            self._kernel.look(hierarchy.job_threads(
                self._case.cluster.node, self._job))
            status = self._case.job_status(self._job)
            if status and status["quality"]["periods"] != self._periods:
                self._periods = status["quality"]["periods"]
                moments.append((time.monotonic(), self._used_s(status)))
            time.sleep(0.03)
        return {name: slope([(at, used[name]) for at, used in moments])
                for name in moments[0][1]}

    def _used_s(self, status):
        run_s = status["updated_unix_s"] - status["start_unix_s"]
        home, away, trainer = ((status["cores"][name] or 0) * run_s for name in
                               ("used_home", "used_away", "used_trainer"))
        return {"loader": home + away, "trainer": trainer, "away": away,
                "kernel loader": self._kernel.loader_s(),
                "kernel trainer": self._kernel.trainer_s()}


def is_counted_right(cores):
    return all(abs(cores[name] - cores[f"kernel {name}"]) <= CORES
               for name in ("loader", "trainer"))


class LoaderKinds(python_jobs.JobsOfPython):
    cluster_options = {"agent": True, "agent_lines": ["ReportMinTime=1"]}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        build = embedded.build_directory() / "bin"
        cls.openmp = cls.cluster.expose(build / "openmp_loader")

    def setUp(self):
        super().setUp()
        neighbour = self.cluster.sbatch(
            [self.busy, "--workers", "1", "--on", "1", "--off", "500",
             "--seconds", "900", "--log", f"{self.cluster.home()}/idle.log"],
            gpus=0, flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(neighbour))
        self.cluster.wait_job(neighbour, "RUNNING")

        def is_known():
            status = self.job_status(neighbour)
            return status and status["quality"]["periods"] >= 3

        # This test does not measure the delay until a new job lends.
        self.wait("the neighbour to be known", is_known)

    def start_kind(self, kind, flags=()):
        """(job, labels)"""
        labels = pathlib.Path(tempfile.mkdtemp(dir=self.cluster.home()))
        labels.chmod(0o777)
        values = {"labels": str(labels), "workers": loader_kinds.WORKERS,
                  "log": f"{self.cluster.home()}/{self.id()}.log",
                  "batch": loader_kinds.BATCH,
                  "prepare": loader_kinds.PREPARE_S,
                  "train": loader_kinds.TRAIN_S}
        program, own_values = loader_kinds.PROGRAMS[kind]
        values.update(own_values)
        if program is not None:
            return self.start_python(self.id(), program, flags,
                                     **values), labels
        arguments = [f"--{name}={values[name]}" for name in
                     ("labels", "log", "prepare", "train", "workers")]
        job = self.cluster.sbatch([self.openmp, *arguments], gpus=0,
                                  flags=["--loader=auto", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job, labels

    def check_counted(self, follower):
        """Waits for a window that agrees. An epoch may end in a window, and
        the CPU time of an ending worker is invisible from outside."""
        windows = []

        def agrees():
            windows.append(follower.window())
            return is_counted_right(windows[-1])

        try:
            self.wait("loader and trainer to be counted right", agrees, 40)
        finally:
            print(json.dumps({"test": self.id(), **windows[-1]}), flush=True)
        return windows[-1]

    def check_entitled(self, job, trainer):
        cores = self.cluster.status(job)["cores"]
        self.assertAlmostEqual(cores["entitled"],
                               max(0, cores["allocated"] - cores["reserve"]))
        self.assertGreaterEqual(cores["reserve"], trainer - CORES)
        self.assertLessEqual(cores["reserve"], cores["allocated"])
        return cores

    def check(self, kind, flags=()):
        """Checks a kind whose loader penstockd identifies; returns the job."""
        job, labels = self.start_kind(kind, flags)
        self.wait("a loader to work", lambda: list(labels.iterdir()), 60)
        self.wait_away(job, 60)
        loan = next(change["time_unix_s"] for change in
                    self.cluster.status(job)["changes"] if change["away_to"])
        begun = min(path.stat().st_mtime for path in labels.iterdir())
        self.check_time(loan - begun, LOAN_S)
        cores = self.check_counted(Follower(self, job, labels))
        self.assertGreater(cores["away"], 0.5)
        reserve = self.check_entitled(job, cores["trainer"])["reserve"]
        # The 95th percentile includes the trainer's first seconds and epoch
        # ends.
        if embedded.PATIENCE == 1 and "trainer" not in kind:
            self.assertLess(reserve, cores["trainer"] + 0.3)
        return job

    def check_unknown(self, kind):
        """Checks a kind whose loader cannot be identified."""
        job, labels = self.start_kind(kind)
        self.wait("the job to work", lambda: list(labels.iterdir()), 60)
        follower = Follower(self, job, labels)

        def all_is_the_trainers():
            cores = follower.window()
            together = cores["kernel loader"] + cores["kernel trainer"]
            return abs(cores["trainer"] - together) <= CORES

        self.wait("all to count as the trainer's", all_is_the_trainers, 40)
        self.assertEqual(self.away_threads(job), [])
        self.cluster.cancel(job)
        self.wait("the report", lambda: len(self.reports(job)) == 2)
        for path in self.reports(job):
            self.assertIn("--loader-match=PATTERN",
                          pathlib.Path(path).read_text("utf-8"))

    def gain(self, job):
        """Penstock / stock of the job's rate."""
        self.wait_away(job, 30)
        self.rate(self.id(), 4)  # the trainer's need becomes visible gradually
        lent = self.rate(self.id(), 3)
        self.cluster.stop_agent()
        self.rate(self.id(), 0.5)
        stock = self.rate(self.id(), 3)
        self.cluster.start_agent()
        return lent / stock

    def check_gain(self, job, least):
        """The median of PAIRS gains is above `least`. Stops as soon as
        further pairs cannot change the result."""
        if embedded.PATIENCE > 1:
            return  # emulated CPUs share fewer real ones
        gains = []
        while max(sum(gain > least for gain in gains),
                  sum(gain <= least for gain in gains)) <= PAIRS // 2:
            gains.append(self.gain(job))
        print(json.dumps({"test": self.id(), "gains": gains}), flush=True)
        self.assertGreater(statistics.median(gains), least)

    def test_fork(self):
        self.check("fork")

    def test_fork_persistent(self):
        job = self.check("fork_persistent")
        self.check_gain(job, 1.5)

    def test_fork_watch(self):
        job = self.check("fork_watch")
        self.assertTrue(self.cluster.status(job)["throughput"]["predicted"])

    def test_spawn(self):
        self.check("spawn")

    def test_spawn_watch(self):
        self.check("spawn_watch")

    def test_forkserver(self):
        self.check("forkserver")

    def test_iterable(self):
        self.check("iterable")

    def test_spawned_trainers(self):
        job = self.check("spawned_trainers")
        self.assertEqual(self.cluster.status(job)["cores"]["loader_threads"],
                         loader_kinds.WORKERS)

    def test_pool_with_match(self):
        job = self.check("pool", ["--loader-match=python*"])
        # It reports no samples: the report must not show a rate.
        status = self.cluster.status(job)
        self.assertIsNone(status["throughput"]["predicted"])
        self.assertIsNone(status["floor_rate"])
        self.check_gain(job, 1.3)

    def test_openmp_with_match(self):
        job = self.check("openmp", ["--loader-match=openmp_loader"])
        # The team's other threads are the loader; the main thread trains as
        # well.
        self.assertEqual(self.cluster.status(job)["cores"]["loader_threads"],
                         loader_kinds.WORKERS - 1)

    def test_pool_without_match(self):
        self.check_unknown("pool")

    def test_openmp_without_match(self):
        self.check_unknown("openmp")

    def test_a_trainer_on_the_cpu(self):
        job = self.check("cpu_trainer")
        self.check_gain(job, 1.5)

    def test_a_watched_trainer_on_the_cpu(self):
        job = self.check("cpu_trainer_watch")
        # A batch takes BATCH * PREPARE_S of the trainer's own CPU time.
        ceiling = self.cluster.status(job)["ceiling"]["measured"]["value"]
        if embedded.PATIENCE == 1:
            self.assertAlmostEqual(ceiling * loader_kinds.PREPARE_S, 1,
                                   delta=0.1)
        self.check_gain(job, 1.5)


if __name__ == "__main__":
    agent_case.main()
