"""Every example in slurm_conf_examples/ works: Slurm runs with it, and jobs
run with the plugin of its plugstack line. Only site-specific values (hosts,
ports, paths, machine sizes) replace the example's. Only the keys in
NEEDED_HERE are added."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import cluster_case
import embedded
import hierarchy
import slurm_files

EXAMPLES = embedded.ROOT / "slurm_conf_examples"
PLUGSTACK = "plugstack.conf.d/penstock.conf"
SITE_PLUGINS = "/usr/lib/x86_64-linux-gnu/slurm-wlm/"
NODE_KEYS = re.compile(
    r"(CPUs|Boards|SocketsPerBoard|CoresPerSocket|ThreadsPerCore)=\d+ ?")


class Example(embedded.EmbeddedCluster):
    """An embedded cluster that reads a copy of an example."""

    def __init__(self, name):
        super().__init__()
        self.example = EXAMPLES / name

    def write_files(self):
        self.expose(self.build / "lib" / "spank_penstock.so")
        gpus = self._write_slurm_conf()
        slurm_files.write_gpus(self.directory, gpus)
        shutil.copy(self.example / "cgroup.conf", self.directory)
        plugstack = (self.example / PLUGSTACK).read_text("utf-8")
        assert plugstack.count(SITE_PLUGINS) == 1, plugstack
        os.mkdir(f"{self.directory}/plugstack.conf.d")
        slurm_files.write(f"{self.directory}/{PLUGSTACK}", plugstack.replace(
            SITE_PLUGINS, f"{self.directory}/bin/"))
        slurm_files.write(f"{self.directory}/plugstack.conf",
                          f"include {self.directory}/plugstack.conf.d/*.conf\n")

    def _write_slurm_conf(self):
        """Writes slurm.conf; returns the number of GPUs of the example's
        first GPU node."""
        text = (self.example / "slurm.conf").read_text("utf-8")
        controller_port, node_port = slurm_files.free_ports(2)
        host = socket.gethostname()
        for key, value in {
                "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmUser": "root",
                "StateSaveLocation": f"{self.directory}/state",
                "SlurmdSpoolDir": f"{self.directory}/spool",
                "SlurmctldPidFile": f"{self.directory}/slurmctld.pid",
                "SlurmdPidFile": f"{self.directory}/slurmd.pid",
                "SlurmctldLogFile": f"{self.directory}/log/slurmctld.log",
                "SlurmdLogFile": f"{self.directory}/log/slurmd.log",
                "PlugStackConfig": f"{self.directory}/plugstack.conf"}.items():
            text, count = re.subn(rf"^{key}=.*$", f"{key}={value}", text,
                                  flags=re.M)
            assert count == 1, f"{self.example}: {count} lines of {key}"
        gpus = int(re.search(r"^NodeName=\S+ .*Gres=gpu:(\d+)", text,
                             re.M).group(1))
        text = self._put_our_node(text, host, node_port)
        text += (f"AuthInfo=socket={self.directory}/munge.sock\n"
                 f"SlurmctldPort={controller_port}\n"
                 f"PluginDir={slurm_files.system_plugin_dir()}:"
                 f"{self.directory}/bin\n"
                 "SlurmdParameters=config_overrides\n")
        slurm_files.write(f"{self.directory}/slurm.conf", text)
        return gpus

    def _put_our_node(self, text, host, port):
        """Our node replaces the GPU nodes; other nodes remain as names that
        do not answer."""
        gpu_nodes = re.search(r"^NodeName=(\S+) .*Gres=gpu", text,
                              re.M).group(1)
        lines = []
        for line in text.replace(gpu_nodes, self.node).splitlines():
            if line.startswith(f"NodeName={self.node} "):
                layout, self.cpus = slurm_files.topology(None)
                line = NODE_KEYS.sub("", line) + (
                    f" NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
                    f"{layout}")
            elif line.startswith("NodeName="):
                line += " NodeAddr=127.0.0.1 Port=1"
            lines.append(line)
        return "\n".join(lines) + "\n"


def check_config(*flags):
    """Runs `penstockd --check-config`; returns the completed process."""
    return subprocess.run(
        [embedded.build_directory() / "bin" / "penstockd", "--check-config",
         *flags], capture_output=True, text=True, timeout=30, check=False)


class Examples(unittest.TestCase):
    def check_runs(self, name, partition):
        with Example(name) as cluster:
            shown = cluster.command("scontrol", "show", "config").stdout
            for key, value in {"SelectType": "select/cons_tres",
                               "TaskPlugin": "task/cgroup,task/affinity",
                               "ProctrackType": "proctrack/cgroup"}.items():
                self.assertRegex(shown, rf"(?m)^{key} *= {value}$")
            done = cluster.srun(
                "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; cat /proc/self/cgroup",
                flags=[f"--partition={partition}", "--loader=auto"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[0], "0")
            self.assertTrue(hierarchy.in_step(cluster.node, done.stdout),
                            done.stdout)
            self.assertEqual(done.stderr, "")
            text = cluster.logs("slurmd", "slurmctld", lines=1000)
            self.assertNotIn("fatal", text)
            self.assertNotIn("penstock: plugstack argument", text)

    def test_one_machine_runs_jobs(self):
        self.check_runs("one_machine", "train")

    def test_gpu_partition_runs_jobs(self):
        self.check_runs("gpu_partition", "gpu")

    def test_max_weights_agree(self):
        """The client and the node have the same limit."""
        for example in EXAMPLES.glob("*/penstock.conf"):
            plugin = (example.parent / PLUGSTACK).read_text("utf-8")
            at_client = re.search(r"\bmax_weight=(\S+)", plugin.rsplit(
                "optional", 1)[1])
            on_node = re.search(r"^MaxWeight=(\S+)",
                                example.read_text("utf-8"), re.M)
            self.assertEqual(at_client and at_client.group(1),
                             on_node and on_node.group(1), example)

    def test_penstockd_accepts_each_configuration(self):
        found = sorted(EXAMPLES.glob("*/penstock.conf"))
        self.assertEqual([path.parent.name for path in found],
                         ["gpu_partition", "one_machine"])
        for example in found:
            with tempfile.TemporaryDirectory() as directory:
                # A checkout may be group-writable; a site's file must not be.
                path = pathlib.Path(directory, "penstock.conf")
                slurm_files.write(path, example.read_text("utf-8"))
                done = check_config("-f", path)
                self.assertEqual(done.returncode, 0, done.stderr)
                slurm_files.write(path, "NoSuchKey=1\n")
                self.assertNotEqual(check_config("-f", path).returncode, 0)

    @unittest.skipIf(os.path.exists("/etc/slurm/penstock.conf"),
                     "this machine has a penstock.conf")
    def test_penstockd_needs_a_file_only_where_one_is_named(self):
        done = check_config()
        self.assertEqual(done.returncode, 0, done.stderr)
        done = check_config("-f", "/nowhere/penstock.conf")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("/nowhere/penstock.conf: ", done.stderr)


if __name__ == "__main__":
    cluster_case.main()
