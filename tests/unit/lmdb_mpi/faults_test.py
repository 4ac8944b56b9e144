"""What goes wrong is a clear error on every rank, and never a hang."""

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

    def test_switches_that_do_not_go_together(self):
        self.refuse("switches", INVALID, "dio needs dm")


if __name__ == "__main__":
    unittest.main()
