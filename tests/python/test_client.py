"""penstock.Client against a fake penstockd."""

import os
import time
import unittest

import penstock
from fake_daemon import FakeDaemon, eventually, socket_folder

FAULTS = (
    "hangup garbage short long status none one three swapped small large "
    "unsealed magic version"
).split() + ["no file"]


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


class ClientTest(unittest.TestCase):
    def setUp(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "penstockd.sock")

    def client(self):
        client = penstock.Client(self.path)
        self.addCleanup(client.close)
        return client

    def daemon(self, fault=None):
        daemon = FakeDaemon(self.path, fault)
        self.addCleanup(daemon.close)
        return daemon

    def test_without_penstockd_everything_is_a_no_op(self):
        client = self.client()
        client.report(samples=1)
        client.add(samples=1)
        client.register(os.getpid())
        client.unregister(os.getpid())
        self.assertFalse(client.connected())
        self.assertIsNone(client.hint())

    def test_a_path_too_long_for_a_socket(self):
        self.assertFalse(penstock.Client("/" + "x" * 200).connected())

    def test_reports_and_hints_go_through_the_pages(self):
        daemon = self.daemon()
        client = self.client()
        self.assertTrue(client.connected())
        client.report(
            samples=11, steps=12, wait_ns=13, bytes=14, fetch_ns=15,
            prep_ns=16, prepared=17, replaying=1, loader_threads=18,
            follows_hint=7, exchange_ns=19,
        )
        page = daemon.progress()
        self.assertEqual((page["magic"], page["version"]), (0x50504E50, 1))
        self.assertEqual(
            [page[name] for name in (
                "samples", "steps", "wait_ns", "bytes", "fetch_ns", "prep_ns",
                "prepared", "replaying", "loader_threads", "follows_hint",
                "exchange_ns",
            )],
            [11, 12, 13, 14, 15, 16, 17, 1, 18, 1, 19],
        )
        self.assertGreaterEqual(page["updated_ns"], page["started_ns"])
        self.assertGreater(page["started_ns"], 0)
        client.add(samples=5, wait_ns=2)
        self.assertEqual(daemon.progress()["samples"], 16)
        self.assertEqual(daemon.progress()["wait_ns"], 15)
        self.assertEqual(client.hint(), penstock.Hint(4, 1500, 600, 3, False))

    def test_the_time_is_that_of_the_last_consumed_batch(self):
        daemon = self.daemon()
        client = self.client()
        client.report(loader_threads=1, wait_ns=5)  # the first one: starts
        begun = daemon.progress()
        self.assertGreaterEqual(begun["updated_ns"], begun["started_ns"])
        self.assertEqual(begun["wait_ns"], 5)
        client.report(loader_threads=3, follows_hint=1, wait_ns=100, bytes=7)
        client.add(prepared=8, exchange_ns=6)
        page = daemon.progress()
        self.assertEqual(page["updated_ns"], begun["updated_ns"])
        self.assertEqual((page["wait_ns"], page["exchange_ns"]), (5, 0))
        self.assertEqual((page["bytes"], page["prepared"]), (7, 8))
        self.assertEqual((page["loader_threads"], page["follows_hint"]), (3, 1))
        before_ns = begun["updated_ns"]
        for consumed in ({"samples": 32}, {"steps": 1}):
            client.add(wait_ns=50, **consumed)
            page = daemon.progress()
            self.assertGreater(page["updated_ns"], before_ns)
            before_ns = page["updated_ns"]
        self.assertEqual((page["wait_ns"], page["exchange_ns"]), (200, 6))

    def test_an_unknown_counter_is_refused(self):
        with self.assertRaisesRegex(TypeError, "allowed: samples, steps"):
            self.client().report(sample=1)

    def test_a_hint_out_of_range_or_under_way_is_none(self):
        daemon = self.daemon()
        client = self.client()
        for change in (
            {"threads": 0}, {"threads": 4097}, {"sequence": 3},
        ):
            daemon.set_hint(**change)
            self.assertIsNone(client.hint(), change)
        daemon.set_hint(threads=4096)
        self.assertEqual(client.hint().loader_threads, 4096)

    def test_nothing_unusable_is_adopted(self):
        before = open_descriptors()
        for fault in FAULTS:
            with self.subTest(fault), FakeDaemon(self.path, fault):
                client = penstock.Client(self.path)
                self.assertFalse(client.connected())
                client.report(samples=1)
                self.assertIsNone(client.hint())
                client.close()
        self.assertEqual(open_descriptors(), before)

    def test_a_silent_penstockd_costs_100_ms_once(self):
        self.daemon("silent")
        begin = time.monotonic()
        client = self.client()
        opened = time.monotonic()
        for _ in range(1000):
            client.report(samples=1)
        self.assertGreaterEqual(opened - begin, 0.09)
        self.assertLess(opened - begin, 2)  # the machine may be busy
        self.assertLess(time.monotonic() - opened, 2)

    def test_a_restart_brings_counters_and_threads_again(self):
        with FakeDaemon(self.path) as daemon:
            client = self.client()
            client.register(101)
            client.register(102)
            client.unregister(101)
            client.report(samples=50, loader_threads=2)
            eventually(lambda: daemon.threads == {101: False, 102: True})
            self.assertEqual(daemon.threads, {101: False, 102: True})
            started_ns = daemon.progress()["started_ns"]
        self.assertTrue(eventually(lambda: not client.connected()))
        self.assertIsNone(client.hint())
        client.register(103)
        client.add(samples=5)
        daemon = self.daemon()
        self.assertTrue(eventually(client.connected))
        self.assertEqual(daemon.progress()["samples"], 55)
        self.assertEqual(daemon.progress()["started_ns"], started_ns)
        eventually(lambda: daemon.threads == {102: True, 103: True})
        self.assertEqual(daemon.threads, {102: True, 103: True})

    def test_a_thread_may_end_while_its_process_reports(self):
        daemon, client = self.daemon(), self.client()
        client.register(4242)
        with client._lock:  # as if the garbage collector ran then
            client.unregister(4242)
        client.report(samples=1)
        self.assertTrue(eventually(lambda: daemon.threads == {4242: False}))

    def test_a_tasks_next_process_goes_on_where_the_last_one_ended(self):
        daemon = self.daemon()
        first = penstock.Client(self.path)
        first.report(
            samples=10, wait_ns=30, exchange_ns=40, loader_threads=4
        )
        started_ns = daemon.progress()["started_ns"]
        first.close()
        second = self.client()
        self.assertEqual(daemon.progress()["samples"], 10)
        updated_ns = daemon.progress()["updated_ns"]
        second.report(loader_threads=0, wait_ns=2)
        self.assertEqual(daemon.progress()["updated_ns"], updated_ns)
        self.assertEqual(daemon.progress()["wait_ns"], 30)
        second.add(samples=1, wait_ns=1, exchange_ns=2)
        page = daemon.progress()
        self.assertEqual((page["samples"], page["wait_ns"]), (11, 33))
        self.assertEqual(page["exchange_ns"], 42)
        self.assertEqual(page["loader_threads"], 0)
        self.assertEqual(page["started_ns"], started_ns)
        self.assertGreater(page["updated_ns"], started_ns)

    def test_a_wait_under_way_takes_nothing_from_a_page_taken_over(self):
        with FakeDaemon(self.path) as daemon:
            first = penstock.Client(self.path)
            first.report(samples=10, wait_ns=30)
            page = bytes(daemon.progress_page)
            first.close()
        late = self.client()
        late.report(wait_ns=5)
        late.report(wait_ns=100)
        daemon = self.daemon()
        daemon._make_pages()
        daemon.progress_page[:] = page
        self.assertTrue(eventually(late.connected))
        self.assertEqual(daemon.progress()["wait_ns"], 30)
        self.assertEqual(daemon.progress()["samples"], 10)

    def test_a_page_with_a_wrong_magic_is_refused(self):
        daemon = self.daemon()
        penstock.Client(self.path).close()
        daemon.progress_page[0] = 1
        self.assertFalse(self.client().connected())

    def test_a_forked_child_cannot_use_its_parents_client(self):
        daemon = self.daemon()
        client = self.client()
        client.report(samples=40)
        child = os.fork()
        if child == 0:
            client.report(samples=99)
            client.register(5)
            refused = not client.connected() and client.hint() is None
            os._exit(0 if refused else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(daemon.progress()["samples"], 40)
        self.assertEqual(daemon.threads, {})
        client.report(samples=41)
        self.assertEqual(daemon.progress()["samples"], 41)

    def test_the_module_uses_the_socket_in_the_environment(self):
        daemon = self.daemon()
        child = os.fork()  # the child has its own default client
        if child == 0:
            os.environ["PENSTOCK_SOCKET"] = self.path
            penstock.report(samples=77)
            good = penstock.connected() and penstock.hint() is not None
            os._exit(0 if good else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(daemon.progress()["samples"], 77)


if __name__ == "__main__":
    unittest.main()
