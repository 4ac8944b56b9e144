"""A real Slurm of several nodes on this machine: a slurmd and a penstockd per
node, and penstockctld. All nodes have the machine's own CPUs, so that jobs of
two nodes can share a CPU: statements about CPUs refer to their numbers.

    with NodesCluster(nodes=4, controllers=2) as cluster:
        job = cluster.sbatch("#!/bin/sh\\nsrun hostname\\n",
                             flags=["--nodes=2"])
"""

import os
import pathlib
import signal

import embedded
import hierarchy
import slurm_files

TIMEOUT_S = 4  # default of ControllerTimeout


def user_lines(user):
    """Lines of penstock.conf."""
    return [f"ControllerUser={user}"] if user else []


def as_user(user):
    """The start of a command that another uid runs, without capabilities."""
    return (["setpriv", f"--reuid={user}", f"--regid={user}",
             "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
            if user else [])


class NodesCluster(embedded.EmbeddedCluster):
    """Several nodes; see the module's docstring.

    agent        run Penstock's daemons
    nodes        number of nodes; self.nodes has their names
    controllers  number of penstockctld, each with its own port
    timeout_s    ControllerTimeout
    pools        (name, path, bandwidth), shared by all nodes
    controller_user  the controllers' uid and ControllerUser=, which needs no
                     account; None: root
    other arguments are EmbeddedCluster's"""

    def __init__(self, *, nodes=4, controllers=1, pools=(), agent_lines=(),
                 policy="throughput", timeout_s=TIMEOUT_S, agent=True,
                 controller_user=None, **more):
        super().__init__(agent=agent, policy=policy, pools=pools,
                         agent_lines=agent_lines, **more)
        self.nodes = [f"{self.node}n{index + 1}" for index in range(nodes)]
        self._settings = (policy, tuple(pools), tuple(agent_lines))
        # Each node's plugin needs the socket of its own penstockd.
        del self.env["PENSTOCK_SOCKET"]
        self._timeout_s = timeout_s
        self._controller_user = controller_user
        self.controllers = []
        self._controller_count = controllers

    # -- files ----------------------------------------------------------------

    def _make_directories(self):
        super()._make_directories()
        for name in self.nodes:
            os.mkdir(f"{self.directory}/run.{name}", 0o755)
            os.mkdir(f"{self.directory}/tmp.{name}")
            os.chmod(f"{self.directory}/tmp.{name}", 0o1777)

    def write_files(self):
        plugins = [self.expose(self.build / "lib" / name)
                   for name in self._plugins]
        cpus, lines, partition, counted_gres = self._slurm_settings
        lines = [*lines, *self._write_submit_files()]
        self.cpus = slurm_files.write_slurm_files(
            self.directory, self.node, cpus, lines, partition, self.nodes,
            counted_gres, self._addresses(), self._cgroup_lines)
        for name in ["", *self.nodes]:
            slurm_files.write_plugstack(self.directory, plugins,
                                        self._plugin_arguments, name)
        # After the ports of slurmctld and the slurmds, which are not bound yet.
        taken = 1 + len(self.nodes)
        ports = slurm_files.free_ports(taken + self._controller_count)[taken:]
        self.controllers = [f"127.0.0.1:{port}" for port in ports]
        self.conf_of = {name: self._write_conf(name) for name in self.nodes}

    def _addresses(self):
        """Addresses for write_slurm_files()."""
        return None

    def set_policy(self, name, policy):
        """Takes effect at the next start of the node's penstockd."""
        self.conf_of[name] = self._write_conf(name, policy=policy)

    def write_submit_conf(self, lines):
        super().write_submit_conf(
            [*lines, *user_lines(self._controller_user)])

    def _write_conf(self, name, extra=(), policy=None, user=None):
        given, pools, lines = self._settings
        policy = policy or given
        lines = [*lines, f"MungeSocket={self.directory}/munge.sock",
                 f"ControllerTimeout={self._timeout_s}",
                 *user_lines(user or self._controller_user), *extra]
        if self.controllers:
            lines.append("Controller=" + ",".join(self.controllers))
        return slurm_files.write_penstock_conf(
            self.directory, self.node, policy, pools, lines, name)

    # -- daemons --------------------------------------------------------------

    def write_login_conf(self):
        """Writes the penstock.conf of a machine that has neither penstockd nor
        reports; returns its path."""
        path = f"{self.directory}/login.conf"
        slurm_files.write(path, "".join(f"{line}\n" for line in (
            f"SocketPath={self.directory}/none/penstockd.sock",
            f"ReportDir={self.directory}/none",
            f"ProfileDir={self.directory}/none",
            f"MungeSocket={self.directory}/munge.sock",
            f"Controller={','.join(self.controllers)}")))
        return path

    def socket_of(self, name):
        return f"{self.directory}/run.{name}/penstockd.sock"

    def start_agent(self, **unused):
        """Starts all of Penstock's daemons."""
        for index in range(len(self.controllers)):
            self.start_controller(index)
        for name in self.nodes:
            self.start_agent_of(name)

    def state_of_controller(self, index=0):
        """Folder of the files of one penstockctld, which belongs to its
        user."""
        return f"{self.directory}/penstockctld{index}"

    def start_controller(self, index=0, program="penstockctld", user=None):
        """user: the uid if not the cluster's; one other than root's is also
        its ControllerUser=."""
        name = f"penstockctld{index}"
        user = self._controller_user if user is None else user
        state = self.state_of_controller(index)
        conf = self._write_conf(
            name, [f"ControllerStateDir={state}",
                   f"HistoryFile={state}/history.sqlite",
                   *self.filled_in(self._submit or ())], user=user)
        if user and not os.path.exists(state):
            os.mkdir(state)
            os.chmod(state, 0o711)
            os.chown(state, user, user)
        self._start_daemon(name, *as_user(user),
                           self._program_for(user, program), "-f", conf, "-c",
                           self.controllers[index])

    def _program_for(self, user, program):
        built = self.build / "bin" / program
        exposed = f"{self.directory}/bin/{program}"
        if not user:
            return built
        # While it runs, the file cannot be written.
        return exposed if os.path.exists(exposed) else self.expose(built)

    def stop_controller(self, index=0, number=signal.SIGTERM):
        return self._stop_daemon(f"penstockctld{index}", number)

    def daemon_pid(self, name):
        return self._daemons[name].pid

    def controller_pid(self, index=0):
        return self.daemon_pid(f"penstockctld{index}")

    def launch_agent_of(self, name, program="penstockd"):
        """Starts penstockd, and does not wait for it."""
        self._start_daemon(f"penstockd.{name}", self.build / "bin" / program,
                           "-f", self.conf_of[name], "-N", name)

    def start_agent_of(self, name, program="penstockd"):
        self.launch_agent_of(name, program)
        self._wait(f"penstockd of {name}", lambda: os.path.exists(
            self.socket_of(name)), embedded.DAEMON_TIMEOUT_S,
            (f"penstockd.{name}",))

    def stop_agent_of(self, name, number=signal.SIGTERM):
        return self._stop_daemon(f"penstockd.{name}", number)

    def _start_slurm(self):
        self._start_daemon("slurmctld", "slurmctld", "-D", "-c")
        for name in self.nodes:
            self._start_daemon(
                f"slurmd.{name}", *self._slurmd_argv(name),
                env={"SLURM_CONF": f"{self.directory}/slurm.{name}.conf"})
        self._wait("all nodes to be idle", lambda: self._run(
            ["sinfo", "-h", "-N", "-o", "%t"]).stdout.split() ==
            ["idle"] * len(self.nodes), embedded.DAEMON_TIMEOUT_S,
            ("slurmctld", *(f"slurmd.{name}" for name in self.nodes)))

    def _slurmd_argv(self, name):
        return hierarchy.slurmd_argv(name, "-D", "-N", name)

    # -- what is known --------------------------------------------------------

    def status_of(self, name, job_id=0):
        """The JSON status of one node's penstockd."""
        return self.status(job_id, path=self.socket_of(name))

    def log_of(self, daemon):
        """The whole log of a daemon."""
        return pathlib.Path(self.directory, "log",
                            f"{daemon}.out").read_text("utf-8", "replace")

    def away_cpus(self, name, job):
        """The CPUs lent to a job on a node, as the kernel lists them."""
        return hierarchy.away_cpus(name, job)
