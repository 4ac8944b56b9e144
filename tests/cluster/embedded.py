"""A real Slurm of one node in one private directory, for tests and the demo.

It runs a private munged (with its own key and socket), slurmctld, slurmd and,
if requested, penstockd, on loopback and free ports. The machine's own Slurm and
munge are unaffected. Needs root, Debian's Slurm packages and control groups.

    with EmbeddedCluster(agent=True) as cluster:
        job = cluster.sbatch("#!/bin/sh\\nsleep 1\\n", gpus=1)
        cluster.wait_job(job, "COMPLETED", timeout=30)

All waits are bounded; a ClusterError quotes the last lines of the logs.
janitor.py removes everything, even after kill -9 of this process.
"""

import atexit
import glob
import json
import os
import pathlib
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import hierarchy
import janitor
import protocol
import slots
import slurm_files

ROOT = pathlib.Path(__file__).resolve().parents[2]
DAEMON_TIMEOUT_S = 60
COMMAND_TIMEOUT_S = 60
PATIENCE = janitor.PATIENCE
ClusterError = slots.ClusterError
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
         "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}


def build_directory():
    """Folder of the binaries: $PENSTOCK_BUILD_DIR, or that of the preset
    release."""
    return pathlib.Path(os.environ.get("PENSTOCK_BUILD_DIR",
                                       ROOT / "build" / "release"))


def missing():
    """The reason why no cluster can run here, as a sentence, or ""."""
    if os.geteuid() != 0:
        return "root is needed (Slurm's daemons make cgroups and devices)"
    if reason := hierarchy.missing():
        return reason
    for program in ("munged", "slurmctld", "slurmd", "srun", "setpriv"):
        if not any(os.access(f"{path}/{program}", os.X_OK) for path in
                   ("/usr/sbin", "/usr/bin", "/sbin", "/bin")):
            return f"{program} is not installed (tools/install-packages)"
    return ""


