"""A TestCase with Slurm, the plugin, penstockd, and jobs that load data."""

import glob
import json
import os
import pathlib

import cluster_case
import embedded
import hierarchy
import quiet

CPU_S_PER_SAMPLE = 0.001  # as the profiles have it; penstockd corrects it


class AgentCase(quiet.Quiet, cluster_case.ClusterCase):
    cluster_options = {"agent": True}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Users' jobs may lack access to the source tree and its build.
        cls.train = cls.cluster.expose(
            embedded.build_directory() / "bin" / "penstock-train")
        cls.busy = cls.cluster.expose(
            embedded.build_directory() / "bin" / "busy")
        cls.data = f"{cls.cluster.directory}/bin/jpeg"
        make = embedded.build_directory() / "bin" / "penstock-demo-data"
        done = cls.cluster.command(str(make), "--out", cls.data, "--format",
                                   "jpeg", "--count", "64")
        assert done.returncode == 0, done.stderr

    # -- jobs -----------------------------------------------------------------

    def start_pausing(self, name, on_ms, off_ms, **options):
        """A running job whose loader alternately computes and pauses: its share
        of the CPU does not depend on the machine's speed. The loader has to do
        it, because a trainer's CPU is reserved and never lent."""
        job = self.cluster.sbatch(
            [self.busy, "--workers", "1", "--processes", "--on", str(on_ms),
             "--off", str(off_ms), "--seconds", "900", "--log",
             f"{self.cluster.home()}/{name}.log"], flags=["--loader=auto"],
            **options)
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def profile(self, name, slices):
        """Writes a profile of a job that needs this number of cores; returns
        its path."""
        path = pathlib.Path(self.cluster.home(), f"{name}.toml")
        path.write_text(
            f'name = "{name}"\n'
            f"accelerator_s_per_sample = {CPU_S_PER_SAMPLE / slices}\n"
            f"loader_cpu_s_per_sample = {CPU_S_PER_SAMPLE}\n", "utf-8")
        return path

    def trainer(self, name, slices, seconds=cluster_case.LONG_S, extra=()):
        """penstock-train's command line."""
        home = self.cluster.home()
        return [self.train, "--data", self.data, "--batch", "16",
                "--accelerator-s-per-sample", str(CPU_S_PER_SAMPLE / slices),
                "--duration", str(seconds), "--log", f"{home}/{name}.log",
                *extra]

    def submit(self, name, slices, flags=(), seconds=cluster_case.LONG_S,
               **more):
        """Submits a managed job that needs this number of cores; waits until
        it runs."""
        job = self.cluster.sbatch(
            self.trainer(name, slices, seconds),
            flags=["--loader=auto",
                   f"--loader-model={self.profile(name, slices)}", *flags],
            **more)
        # A failed test must not affect the next one.
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def lend(self, suffix):
        """Two jobs (lender, borrower), as soon as a thread is away."""
        lender = self.submit(f"lender{suffix}", 1 / 3)
        borrower = self.submit(f"borrower{suffix}", 4)
        self.wait_away(borrower)
        return lender, borrower

    # -- what penstockd and the kernel say --------------------------------------

    def wait(self, what, condition, timeout=20):
        try:
            self.cluster._wait(what, condition, timeout)
        except embedded.ClusterError as error:
            raise embedded.ClusterError(f"{error}{self.jobs_as_text()}") from None

    def jobs_as_text(self):
        """penstockd's view of its jobs, for an error message."""
        try:
            jobs = self.cluster.status()["jobs"]
        except (OSError, embedded.ClusterError) as error:
            return f"--- no status: {error}\n"
        return "--- status\n" + "".join(f"{json.dumps(job)}\n" for job in jobs)

    def job_status(self, job):
        """penstockd's report of a running job, or None."""
        try:
            return self.cluster.status(job)
        except embedded.ClusterError:
            return None

    def held_by(self, job):
        """The CPUs that Slurm gave the job, as soon as it has them."""
        self.wait(f"job {job} to have CPUs",
                  lambda: hierarchy.held_by(self.cluster.node, job))
        return hierarchy.held_by(self.cluster.node, job)

    def away_cpus(self, job):
        """The CPUs of the job's away group, as the kernel lists them."""
        return hierarchy.away_cpus(self.cluster.node, job)

    def away_threads(self, job):
        return hierarchy.away_threads(self.cluster.node, job)

    def wait_away(self, job, timeout=20):
        self.wait(f"a thread of job {job} to be away",
                  lambda: self.away_threads(job), timeout)

    def wait_lent_again(self, lender, borrower):
        """Waits for a loan after both jobs have been measured. Emulated CPUs
        are so slow that the lender is measured to need more than it has;
        then it is the borrower."""
        self.wait(f"a thread of job {borrower} to be away", lambda: (
            self.away_threads(borrower)
            or embedded.PATIENCE > 1 and self.away_threads(lender)))

    def rate(self, name, seconds):
        """Samples/s of a trainer over the next seconds, from the trainer's
        own log."""
        return self.rate_in_log(name, seconds)

    def reports(self, job):
        """The files of the job's reports."""
        folder = f"{self.cluster.directory}/reports/{job}"
        return sorted(glob.glob(f"{folder}/*.json") +
                      glob.glob(f"{folder}/*.txt"))

    def check_nothing_left(self):
        """Fails if groups of ours remain after the queue is empty."""
        self.cluster.wait_empty()
        self.wait("penstockd's groups to be removed",
                  lambda: not self.cluster.penstock_cgroups())


def owner_of(path):
    return os.stat(path).st_uid



main = cluster_case.main
