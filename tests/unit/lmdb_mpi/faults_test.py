"""What goes wrong is a clear error on every rank, and never a hang."""

import shutil
import struct
import unittest

from mpi_case import MpiCase

IO, UNAVAILABLE, INVALID, NOT_FOUND, LIMIT = 3, 5, 0, 1, 6


def error(code, text):
    return f"^error {code}: .*{text}"


class Faults(MpiCase):

    def run_to(self, kind, texts, ranks_per_buffer=0, ranks=4):
        for turns in ("0", "1"):
            with self.subTest(turns=turns):
                self.make()
                self.expect(ranks, texts, "fail", self.database,
                            str(ranks_per_buffer), kind, turns)

    def test_a_rank_is_killed(self):
        dead = error(UNAVAILABLE, "rank 1 has died in mid-epoch")
        self.run_to("kill", {0: dead, 2: dead, 3: dead})

    def test_the_reader_is_killed(self):
        dead = error(UNAVAILABLE, "rank 0 has died in mid-epoch")
        self.run_to("leader", {1: dead, 2: dead, 3: dead})

    def test_a_rank_of_another_node_is_killed(self):
        dead = error(UNAVAILABLE, "rank 1 has died in mid-epoch")
        other = error(UNAVAILABLE, "on another node: rank 1 has died")
        self.run_to("kill", {0: dead, 2: other, 3: other}, ranks_per_buffer=2)

    def test_the_reader_of_another_node_is_killed(self):
        dead = error(UNAVAILABLE, "rank 0 has died in mid-epoch")
        other = error(UNAVAILABLE, "rank 0 has died|did not pass its turn on")
        self.run_to("leader", {1: dead, 2: other, 3: other}, ranks_per_buffer=2)

    def test_the_file_becomes_shorter(self):
        cut = error(IO, "data.mdb: .*(has become shorter|ends at byte)")
        self.run_to("truncate", {rank: cut for rank in range(4)})

    def test_the_database_is_written(self):
        written = error(UNAVAILABLE, "data.mdb: .*being written")
        self.run_to("write", {rank: written for rank in range(4)})

    def test_a_rank_closes_its_reader(self):
        closed = error(UNAVAILABLE, "rank 1 has (closed its reader|died)")
        self.run_to("close", {0: closed, 1: "closed", 2: closed, 3: closed})

    def test_a_record_is_larger_than_the_room_without_dm(self):
        large = error(LIMIT, "does not suffice at record 0 .dm knows")
        self.expect(2, {0: large, 1: large}, "large", self.database)

    def test_a_read_is_cancelled(self):
        self.expect(1, {0: error(IO, "the read was cancelled")}, "cancel",
                    self.database)


class Refused(MpiCase):

    def refuse(self, kind, code, text):
        self.expect(3, {rank: error(code, text) for rank in range(3)},
                    "refuse", self.database, kind)

    def test_a_buffer_too_small(self):
        self.refuse("buffer", LIMIT, "need a buffer of .*100000")

    def test_no_memory_for_the_buffer(self):
        self.refuse("memory", LIMIT, "smaller buffer_bytes")

    def test_options_that_differ(self):
        self.refuse("options", INVALID, "options of rank 1")

    def test_a_file_that_one_rank_does_not_see(self):
        self.refuse("missing", NOT_FOUND, "data.mdb.missing: No such file")

    def test_ranks_that_see_different_databases(self):
        self.expect(1, {0: "ok"}, "make", self.database + ".other")
        with open(self.database + ".other", "ab") as other:
            other.write(bytes(4096))
        self.refuse("other", UNAVAILABLE, "state and size of rank 1")

    def copy(self):
        """A copy for rank 1, as cp makes it; where its root page is."""
        shutil.copyfile(self.database, self.database + ".other")
        with open(self.database, "rb") as file:
            page = struct.unpack_from("<I", file.read(44), 40)[0]
            file.seek(0)
            metas = [file.read(page) for _ in range(2)]
        newest = max(metas, key=lambda meta: meta[144:152][::-1])
        return struct.unpack_from("<Q", newest, 128)[0] * page

    def test_a_node_that_has_two_files(self):
        self.copy()
        self.refuse("other", UNAVAILABLE, "time of change of rank 1")

    def test_a_copy_whose_tree_was_changed(self):
        root = self.copy()
        with open(self.database + ".other", "r+b") as other:
            other.seek(root + 4000)
            byte = other.read(1)
            other.seek(root + 4000)
            other.write(bytes([byte[0] ^ 1]))
        self.refuse("other", UNAVAILABLE, "state and size of rank 1")

    def test_ranks_that_share_buffers_differently(self):
        self.refuse("buffers", INVALID, "options of rank 1")

    def test_no_thread_can_be_had(self):
        self.refuse("threads", LIMIT, "cannot start a reading thread.*pids.max")

    def test_a_reader_has_no_descriptors_left(self):
        self.refuse("descriptors", IO, "data.mdb: Too many open files")

    def test_a_rank_does_not_come(self):
        late = error(UNAVAILABLE, "MPI_Ibarrier: not all ranks came")
        self.expect(3, {0: late, 1: "absent", 2: late}, "refuse",
                    self.database, "absent")

    def test_switches_that_do_not_go_together(self):
        self.refuse("switches", INVALID, "dio needs dm")


if __name__ == "__main__":
    unittest.main()
