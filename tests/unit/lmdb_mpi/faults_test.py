"""Each fault is a clear error on every rank, and never a hang."""

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

    def test_a_killed_rank_is_named_on_all_others(self):
        dead = error(UNAVAILABLE, "rank 1 has died in mid-epoch")
        self.run_to("kill", {0: dead, 2: dead, 3: dead})

    def test_a_killed_reading_rank_is_named_on_all_others(self):
        dead = error(UNAVAILABLE, "rank 0 has died in mid-epoch")
        self.run_to("leader", {1: dead, 2: dead, 3: dead})

    def test_a_killed_rank_of_another_node_is_an_error_on_all(self):
        dead = error(UNAVAILABLE, "rank 1 has died in mid-epoch")
        other = error(UNAVAILABLE, "on another node: rank 1 has died")
        self.run_to("kill", {0: dead, 2: other, 3: other}, ranks_per_buffer=2)

    def test_a_killed_reading_rank_of_another_node_is_an_error_on_all(self):
        dead = error(UNAVAILABLE, "rank 0 has died in mid-epoch")
        other = error(UNAVAILABLE, "rank 0 has died|did not pass its turn on")
        self.run_to("leader", {1: dead, 2: other, 3: other}, ranks_per_buffer=2)

    def test_a_shortened_file_is_an_error_on_all_ranks(self):
        cut = error(IO, "data.mdb: .*(has become shorter|ends at byte)")
        self.run_to("truncate", {rank: cut for rank in range(4)})

    def test_a_written_database_is_an_error_on_all_ranks(self):
        written = error(UNAVAILABLE, "data.mdb: .*being written")
        self.run_to("write", {rank: written for rank in range(4)})

    def test_a_closed_reader_is_an_error_on_all_other_ranks(self):
        closed = error(UNAVAILABLE, "rank 1 has (closed its reader|died)")
        self.run_to("close", {0: closed, 1: "closed", 2: closed, 3: closed})

    def test_without_dm_a_record_larger_than_the_buffer_is_an_error(self):
        large = error(LIMIT, "does not suffice at record 0 .dm knows")
        self.expect(2, {0: large, 1: large}, "large", self.database)

    def test_a_cancelled_read_is_an_error(self):
        self.expect(1, {0: error(IO, "the read was cancelled")}, "cancel",
                    self.database)


class Refused(MpiCase):

    def refuse(self, kind, code, text):
        self.expect(3, {rank: error(code, text) for rank in range(3)},
                    "refuse", self.database, kind)

    def test_a_buffer_that_is_too_small_is_refused(self):
        self.refuse("buffer", LIMIT, "need a buffer of .*100000")

    def test_a_buffer_larger_than_the_memory_is_refused(self):
        self.refuse("memory", LIMIT, "smaller buffer_bytes")

    def test_different_options_of_ranks_are_refused(self):
        self.refuse("options", INVALID, "options of rank 1")

    def test_a_file_missing_on_one_rank_is_refused(self):
        self.refuse("missing", NOT_FOUND, "data.mdb.missing: No such file")

    def test_different_databases_of_ranks_are_refused(self):
        self.expect(1, {0: "ok"}, "make", self.database + ".other")
        with open(self.database + ".other", "ab") as other:
            other.write(bytes(4096))
        self.refuse("other", UNAVAILABLE, "state and size of rank 1")

    def copy(self):
        """Copies the file for rank 1; returns the root page's offset."""
        shutil.copyfile(self.database, self.database + ".other")
        with open(self.database, "rb") as file:
            page = struct.unpack_from("<I", file.read(44), 40)[0]
            file.seek(0)
            metas = [file.read(page) for _ in range(2)]
        newest = max(metas, key=lambda meta: meta[144:152][::-1])
        return struct.unpack_from("<Q", newest, 128)[0] * page

    def test_two_copies_of_the_file_on_a_node_are_refused(self):
        self.copy()
        self.refuse("other", UNAVAILABLE, "time of change of rank 1")

    def test_a_copy_with_a_changed_tree_is_refused(self):
        root = self.copy()
        with open(self.database + ".other", "r+b") as other:
            other.seek(root + 4000)
            byte = other.read(1)
            other.seek(root + 4000)
            other.write(bytes([byte[0] ^ 1]))
        self.refuse("other", UNAVAILABLE, "state and size of rank 1")

    def test_different_buffer_sharing_of_ranks_is_refused(self):
        self.refuse("buffers", INVALID, "options of rank 1")

    def test_a_failure_to_start_a_thread_is_an_error_on_all_ranks(self):
        self.refuse("threads", LIMIT, "cannot start a reading thread.*pids.max")

    def test_a_reader_without_descriptors_is_an_error_on_all_ranks(self):
        self.refuse("descriptors", IO, "data.mdb: Too many open files")

    def test_a_missing_rank_is_an_error_on_all_others(self):
        late = error(UNAVAILABLE, "MPI_Ibarrier: not all ranks came")
        self.expect(3, {0: late, 1: "absent", 2: late}, "refuse",
                    self.database, "absent")

    def test_incompatible_switches_are_refused(self):
        self.refuse("switches", INVALID, "dio needs dm")


if __name__ == "__main__":
    unittest.main()
