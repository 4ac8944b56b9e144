"""The transport over MPI, and contexts on it, in programs started by mpirun."""

import os
import subprocess
import tempfile
import unittest


def run(case, ranks, options=(), arguments=()):
    """Each rank's output line, and the exit code."""
    environment = {
        **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_btl": "self,vader"}
    # Two runs of Open MPI 4.1 must not share a folder for sessions: one creates
    # it while the other removes it.
    with tempfile.TemporaryDirectory() as folder:
        environment["OMPI_MCA_orte_tmpdir_base"] = folder
        done = subprocess.run(
            [os.environ["MPIEXEC"], *options, "-n", str(ranks),
             os.environ["RANKS"], case, *arguments],
            env=environment, capture_output=True, text=True, timeout=100)
    return sorted(done.stdout.splitlines()), done.returncode, done.stderr


class MpiTransport(unittest.TestCase):
    def check(self, case, counts, *arguments):
        for ranks in counts:
            with self.subTest(case=case, ranks=ranks):
                lines, code, errors = run(case, ranks, arguments=arguments)
                self.assertEqual(
                    lines, [f"rank {rank}: ok" for rank in range(ranks)],
                    errors)
                self.assertEqual(code, 0, errors)

    def test_messages_of_a_sender_and_tag_arrive_in_order(self):
        self.check("messages", [1, 2, 3])

    def test_all_ranks_have_every_ranks_values(self):
        self.check("all", [1, 2, 5])

    def test_a_message_longer_than_the_receivers_room_is_an_error(self):
        self.check("long", [2])

    def test_operations_without_their_counterpart_block_no_call(self):
        self.check("nothing", [2, 3])

    def test_operations_beyond_the_reserved_number_are_an_error(self):
        self.check("room", [1])

    def test_each_method_sums_all_values(self):
        for method in ("dense", "allgather", "two-phase"):
            self.check(method, [1, 2, 3, 8])

    def test_each_method_sums_all_values_in_a_thread_of_its_context(self):
        for method in ("dense", "allgather", "two-phase"):
            self.check(method, [3], "thread")

    def test_all_other_ranks_name_a_killed_rank(self):
        # Keeps mpirun from ending the other ranks.
        lines, _, errors = run("outlive", 3, ["--enable-recovery"])
        self.assertEqual(len(lines), 2, errors)
        for line in lines:
            self.assertIn("the exchange of layer w is not done after 2 s: "
                          "rank 1 has not answered", line)


if __name__ == "__main__":
    unittest.main()
