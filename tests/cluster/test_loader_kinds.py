"""Whatever kind of loader a job has, penstockd tells it from the trainer as the
kernel counts their threads, also while threads move, and lends to it."""

import json
import os
import pathlib
import sys
import time

import agent_case
import embedded
import loader_kinds
import python_jobs

WINDOW_S = float(os.environ.get("WINDOW", 12))


class LoaderKinds(python_jobs.JobsOfPython):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        build = embedded.build_directory()
        cls.busy = cls.cluster.expose(build / "bin" / "busy")
        cls.openmp = cls.cluster.expose(build / "bin" / "openmp_loader")

    def setUp(self):
        super().setUp()
        self.neighbour = self.cluster.sbatch(
            [self.busy, "--workers", "1", "--on", "1", "--off", "500",
             "--seconds", "900", "--log", f"{self.cluster.home()}/idle.log"],
            gpus=0, flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(self.neighbour))
        self.cluster.wait_job(self.neighbour, "RUNNING")

    def start_kind(self, kind, flags=()):
        labels = pathlib.Path(self.cluster.home(), f"{self.id()}.loaders")
        labels.mkdir()
        labels.chmod(0o777)
        log = f"{self.cluster.home()}/{self.id()}.log"
        program, values = loader_kinds.PROGRAMS[kind]
        if program is None:
            job = self.cluster.sbatch(
                [self.openmp, "--labels", labels, "--log", log, "--prepare",
                 loader_kinds.PREPARE_S, "--train", loader_kinds.TRAIN_S,
                 "--threads", loader_kinds.WORKERS], gpus=0,
                flags=["--loader=auto", *flags])
            self.addCleanup(self.cluster.cancel, str(job))
            self.cluster.wait_job(job, "RUNNING")
        else:
            job = self.start_python(
                self.id(), program, flags, labels=str(labels), log=log,
                batch=loader_kinds.BATCH, workers=loader_kinds.WORKERS,
                **{"prepare": loader_kinds.PREPARE_S,
                   "train": loader_kinds.TRAIN_S, **values})
        return job, loader_kinds.KernelCount(labels)

    def follow(self, job, kernel, seconds):
        """(agent's loader, trainer; kernel's loader, trainer) in CPU seconds
        at each of its samples of the next seconds."""
        import hierarchy
        points = []
        periods = None
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            kernel.look(hierarchy.job_threads(self.cluster.node, job))
            status = self.job_status(job)
            if status and status["quality"]["periods"] != periods:
                periods = status["quality"]["periods"]
                run_s = status["updated_unix_s"] - status["start_unix_s"]
                cores = status["cores"]
                points.append((time.monotonic(), *((cores[name] or 0) * run_s for name in (
                    "used_home", "used_away", "used_trainer")),
                    kernel.loader_s(), kernel.trainer_s(), cores))
            time.sleep(0.04)
        return points

    def check(self, kind, flags=()):
        began = time.monotonic()
        job, kernel = self.start_kind(kind, flags)
        points = self.follow(job, kernel, WINDOW_S)
        for a, b in zip(points, points[1:]):
            dt = b[0] - a[0]
            d = [(y - x) / dt for x, y in zip(a[1:6], b[1:6])]
            c = b[6]
            print(f"{b[0]-began:5.1f} home {d[0]:.2f} away {d[1]:.2f} trainer {d[2]:.2f} | "
                  f"kernel loader {d[3]:.2f} trainer {d[4]:.2f} | reserve {c['reserve']:.2f} ent {c['entitled']:.2f} units {c['loader_threads']}",
                  file=sys.stderr)
        status = self.job_status(job)
        for change in status["changes"]:
            print(f"   change {change['time_unix_s']-status['start_unix_s']:.2f} {change['cause']} {change['cores_from']} -> {change['cores_to']} away {change['away_to']}", file=sys.stderr)
        print(json.dumps({k: status[k] for k in ("ceiling", "throughput", "floor_rate", "notes")}), status["quality"]["loader_source"], file=sys.stderr)
        lent = self.rate(self.id(), 4)
        self.cluster.stop_agent()
        self.rate(self.id(), 1)
        stock = self.rate(self.id(), 4)
        self.cluster.start_agent()
        print(f"{kind} {flags} lent {lent:.1f} stock {stock:.1f} gain {lent/stock:.2f}", file=sys.stderr)


def add(name, kind, flags=()):
    setattr(LoaderKinds, f"test_{name}", lambda self: self.check(kind, flags))


for _kind in loader_kinds.PROGRAMS:
    add(_kind, _kind)
add("pool_match", "pool", ["--loader-match=python*"])
add("openmp_match", "openmp", ["--loader-match=openmp_loader"])

if __name__ == "__main__":
    agent_case.main()
