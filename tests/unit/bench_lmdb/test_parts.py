"""Failing parts of the benchmark."""

import contextlib
import io
import json
import pathlib
import unittest
from unittest import mock

from bench.lmdb import __main__ as bench
from bench.lmdb import cells, databases, machine, parts

DATABASE = databases.Database("12k", pathlib.Path(__file__), 32)


def fail():
    raise machine.BenchError("fio: not today")


class OnePart(unittest.TestCase):

    def test_after_a_failed_part_the_others_keep_their_figures(self):
        errors = io.StringIO()
        some = parts.Parts((machine.BenchError,))
        with contextlib.redirect_stderr(errors):
            some.add("first", lambda: [1, 2])
            some.add("fio", fail)
            some.add("last", lambda: [3])
        self.assertEqual(some.figures, [1, 2, 3])
        self.assertEqual(some.failed, ["fio"])
        self.assertEqual(errors.getvalue(), "bench lmdb: fio: fio: not today\n")

    def test_an_unexpected_error_ends_all_parts(self):
        with self.assertRaises(machine.BenchError):
            parts.Parts((OSError,)).add("fio", fail)


class Played:
    """A program whose runs fail only with the argument `broken`."""

    def __init__(self, broken):
        self._broken = broken

    def run(self, ranks, words, _group):
        if self._broken in words:
            raise machine.BenchError(f"{self._broken} is broken")
        return [{"seconds": 1 / ranks, "requests": 4, "read_bytes": 800,
                 "bytes": 600, "cpu_s": 0.5 + rank, "records": 10,
                 "checksum": 1, "sidecar_refusal": ""}
                for rank in range(ranks)]


class WholeRun(unittest.TestCase):

    def run_with(self, broken="nothing", fio=None, slow=None):
        """The exit code, the figures' names, and the messages."""
        output, errors = io.StringIO(), io.StringIO()
        folder = contextlib.nullcontext(pathlib.Path("/slow"))
        with contextlib.redirect_stdout(output), \
                contextlib.redirect_stderr(errors), \
                mock.patch("sys.argv", ["", ".", "--rounds", "1", "--database",
                                        "x"]), \
                mock.patch("bench.script.Progress"), \
                mock.patch.object(bench, "MemoryGroup",
                                  mock.MagicMock()), \
                mock.patch.multiple(
                    machine, Program=lambda _: Played(broken),
                    check_tools=mock.DEFAULT, read_into_cache=mock.DEFAULT,
                    fio_bytes_per_s=mock.Mock(side_effect=fio,
                                              return_value=700.0),
                    slow_tier=mock.Mock(side_effect=slow,
                                        return_value=folder)), \
                mock.patch.object(databases, "given", lambda _: DATABASE):
            code = bench.main()
        text = output.getvalue()
        return (code, {one["name"] for one in json.loads(text or "[]")},
                errors.getvalue())

    def test_a_complete_run_has_all_figures(self):
        code, names, _ = self.run_with()
        self.assertEqual(code, 0)
        self.assertLessEqual(
            {"worst_vs_lmdb", "vs_lmdb_16_cold", "vs_lmdb_16_cold_limit",
             "worst_vs_lmdb_one_epoch", "vs_fio", "cold_memory",
             "six_plain_stag", "six_slow_stag", "vs_lmdb_16_cold_slow",
             "model_9216"}, names)

    def test_a_failed_part_loses_only_its_own_figures(self):
        all_names = self.run_with()[1]
        slow = {name for name in all_names if "slow" in name}
        plain = {name for name in all_names if name.startswith("six_plain")}
        ladders = plain | {name for name in slow if name.startswith("six")}
        error = machine.BenchError("no fuse")
        for lost, said, ways in (
                (slow, "slow tier: no fuse", {"slow": error}),
                ({"vs_fio", "vs_lmdb_16_cold_limit"}, "fio: no fuse",
                 {"fio": error}),
                (ladders, "plain ladder: .*is broken",
                 {"broken": cells.LADDER["stag"][0]})):
            with self.subTest(said=said):
                code, names, errors = self.run_with(**ways)
                self.assertEqual(code, 1)
                self.assertEqual(all_names - names, lost)
                self.assertRegex(errors, f"bench lmdb: {said}")

    def test_a_failed_table_leaves_no_figures(self):
        code, names, errors = self.run_with(broken="none")
        self.assertEqual((code, names), (1, set()))
        self.assertIn("bench lmdb: none is broken", errors)


if __name__ == "__main__":
    unittest.main()
