"""cache_peers= of Loader and SharedLoader: nodes with a common cache."""

import logging
import os
import unittest
from unittest import mock

import peer_case
from cache_case import CacheCase
from loader_case import numbers, penstock_loader
from peer_case import NODES, RECORDS, TENSOR_BYTES, PeerCase


@unittest.skipIf(peer_case.missing(), f"SKIPPED: {peer_case.missing()}")
class PeersTest(PeerCase):
    def check_nodes(self, kind, *options):
        munged = self.start_munged()
        nodes = [
            self.start_node(name, munged, **each)
            for name, each in zip(NODES, options or ({}, {}), strict=True)
        ]

        def ask_all(line):
            for node in nodes:
                node.ask(line)
            return [node.answer() for node in nodes]

        first = ask_all(f"{kind} 1")
        read_bytes = sum(counters["bytes"] for counters in first)
        self.assertGreater(read_bytes, RECORDS * TENSOR_BYTES // 2)
        # Each sample is in its own node's cache, and in no other.
        self.wait_until(lambda: sum(ask_all("cached")) == RECORDS)
        for counters in ask_all(f"{kind} 3"):
            self.assertEqual(counters["bytes"], 0)
            self.assertGreaterEqual(counters["cached"], 3 * RECORDS)
            self.assertGreater(counters["peer"], RECORDS)
            self.assertEqual(counters["peer_bytes"],
                             counters["peer"] * TENSOR_BYTES)
        self.assertEqual(sum(ask_all("cached")), RECORDS)
        for node in nodes:
            _, said = node.process.communicate(timeout=peer_case.WAIT_S)
            self.assertEqual(node.process.returncode, 0)
            # On loopback a node may reach itself at the other's address.
            for line in said.splitlines():
                self.assertRegex(line, "^WARNING:penstock.loader:127.0.0.*"
                                 "speaks for another node or port")

    def test_loaders_read_nothing_after_the_first_epoch(self):
        self.check_nodes("Loader")

    def test_nor_do_shared_loaders(self):
        self.check_nodes("SharedLoader")

    def test_members_of_a_caches_group_serve_each_other(self):
        group = os.getegid()
        self.check_nodes("Loader", {"group": group},
                         {"group": group, "user": 1})

    def test_without_munge_that_is_logged_and_the_cache_is_alone(self):
        node = self.start_node(NODES[0], "/nowhere")
        node.ask("Loader 1")
        self.assertEqual(node.answer()["peer"], 0)
        _, said = node.process.communicate()
        self.assertEqual(node.process.returncode, 0)
        self.assertRegex(said, "WARNING:penstock.loader:without other nodes' "
                         "caches: between nodes: .*systemctl start munge")


class WrongPeersTest(CacheCase):
    def setUp(self):
        super().setUp()
        patched = mock.patch.dict(
            os.environ, SLURMD_NODENAME="n1", PENSTOCK_CACHE_PORTS="4000-4007"
        )
        patched.start()
        self.addCleanup(patched.stop)
        for name in ("SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"):
            os.environ.pop(name, None)

    def open_each(self, **options):
        data = self.records()
        yield lambda: self.load(data, **options)
        yield lambda: penstock_loader.SharedLoader(
            data, share=f"test.{os.getpid()}", **options
        )

    def test_values_that_are_not_allowed(self):
        for error, words, peers in (
            (TypeError, "cache_peers=5: has to be", 5),
            (TypeError, r"cache_peers=\['n1'\]: has to be", ["n1"]),
            (ValueError, "cache_peers='': allowed", ""),
            (ValueError, "cache_peers='é': allowed", "é"),
            (ValueError, r"node list \"n\[1-\": a \[ without", "n[1-"),
            (ValueError, "\"n1\", is none of the cache's 2 nodes", "n[2-3]"),
            (ValueError, "n1 comes twice", "n1,n1"),
        ):
            for opens in self.open_each(cache=1 << 20, cache_peers=peers):
                with self.subTest(peers=peers), self.assertRaisesRegex(
                    error, words
                ):
                    opens()

    def test_ports_that_are_not_allowed(self):
        for text in ("0-7", "9-7"):
            os.environ["PENSTOCK_CACHE_PORTS"] = text
            with self.assertRaisesRegex(ValueError, "FIRST-LAST"):
                self.load(self.records(), cache=1 << 20, cache_peers="n[1-2]")

    def test_without_a_cache_they_are_an_error(self):
        for opens in self.open_each(cache_peers="n[1-2]"):
            with self.assertRaisesRegex(
                ValueError, "cache_peers='n.*this node has no cache"
            ):
                opens()

    def test_where_they_cannot_be_had_that_is_logged(self):
        for peers, words in (
            ("auto", "without other nodes' caches: no SLURM_JOB_NODELIST"),
            ("n[0-99999]", "without other nodes' caches: .*too many nodes"),
        ):
            with self.assertLogs("penstock.loader", "WARNING") as logs:
                # One thread: two can both read a sample before it is stored.
                loader = self.load(
                    self.records(), 50, cache=1 << 20, cache_peers=peers,
                    threads=1,
                )
            self.assertEqual(len(logs.output), 1)
            self.assertRegex(logs.output[0], words)
            for _ in range(2):
                self.assertEqual(len(numbers(loader)), 2)
            self.assertGreaterEqual(loader.counters()["cached"], 100)

    def test_a_job_of_one_node_has_none_to_ask(self):
        with self.assertNoLogs("penstock.loader", logging.WARNING):
            loader = self.load(
                self.records(), 50, cache=1 << 20, cache_peers="n1"
            )
            self.assertEqual(len(numbers(loader)), 2)


if __name__ == "__main__":
    unittest.main()
