import unittest

from bench.advice import cases
from bench.demo import mix
from bench.program import BenchError

PROGRAMS = {mix.TRAIN: ["penstock-train"],
            mix.PYTORCH: ["python3", "train_pytorch.py"]}
FOLDERS = {"jpeg": ["/jpeg"], "raw": ["/raw"],
           "tar": ["0.tar", "1.tar"],
           "records": ["/records", "--record-bytes", 100]}


def case_of(name):
    return next(case for case in cases.CASES if case.name == name)


class Commands(unittest.TestCase):
    def test_the_accelerator_has_the_ceilings_time(self):
        line = case_of("torch_1_on_1").command(PROGRAMS, FOLDERS, 0.003, 16)
        self.assertEqual(line, [
            "python3", "train_pytorch.py", "--data", "/jpeg", "--batch", "16",
            "--accelerator-s-per-sample", "0.002000000", "--duration", "3600",
            "--workers", "1"])

    def test_a_case_without_workers_leaves_them_to_the_program(self):
        line = case_of("train_tar").command(PROGRAMS, FOLDERS, 0.003, 16)
        self.assertEqual(line[:4], ["penstock-train", "--data", "0.tar",
                                    "1.tar"])
        self.assertNotIn("--threads", line)

    def test_each_program_has_its_own_options(self):
        torch = case_of("torch_2_storage").command(PROGRAMS, FOLDERS, 1, 16)
        train = case_of("train_storage").command(PROGRAMS, FOLDERS, 1, 16)
        self.assertIn("--cold", torch)
        self.assertIn("--direct", train)

    def test_a_store_answers_after_a_multiple_of_the_cpu_time(self):
        line = case_of("torch_1_store").command(PROGRAMS, FOLDERS, 0.003, 16)
        self.assertEqual(line[-2:], ["--store-s", "0.012000000"])

    def test_there_are_twenty_jobs_of_distinct_names(self):
        self.assertEqual(len({case.name for case in cases.CASES}), 20)


class Following(unittest.TestCase):
    def test_workers_and_cpus_change_together(self):
        case = cases.follow(case_of("torch_1_on_1"), [
            "num_workers=2", "#SBATCH --cpus-per-task=2"])
        self.assertEqual((case.workers, case.cpus), (2, 2))

    def test_threads_are_the_programs_own_option(self):
        case = cases.follow(case_of("train_1_on_2"), ["threads=2"])
        self.assertEqual(case.workers, 2)

    def test_an_option_replaces_an_earlier_one(self):
        case = cases.follow(case_of("train_bandwidth"),
                            ["#SBATCH --loader-bw=30M"])
        self.assertEqual(case.flags, ("--loader-bw=30M",))

    def test_a_line_that_nobody_can_follow_is_an_error(self):
        for line in ("num_workers=many", "#SBATCH --mem=1G", ""):
            with self.assertRaisesRegex(BenchError, "how to follow"):
                cases.follow(case_of("train_tar"), [line])


if __name__ == "__main__":
    unittest.main()