class EmbeddedCluster:
    """One node; see the module's docstring. Only srun() is thread-safe.

    cpus       None: the machine's own CPUs and layout
    agent      run penstockd from build_directory()
    plugin     False: Slurm without the plugin (the demo's `stock`)
    accounts   load the plugin that reports jobs' accounts to penstockd
    policy, pools, agent_lines   for penstock.conf, see start_agent()
    plugin_arguments   further arguments in plugstack.conf, "key=value" each
    slurm_lines, partition   further text for slurm.conf and its partition
    cgroup_lines   further lines of cgroup.conf, which win over earlier ones
    users      number of ordinary users to make; self.users has their names
    counted_gres   (name, count) each: further GRES of the node, without devices
    submit     lines of penstock.conf with which slurmctld loads
               job_submit_penstock.so ("{directory}" stands for the cluster's);
               None: it does not
    private_tmp   each job has its own /tmp and /dev/shm (job_container/tmpfs)
    """

    def __init__(self, *, cpus=None, agent=False, plugin=True,
                 accounts=False, policy="throughput", pools=(), agent_lines=(),
                 plugin_arguments=(), slurm_lines=(), cgroup_lines=(),
                 partition="", users=1, counted_gres=(), submit=None,
                 build=None, private_tmp=False):
        self.build = pathlib.Path(build or build_directory()).resolve()
        self._agent_wanted = agent
        self._agent_settings = (policy, tuple(pools), tuple(agent_lines))
        self._plugins = (["spank_penstock.so"] * plugin
                         + ["spank_penstock_account.so"] * accounts)
        self._plugin_arguments = plugin_arguments
        self._slurm_settings = (cpus, slurm_lines, partition, counted_gres)
        self._cgroup_lines = cgroup_lines
        self._submit = submit
        self._private_tmp = private_tmp
        self._slot, self._slot_lock = slots.take()
        self.node = f"pst{self._slot}"
        self.users = [f"penstock-test{self._slot}{chr(ord('a') + i)}"
                      for i in range(users)]
        self.user = self.users[0]
        # A job with its own /tmp must see the directory, too.
        parent = "/var/tmp" if private_tmp else "/tmp"
        self._pattern = f"{parent}/{self.node}.*"
        self.directory = f"{parent}/{self.node}.{secrets.token_hex(4)}"
        self.socket_path = f"{self.directory}/run/penstockd.sock"
        self.env = dict(os.environ, SLURM_CONF=f"{self.directory}/slurm.conf",
                        PENSTOCK_SOCKET=self.socket_path)
        self.cpus = 0
        self._cage = hierarchy.cage(self.node)
        self._janitor = None
        self._daemons = {}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *unused):
        self.stop()

    # -- life ---------------------------------------------------------------

    def start(self):
        """Starts all daemons and waits until the node is idle; raises
        ClusterError."""
        if reason := missing():
            raise ClusterError(reason)
        if threading.current_thread() is threading.main_thread():
            # TERM then unwinds the stack, too, and runs stop().
            signal.signal(signal.SIGTERM, lambda *unused: sys.exit(143))
        self._start_janitor()
        self._make_directories()
        self._make_users()
        self.write_files()
        self._start_munged()
        if self._agent_wanted:
            self.start_agent()
        self._start_slurm()

    def _start_slurm(self):
        self._start_daemon("slurmctld", "slurmctld", "-D", "-c")
        self._start_slurmd()
        self._wait("the node to be idle", lambda: "idle" == self._run(
            ["sinfo", "-h", "-n", self.node, "-o", "%t"]).stdout.strip(),
            DAEMON_TIMEOUT_S, ("slurmctld", "slurmd"))

    def _start_slurmd(self):
        self._start_daemon("slurmd", *hierarchy.slurmd_argv(
            self.node, "-D", "-N", self.node))

    def stop(self):
        """Removes the whole cluster; may be called at any time and
        repeatedly."""
        if self._janitor is not None:
            keeper, self._janitor = self._janitor, None
            keeper.stdin.close()
            keeper.wait(timeout=120 * PATIENCE)
            keeper.stdout.close()
            for daemon in self._daemons.values():
                daemon.wait(timeout=10 * PATIENCE)
            if keeper.returncode != 0:
                raise ClusterError("the janitor could not remove everything")
        if self._slot_lock is not None:
            self._slot_lock.close()
            self._slot_lock = None
        atexit.unregister(self.stop)

    def _start_janitor(self):
        remains = dict(directory=self.directory,
                       stale=self._pattern, node=self.node,
                       users=self.users)
        self._janitor = subprocess.Popen(
            [sys.executable, janitor.__file__], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True,
            pass_fds=[self._slot_lock.fileno()])
        atexit.register(self.stop)
        self._janitor.stdin.write(json.dumps(remains) + "\n")
        self._janitor.stdin.flush()
        answer = self._janitor.stdout.readline().strip()
        if answer != "ready":
            raise ClusterError(f"an earlier cluster is in the way: {answer}")

    def _make_directories(self):
        os.mkdir(self._cage)
        os.mkdir(self.directory, 0o711)
        os.chmod(self.directory, 0o711)
        for name in ("dev", "bin", "log", "state", "spool", "run", "reports",
                     "profiles", "home"):
            os.mkdir(f"{self.directory}/{name}")
            os.chmod(f"{self.directory}/{name}", 0o755)

    def _make_users(self):
        for name in self.users:
            home = self.home(name)
            argv = ["useradd", "--no-create-home", "--home-dir", home,
                    "--shell", "/bin/bash", "--no-user-group", "--comment",
                    janitor.USER_COMMENT, name]
            # Another program may briefly hold the lock of /etc/passwd.
            self._wait(f"useradd {name}", lambda argv=argv: subprocess.run(
                argv, capture_output=True, check=False).returncode == 0, 20)
            entry = pwd.getpwnam(name)
            os.mkdir(home, 0o755)
            os.chown(home, entry.pw_uid, entry.pw_gid)

    def write_files(self):
        """Writes Slurm's configuration; tests may override it."""
        plugins = [self.expose(self.build / "lib" / name)
                   for name in self._plugins]
        cpus, lines, partition, counted_gres = self._slurm_settings
        lines = [*lines, *self._write_submit_files()]
        if self._private_tmp:
            lines += slurm_files.private_tmp_lines(self.directory)
        self.cpus = slurm_files.write_slurm_files(
            self.directory, self.node, cpus, lines, partition,
            counted_gres=counted_gres, cgroup_lines=self._cgroup_lines)
        slurm_files.write_plugstack(self.directory, plugins,
                                    self._plugin_arguments)

    def _write_submit_files(self):
        """Returns the lines of slurm.conf that load the plugin."""
        if self._submit is None:
            return []
        self.write_submit_conf(self._submit)
        return slurm_files.submit_lines(
            self.expose(self.build / "lib" / "job_submit_penstock.so"))

    def write_submit_conf(self, lines):
        """Writes the penstock.conf that slurmctld's plugin reads when it is
        loaded."""
        slurm_files.write(f"{self.directory}/penstock.conf",
                          "\n".join([*self.filled_in(lines), ""]))

    def filled_in(self, lines):
        """Lines of penstock.conf with the cluster's directory."""
        return [line.format(directory=self.directory) for line in lines]

    def home(self, user=None):
        """The user's home: working directory and output folder of its jobs."""
        return f"{self.directory}/home/{user or self.user}"

    def expose(self, path):
        """Copies the file to a folder that ordinary users can access; returns
        its path.

        The source tree may be in a home that is closed to them."""
        try:
            return shutil.copy(path, f"{self.directory}/bin")
        except FileNotFoundError as error:
            raise ClusterError(f"{path} is not there: build it first, or set "
                               "PENSTOCK_BUILD_DIR") from error

    # -- daemons ------------------------------------------------------------

    def _caged(self, argv):
        """Runs argv as a process of the cage, in which all its children
        stay."""
        return ["/bin/sh", "-c", 'echo 0 >"$0"/cgroup.procs && exec "$@"',
                self._cage, *map(str, argv)]

    def _start_daemon(self, name, *argv, env=None):
        # slurmctld and slurmd also write their own logs.
        with open(f"{self.directory}/log/{name}.out", "ab") as log:
            self._daemons[name] = subprocess.Popen(
                self._caged(argv), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=dict(self.env, **(env or {})),
                start_new_session=True, cwd=self.directory)

    def _start_munged(self):
        key = f"{self.directory}/munge.key"
        slurm_files.write(key, secrets.token_hex(64), 0o600)
        self._start_daemon(
            "munged", "munged", "--foreground", f"--key-file={key}",
            f"--socket={self.directory}/munge.sock",
            f"--pid-file={self.directory}/munged.pid",
            f"--seed-file={self.directory}/munge.seed")
        self._wait("munged's socket", lambda: os.path.exists(
            f"{self.directory}/munge.sock"), DAEMON_TIMEOUT_S, ("munged",))

    def start_agent(self, *, policy=None, pools=None, lines=None):
        """Starts penstockd; an argument of None keeps its last value."""
        given = (policy, pools, lines)
        self._agent_settings = tuple(
            old if new is None else new
            for old, new in zip(self._agent_settings, given))
        policy, pools, lines = self._agent_settings
        slurm_files.write_penstock_conf(self.directory, self.node, policy,
                                        pools, lines)
        self._start_daemon("penstockd", self.build / "bin" / "penstockd", "-f",
                           f"{self.directory}/penstock.conf", "-N", self.node)
        self._wait("penstockd's socket", self._agent_answers,
                   DAEMON_TIMEOUT_S, ("penstockd",))

    def restart_controller(self):
        """Restarts slurmctld with its jobs; waits until it knows the node
        again."""
        daemon = self._daemons.pop("slurmctld")
        daemon.terminate()
        daemon.wait(DAEMON_TIMEOUT_S)
        self._start_daemon("slurmctld", "slurmctld", "-D")
        self._wait("slurmctld to know its nodes", self._are_nodes_up,
                   DAEMON_TIMEOUT_S, ("slurmctld",))

    def restart_slurmd(self):
        """Restarts slurmd; its jobs go on."""
        self._stop_daemon("slurmd", signal.SIGTERM)
        self._start_slurmd()

    def _are_nodes_up(self):
        states = self._run(["sinfo", "-h", "-N", "-o", "%t"]).stdout.split()
        return bool(states) and set(states) <= {"idle", "mix", "alloc"}

    @property
    def controller_pid(self):
        return self._daemons["slurmctld"].pid

    def _agent_answers(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            return probe.connect_ex(self.socket_path) == 0

    def stop_agent(self, number=signal.SIGTERM, timeout=20):
        """Ends penstockd with the signal; returns its exit status."""
        return self._stop_daemon("penstockd", number, timeout)

    def is_started(self, name):
        """Whether the daemon was started and not stopped by the caller."""
        return name in self._daemons

    def has_ended(self, name):
        return self._daemons[name].poll() is not None

    def _stop_daemon(self, name, number, timeout=20):
        daemon = self._daemons.pop(name)
        daemon.send_signal(number)
        try:
            return daemon.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired as error:
            daemon.kill()
            daemon.wait()
            raise ClusterError(f"{name} ignores signal {int(number)}"
                               + self.logs(name)) from error

    @property
    def agent_pid(self):
        return self._daemons["penstockd"].pid

    # -- jobs ---------------------------------------------------------------

    def _run(self, argv, user=None, timeout=COMMAND_TIMEOUT_S, extra_env=None,
             text_in=None):
        """Runs a Slurm command in the cage as user (None: root)."""
        env = dict(self.env, **(extra_env or {}))
        cwd = self.directory
        if user is not None:
            entry = pwd.getpwnam(user)
            argv = ["setpriv", f"--reuid={entry.pw_uid}",
                    f"--regid={entry.pw_gid}", "--clear-groups", *argv]
            env.update(HOME=entry.pw_dir, USER=user, LOGNAME=user)
            cwd = entry.pw_dir
        try:
            return subprocess.run(
                self._caged(argv), input=text_in, capture_output=True,
                text=True, env=env, cwd=cwd, timeout=timeout * PATIENCE,
                check=False,
                stdin=None if text_in is not None else subprocess.DEVNULL)
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"{argv} took over {timeout} s"
                               + self.logs()) from error

    def _resources(self, gpus, cpus, flags):
        return [f"--gres=gpu:{gpus}"] * bool(gpus) + [
            f"--cpus-per-task={cpus}", *flags]

    def srun(self, *command, user=None, gpus=1, cpus=1, flags=(), env=None,
             timeout=COMMAND_TIMEOUT_S):
        """Runs srun; its CompletedProcess (returncode, stdout, stderr as
        text)."""
        return self._run(["srun", *self._resources(gpus, cpus, flags),
                          *command], user or self.user, timeout, env)

    def try_sbatch(self, script, user=None, gpus=1, cpus=1, flags=(),
                   env=None):
        """Runs sbatch, also for jobs that may be rejected; its
        CompletedProcess.

        script: the text of a batch script, or a command as a list."""
        if not isinstance(script, str):
            script = "#!/bin/sh\nexec " + " ".join(
                "'" + str(part).replace("'", "'\\''") + "'" for part in script)
        return self._run(["sbatch", "--parsable",
                          *self._resources(gpus, cpus, flags)],
                         user or self.user, extra_env=env,
                         text_in=script + "\n")

    def sbatch(self, script, **options):
        """Submits like try_sbatch(); returns the job's id, or raises
        ClusterError."""
        done = self.try_sbatch(script, **options)
        if done.returncode != 0:
            raise ClusterError("sbatch: " + done.stderr + self.logs())
        return int(done.stdout.strip().split(";")[0])

    def command(self, *argv, user=None, timeout=COMMAND_TIMEOUT_S, env=None):
        """Runs any other command in the cluster's environment."""
        return self._run([*argv], user, timeout, env)

    def job(self, job_id):
        """The output of `scontrol show job` as a dict of texts."""
        done = self._run(["scontrol", "-o", "show", "job", job_id])
        return dict(re.findall(r"(\S+?)=(\S*)", done.stdout))

    def wait_job(self, job_id, state="COMPLETED", timeout=60):
        """Waits for the state; raises if the job ends in another state."""
        def reached():
            now = self.job(job_id).get("JobState", "unknown")
            if now != state and now in ENDED:
                raise ClusterError(f"job {job_id} is {now}, not {state}: "
                                   + self.output(job_id) + self.logs())
            return now == state

        self._wait(f"job {job_id} to be {state}", reached, timeout)

    def output(self, job_id, user=None):
        """The batch job's default output file so far."""
        try:
            return pathlib.Path(self.home(user),
                                f"slurm-{job_id}.out").read_text("utf-8")
        except FileNotFoundError:
            return ""

    def cancel(self, *job_ids):
        self._run(["scancel", *job_ids])

    def squeue(self):
        """Jobs that are queued or running: dicts of id, state, name, user."""
        lines = self._run(["squeue", "-h", "-o", "%A|%T|%j|%u"]).stdout
        return [dict(zip(("id", "state", "name", "user"),
                         (int(part) if index == 0 else part for index, part in
                          enumerate(line.split("|")))))
                for line in lines.splitlines()]

    def wait_empty(self, timeout=60):
        """Waits until no job is queued or running."""
        self._wait("the queue to be empty", lambda: not self.squeue(), timeout)

    # -- what the node agent says --------------------------------------------

    def ask(self, packet, timeout=10):
        """Sends a message from this process; returns penstockd's reply."""
        reply, fds = protocol.ask(self.socket_path, packet, timeout * PATIENCE)
        for fd in fds:
            os.close(fd)
        return reply

    def status(self, job_id=0, timeout=10, path=None):
        """penstockd's JSON (PENSTOCK_STATUS of common/protocol.h)."""
        reply, fds = protocol.ask(
            path or self.socket_path,
            protocol.pack(protocol.STATUS, job_id, 0), timeout * PATIENCE)
        if reply.type != protocol.REPLY or reply.status != 0:
            raise ClusterError(f"status: {os.strerror(reply.status)}: "
                               f"{reply.text}")
        return json.loads(protocol.document(fds[0]))

    def penstock_cgroups(self):
        """Paths of the groups that penstockd has made and not removed."""
        return hierarchy.our_groups(self.node)

    # -- waiting and explaining ----------------------------------------------

    def _wait(self, what, condition, timeout, daemons=()):
        """Polls; raises if the time is up or a daemon has ended."""
        timeout *= PATIENCE
        deadline = time.monotonic() + timeout
        while not condition():
            for name in daemons:
                code = self._daemons[name].poll()
                if code is not None:
                    raise ClusterError(f"{name} ended with status {code} while "
                                       f"waiting for {what}{self.logs(name)}")
            if time.monotonic() > deadline:
                raise ClusterError(f"waited {timeout} s for {what}"
                                   + self.logs(*daemons))
            time.sleep(0.03)

    def logs(self, *names, lines=15):
        """The last lines of each log (of all logs if none is named)."""
        text = ""
        for path in sorted(glob.glob(f"{self.directory}/log/*")):
            name = pathlib.Path(path).stem
            if path.endswith(".out") and os.path.exists(path[:-3] + "log"):
                continue  # the same lines
            tail = pathlib.Path(path).read_text("utf-8", "replace")
            if tail and (not names or name in names):
                text += f"\n--- {os.path.basename(path)}\n" + "\n".join(
                    tail.splitlines()[-lines:])
        return text
