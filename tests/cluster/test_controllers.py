"""Two controllers, one of them active: controllers that die or hang, and
mixed versions."""

import os
import random
import re
import signal
import time

import cluster_case
import embedded_nodes
import test_nodes


class Controllers(test_nodes.NodesCase):
    cluster_options = {"nodes": 2, "controllers": 2}

    def term_of(self, node):
        """The newest term from which the node has accepted a grant."""
        terms = re.findall(r"grant of term (\d+), version",
                           self.cluster.log_of(f"penstockd.{node}"))
        return int(terms[-1]) if terms else 0

    def setUp(self):
        super().setUp()
        self.node = self.cluster.nodes[0]
        self.job = self.submit("any", 200, self.cluster.nodes,
                               self.trainer("any", 200, self.meeting()))
        self.wait_granted()

    def test_a_backup_takes_over_and_the_jobs_go_on(self):
        before = self.term_of(self.node)
        self.cluster.stop_controller(0, signal.SIGKILL)
        self.wait("the node to be alone", lambda: "the node is solved alone" in
                  self.cluster.log_of(f"penstockd.{self.node}"))
        self.assertGreater(self.rate("any", 2), 0)
        self.wait("the backup's grants",
                  lambda: self.term_of(self.node) > before)
        # The first controller restarts and finds the backup active.
        taken = self.term_of(self.node)
        self.cluster.start_controller(0)
        self.rate("any", 3 * embedded_nodes.TIMEOUT_S)
        self.assertEqual(self.term_of(self.node), taken)

    def let_the_other_take_over(self):
        """Stops the active controller; returns its index and its term."""
        active = self.active_controller()
        before = self.term_of(self.node)
        os.kill(self.cluster.controller_pid(active), signal.SIGSTOP)
        self.addCleanup(os.kill, self.cluster.controller_pid(active),
                        signal.SIGCONT)
        self.wait("the other's grants",
                  lambda: self.term_of(self.node) > before)
        return active, before

    def continue_until_it_gives_up(self, index, term):
        os.kill(self.cluster.controller_pid(index), signal.SIGCONT)
        self.wait("it to give up its term", lambda: f"term {term} ends" in
                  self.cluster.log_of(f"penstockctld{index}"))

    def test_of_two_that_are_active_one_is_refused_and_gives_up(self):
        active, before = self.let_the_other_take_over()
        self.continue_until_it_gives_up(active, before)
        self.assertGreater(self.rate("any", 2), 0)

    def active_controller(self):
        logs = [self.cluster.log_of(f"penstockctld{index}") for index in (0, 1)]
        terms = [[int(term) for term in
                  re.findall(r"active with term (\d+)", log)] or [0]
                 for log in logs]
        return 0 if max(terms[0]) > max(terms[1]) else 1

    def test_a_munged_that_hangs_does_not_stop_a_node(self):
        munged = self.cluster.daemon_pid("munged")
        lapses = self.cluster.log_of(f"penstockd.{self.node}").count(
            "solved alone")
        os.kill(munged, signal.SIGSTOP)
        self.addCleanup(os.kill, munged, signal.SIGCONT)

        def alone():
            begun = time.monotonic()
            self.cluster.status_of(self.node)
            self.check_time(time.monotonic() - begun, 1)
            return self.cluster.log_of(f"penstockd.{self.node}").count(
                "solved alone") > lapses

        self.wait("the node to be alone", alone, 60)
        taken = self.granted(self.node)
        os.kill(munged, signal.SIGCONT)
        self.wait("grants again", lambda: self.granted(self.node) > taken, 60)

    # Neither Slurm nor any node's agent waits for a controller.
    def test_a_controller_killed_again_and_again_harms_no_job(self):
        random_s = random.Random(1)
        active = self.active_controller()
        for _ in range(10):
            self.cluster.stop_controller(active, signal.SIGKILL)
            self.cluster.start_controller(active)
            time.sleep(random_s.uniform(0.1, 2))
        before = self.granted(self.node)
        self.wait("grants again", lambda: self.granted(self.node) > before, 60)
        self.assertGreater(self.rate("any", 2), 0)
        self.assertEqual(self.cluster.job(self.job)["JobState"], "RUNNING")

    # If the newer controller and all agents have died, only the agents' files
    # record the end of the older controller's term.
    def test_restarted_agents_refuse_terms_that_they_had_outlived(self):
        active, before = self.let_the_other_take_over()
        self.wait("both nodes to have its grants", lambda: all(
            self.term_of(node) > before for node in self.cluster.nodes))
        taken = self.term_of(self.node)
        self.cluster.stop_controller(1 - active, signal.SIGKILL)
        self.addCleanup(self.cluster.start_controller, 1 - active)
        for node in self.cluster.nodes:
            self.cluster.stop_agent_of(node, signal.SIGKILL)
            self.cluster.start_agent_of(node)
        self.continue_until_it_gives_up(active, before)
        self.wait("grants of a newer term",
                  lambda: self.term_of(self.node) > taken)


class Upgrade(test_nodes.NodesCase):
    cluster_options = {"nodes": 2}

    # Upgrade one by one, with the controller first and with the nodes first:
    # every node has its grants even with two versions.
    def test_nodes_and_controller_of_neighbouring_versions_work_together(self):
        first, second = self.cluster.nodes
        self.submit("any", 200, self.cluster.nodes,
                    self.trainer("any", 200, self.meeting()))
        self.wait_granted()

        def replace_controller(program):
            self.cluster.stop_controller()
            before = {node: self.granted(node) for node in self.cluster.nodes}
            self.cluster.start_controller(program=program)
            self.wait_more_grants(before)

        def replace_agent(node, program):
            self.cluster.stop_agent_of(node)
            before = {node: self.granted(node)}
            self.cluster.start_agent_of(node, program)
            self.wait_more_grants(before)

        replace_controller("penstockctld_next")
        replace_agent(first, "penstockd_next")
        replace_agent(second, "penstockd_next")
        replace_controller("penstockctld")
        replace_agent(first, "penstockd")
        for name in ("penstockctld0", *(f"penstockd.{n}" for n in
                                        self.cluster.nodes)):
            self.assertNotIn("protocol version", self.cluster.log_of(name))
        self.assertGreater(self.rate("any", 2), 0)

    def wait_more_grants(self, than):
        self.wait(f"grants to {list(than)}", lambda: all(
            self.granted(node) > count for node, count in than.items()), 60)


if __name__ == "__main__":
    cluster_case.main()
