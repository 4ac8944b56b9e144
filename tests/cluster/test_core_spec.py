"""CPUs that Slurm keeps for the system are idle, and never lent."""

import os
import sys

import agent_case


class CoreSpec(agent_case.AgentCase):
    cluster_options = {"agent": True, "slurm_lines": [
        "NodeName=DEFAULT CoreSpecCount=1"]}

    def test_a_kept_cpu_is_not_lent_while_it_is_idle(self):
        self.wait("penstockd to know the kept CPU", lambda: (
            "are kept for the system" in self.cluster.logs("penstockd",
                                                           lines=10000)))
        borrower = self.submit("alone", 4 * os.cpu_count())
        kept = set(range(os.cpu_count())) - agent_case.hierarchy.cpus_in(
            self.held_by(borrower))
        self.assertTrue(kept)
        # Much longer than idle CPUs without CoreSpecCount take to be lent.
        self.rate("alone", 8)
        status = self.cluster.status(borrower)
        self.assertTrue(status["changes"])
        self.assertEqual([change["away_to"] for change in status["changes"]
                          if change["away_to"]], [])
        self.assertEqual(self.away_cpus(borrower), "")
        self.assertEqual(self.cluster.status()["idle_not_lent"], "")
        self.cluster.cancel(borrower)
        self.check_nothing_left()

    # Shows that the CPU would be lent in the other test.
    def test_the_admin_may_have_a_kept_cpu_lent(self):
        self.cluster.stop_agent()
        everything = f"0-{os.cpu_count() - 1}"
        self.cluster.start_agent(lines=[f"ManagedCPUs={everything}"])
        borrower = self.submit("willed", 4 * os.cpu_count())
        self.wait_away(borrower)
        self.cluster.cancel(borrower)
        self.check_nothing_left()
        self.cluster.stop_agent()
        self.cluster.start_agent(lines=[])


if __name__ == "__main__":
    if os.cpu_count() < 2:
        print("SKIPPED: one CPU here")
        sys.exit(77)
    agent_case.main()
