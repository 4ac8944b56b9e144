"""Jobs with their own /tmp and /dev/shm (job_container/tmpfs)."""

import os
import pathlib
import sys

import agent_case
import slurm_files

MARKS = "/tmp/penstock-mark", "/dev/shm/penstock-mark"


class PrivateTmp(agent_case.AgentCase):
    cluster_options = {"agent": True, "private_tmp": True}

    def start(self, before, flags, *words):
        """A managed job with shell commands before its trainer."""
        job = self.cluster.sbatch(
            "#!/bin/sh\n" + before + "\nexec " + " ".join(
                self.trainer("private", 1, extra=words)),
            flags=["--loader=auto", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        return job

    def wait_report(self, job, what, condition):
        found = []

        def holds():
            found[:] = [self.job_status(job)]
            return found[0] is not None and condition(found[0])
        self.wait(f"job {job}'s {what}", holds)
        return found[0]

    def test_it_reports_and_has_a_cache_of_its_own(self):
        profile = self.profile("private", 1)
        job = self.start("touch " + " ".join(MARKS),
                         [f"--loader-model={profile}"], "--cache", "1M")
        report = self.wait_report(job, "cached samples",
                                  lambda now: now["cache"]["hits"])
        self.assertEqual(report["ranks"], 1)
        self.assertEqual(report["quality"]["loader_source"], "registered")
        self.assertEqual(report["ceiling"]["predicted_from"],
                         "profile private")
        self.assertEqual(report["notes"], [])
        self.assertEqual([path for path in MARKS if os.path.exists(path)], [])
        uid = agent_case.owner_of(self.cluster.home())
        self.assertFalse(os.path.exists(f"/dev/shm/penstock-cache-{uid}"))
        self.cluster.cancel(job)
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(job))

    # penstockd sees the node's /tmp.
    def test_a_profile_there_is_not_found(self):
        here = self.profile("elsewhere", 1)
        there = "/tmp/penstock-elsewhere.toml"
        job = self.start(f"srun --overlap cp {here} {there}\n"
                         f"srun --overlap --loader-model={there} true", [])
        report = self.wait_report(job, "note", lambda now: now["notes"])
        self.assertEqual(report["notes"], [
            f"--loader-model: {there}: No such file or directory"])
        self.cluster.cancel(job)
        self.check_nothing_left()


if __name__ == "__main__":
    if not pathlib.Path(slurm_files.system_plugin_dir(),
                        "job_container_tmpfs.so").exists():
        print("SKIPPED: this Slurm has no job_container/tmpfs")
        sys.exit(77)
    agent_case.main()
