import unittest

from bench.advice import figures


def of(*found):
    return {it["name"]: it["value"] for it in figures.figures_of(found)}


class Figures(unittest.TestCase):
    def test_jobs_are_counted_by_what_they_add(self):
        found = of({"inside": True, "slower": False, "useless": False,
                    "error": 0.2, "same": True, "needless": True},
                   {"missed": True, "same": False, "kept": 0.98},
                   {"kept": 0.97})
        self.assertEqual(found, {
            "followed": 1, "inside": 1, "slower": 0, "useless": 0, "missed": 1,
            "same": 1, "needless": 1, "kept": 0.97, "gain_error": 0.2})

    def test_what_no_job_adds_is_left_out(self):
        self.assertNotIn("kept", of({"needless": False}))
        self.assertNotIn("gain_error", of({"missed": False, "kept": 1}))
        self.assertEqual(of()["followed"], 0)


if __name__ == "__main__":
    unittest.main()
