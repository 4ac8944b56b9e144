"""Four nodes and their controller: one rate for a job over its nodes, and
bandwidth that moves between jobs on different nodes.

All nodes stand on this machine's CPUs. On two CPUs a job of two ranks and its
neighbour do not have a CPU each, so ranks of slower nodes stand on the
neighbour's CPU, and figures are compared between two states of the same jobs."""

import glob
import json
import os
import pathlib
import signal
import statistics

import cluster_case
import embedded
import embedded_nodes

CPU_S_PER_SAMPLE = 0.001


class NodesCase(cluster_case.ClusterCase):
    cluster_options = {}

    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded_nodes.NodesCluster(**cls.cluster_options)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        build = embedded.build_directory() / "bin"
        cls.train = cls.cluster.expose(build / "penstock-train")
        cls.data = f"{cls.cluster.directory}/bin/jpeg"
        done = cls.cluster.command(
            str(build / "penstock-demo-data"), "--out", cls.data, "--format",
            "jpeg", "--count", "64")
        assert done.returncode == 0, done.stderr

    def wait(self, what, condition, timeout=30):
        self.cluster._wait(what, condition, timeout)

    def profile(self, name, ceiling, cpu_s=CPU_S_PER_SAMPLE, more=""):
        path = pathlib.Path(self.cluster.home(), f"{name}.toml")
        path.write_text(f'name = "{name}"\n'
                        f"accelerator_s_per_sample = {1 / ceiling}\n"
                        f"loader_cpu_s_per_sample = {cpu_s}\n{more}", "utf-8")
        return path

    def trainer(self, name, ceiling, extra=""):
        """A shell command; each rank has a log of its own."""
        return (f"{self.train} --data {self.data} --batch 16 "
                f"--accelerator-s-per-sample {1 / ceiling} --duration 120 "
                f"--log {self.cluster.home()}/{name}.$SLURM_PROCID.log {extra}")

    def submit(self, name, ceiling, nodes, command, more_profile=""):
        """A job with one task of one CPU on each of the nodes."""
        profile = self.profile(name, ceiling, more=more_profile)
        flags = [f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}",
                 "--ntasks-per-node=1", "--loader=auto",
                 f"--loader-model={profile}"]
        script = "#!/bin/sh\nexec srun --loader=auto " \
            f"--loader-model={profile} sh -c '{command}'\n"
        job = self.cluster.sbatch(script, gpus=1, flags=flags)
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def rate(self, name, seconds, rank=0):
        log = pathlib.Path(self.cluster.home(), f"{name}.{rank}.log")

        def points():
            try:
                lines = log.read_text("utf-8").splitlines()
            except FileNotFoundError:
                return []
            return [json.loads(line) for line in lines if line.endswith("}")]

        self.wait(f"{name}'s log", points)
        start = points()[-1]
        self.wait(f"{seconds} s of {name}'s log", lambda: points()[-1][
            "t_monotonic"] >= start["t_monotonic"] + seconds, seconds + 20)
        end = points()[-1]
        return ((end["samples"] - start["samples"])
                / (end["t_monotonic"] - start["t_monotonic"]))

    def granted(self, node):
        """How often the node's penstockd took a grant."""
        return self.cluster.log_of(f"penstockd-{node}").count("grant of term")

    def wait_granted(self):
        for node in self.cluster.nodes:
            self.wait(f"a grant for {node}", lambda node=node:
                      self.granted(node) > 0)


class OneController(NodesCase):
    def test_jobs_over_two_and_four_nodes_move_at_one_rate(self):
        self.wait_granted()
        for count in (2, 4):
            nodes = self.cluster.nodes[:count]
            name = f"span{count}"
            self.submit(name, 20, nodes, self.trainer(
                name, 20, f"--meet 127.0.0.1:{18000 + os.getpid() % 1000}"))
            for rank in range(count):
                self.rate(name, 1, rank)
            rates = [self.rate(name, 3, rank) for rank in range(count)]
            self.assertAlmostEqual(max(rates) / min(rates), 1, delta=0.1)
            for node in nodes:
                self.wait(f"the job on {node}",
                          lambda node=node: self.cluster.status_of(node)["jobs"])
            self.cluster.cancel(*(str(job["id"])
                                  for job in self.cluster.squeue()))
            self.cluster.wait_empty()


if __name__ == "__main__":
    cluster_case.main()
