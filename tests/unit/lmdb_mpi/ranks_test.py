"""Every record is read once per epoch, in the epoch's order, with liblmdb's
contents."""

import unittest

from mpi_case import MpiCase


class Ranks(MpiCase):

    def check(self, ranks, ranks_per_buffer):
        self.expect(ranks, {rank: "ok" for rank in range(ranks)}, "check",
                    self.database, str(ranks_per_buffer))

    def test_one_rank_gets_every_record_in_order(self):
        self.check(1, 0)

    def test_two_ranks_get_every_record_in_order(self):
        self.check(2, 0)

    def test_four_ranks_on_two_nodes_get_every_record_in_order(self):
        self.check(4, 2)

    def test_five_ranks_on_three_nodes_get_every_record_in_order(self):
        self.check(5, 2)

    def test_sixteen_ranks_get_every_record_in_order(self):
        self.check(16, 0)

    def test_readers_of_a_node_all_use_direct_reads_or_none_does(self):
        for rank in (0, 1, 9):  # the rank without direct reads; 9: none
            with self.subTest(rank=rank):
                self.expect(3, {0: "ok", 1: "ok", 2: "ok"}, "differ",
                            self.database, str(rank))

    def test_without_dm_records_of_uneven_sizes_fit(self):
        self.expect(2, {0: "ok", 1: "ok"}, "room", self.database)

    def test_memory_does_not_grow_over_fifty_epochs(self):
        self.expect(4, {rank: "ok" for rank in range(4)}, "epochs",
                    self.database)

    def test_reads_stay_within_the_rate(self):
        self.expect(4, {rank: "ok" for rank in range(4)}, "paced",
                    self.database)


if __name__ == "__main__":
    unittest.main()
