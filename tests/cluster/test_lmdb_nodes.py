"""An LMDB database read by the ranks of a step on four nodes. srun starts
them through PMIx, like an MPI program."""

import json
import pathlib
import random
import shutil
import unittest

import cluster_case
import embedded
import embedded_nodes

BENCH = embedded.build_directory() / "bin" / "penstock-lmdb-bench"
PENSTOCK = embedded.build_directory() / "bin" / "penstock"
RECORDS = 2000
NODES = 4
# No traffic leaves the machine; waiting ranks yield their CPU.
SETTINGS = {"OMPI_MCA_btl": "self,vader,tcp",
            "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_mpi_yield_when_idle": "1"}
# The nodes are one machine with one host name and one /dev/shm. Open MPI names
# its files there by the host name and by the rank within its node.
ON_NODE = ('d=$0/$SLURMD_NODENAME; mkdir -p "$d"; '
           'export OMPI_MCA_btl_vader_backing_directory="$d" '
           'OMPI_MCA_osc_sm_backing_directory="$d"; ')
# This process becomes the rank, one second after it has the node's buffer.
KILL = ('[ "$SLURM_PROCID" != {rank} ] || (until grep -q osc_sm '
        '/proc/$$/maps; do sleep 0.1; done; sleep {wait_s}; ls "$d" >&2; '
        'kill -KILL $$) & ')


@unittest.skipUnless(BENCH.exists(), "SKIPPED: built without MPI")
class LmdbNodes(cluster_case.ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = embedded_nodes.NodesCluster(nodes=NODES)
        # Used by this run only. Removed after the cluster, because PMIx removes
        # files in it until the cluster stops.
        cls.shared = pathlib.Path(
            "/dev/shm", pathlib.Path(cls.cluster.directory).name)
        cls.shared.mkdir()
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.shared.chmod(0o1777)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        cls.bench = cls.cluster.expose(BENCH)
        cls.database = cls.import_records()

    @classmethod
    def import_records(cls):
        home = pathlib.Path(cls.cluster.home())
        files = home / "records"
        files.mkdir()
        source = random.Random(6)
        for number in range(RECORDS):
            data = source.randbytes(source.randrange(6000, 18000))
            (files / f"{number:05}.jpg").write_bytes(data)
        # Owned by the user: liblmdb creates its lock file beside it.
        done = cls.cluster.command(cls.cluster.expose(PENSTOCK), "lmdb",
                                   "import", files, home / "database",
                                   user=cls.cluster.user)
        assert done.returncode == 0, done.stderr
        return home / "database"

    def start(self, ranks, *words, nodes=NODES, before=""):
        """Runs a step to its end."""
        return self.cluster.srun(
            "sh", "-c", ON_NODE + before + 'exec "$@"', self.shared,
            self.bench, self.database, "--batch", "8", *words, env=SETTINGS,
            timeout=120,
            flags=["--mpi=pmix", f"--nodes={nodes}", f"--ntasks={ranks}",
                   "--overcommit"])

    def read(self, ranks, *words, nodes=NODES):
        """The output lines of a step's ranks."""
        done = self.start(ranks, *words, nodes=nodes)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(sorted(line["rank"] for line in lines),
                         list(range(ranks)))
        self.assertEqual(sum(line["records"] for line in lines), RECORDS)
        return lines

    def total(self, lines):
        return sum(line["checksum"] for line in lines) % 2 ** 64

    def test_ranks_on_four_nodes_read_what_one_reads(self):
        stock = self.total(self.read(1, "--switches", "none", nodes=1))
        for ranks in (4, 16):
            for words in ([], ["--shuffle"], ["--cold", "--direct", "on"]):
                with self.subTest(ranks=ranks, words=words):
                    lines = self.read(ranks, *words)
                    self.assertEqual(self.total(lines), stock)
                    # One reader per node, and all use the index.
                    reading = [line for line in lines if line["is_reading"]]
                    self.assertEqual(len(reading), NODES)
                    self.assertTrue(all(line["is_from_sidecar"]
                                        for line in reading))
                    counts = {line["records"] for line in lines}
                    self.assertLessEqual(max(counts) - min(counts), 8)

    def test_nodes_take_turns(self):
        stock = self.total(self.read(1, "--switches", "none", nodes=1))
        lines = self.read(16, "--switches", "lmm,dm,dio,prov,coal,stag")
        self.assertEqual(self.total(lines), stock)

    def test_stock_reads_the_same(self):
        self.assertEqual(
            self.total(self.read(4, "--switches", "none")),
            self.total(self.read(4)))

    def test_a_rank_is_killed_in_mid_epoch(self):
        for rank in (4, 5):  # on the second node: its reader, another rank
            with self.subTest(rank=rank):
                done = self.start(16, "--epochs", "1000000",
                                  before=KILL.format(
                                      rank=rank, wait_s=embedded.PATIENCE))
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"task {rank}: Killed", done.stderr)
                dead = f"rank {rank} has died in mid-epoch"
                said = {line["rank"]: line["error"] for line in
                        map(json.loads, done.stdout.splitlines())}
                self.assertEqual(said, {
                    other: dead if other // 4 == 1
                    else "on another node: " + dead
                    for other in range(16) if other != rank}, done.stderr)
                # There was shared memory, and it is removed.
                self.assertIn("vader_segment", done.stderr)
                self.cluster.wait_empty()
                self.assertEqual([path for path in self.shared.rglob("*")
                                  if not path.is_dir()], [])


if __name__ == "__main__":
    cluster_case.main()
