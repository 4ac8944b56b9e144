"""python3 -m bench.memory.train: trains in one process; prints one line of
JSON."""

import argparse
import collections
import json

from bench.memory.device import most_rss_bytes
from bench.memory.ways import NAMES, Training
from penstock.exchange import BudgetError


def turns(training, budget_bytes, rounds):
    """Measures steps of each way by turns: times and peaks, each with those of
    a plain step. The plain step is first in one round and last in the next,
    because the last step takes longer."""
    plan = training.plan(budget_bytes)
    found = {name: [] for name in NAMES[1:]}
    for number in range(rounds):
        for name, steps in found.items():
            pair = [NAMES[0], name]
            step = {}
            for way in reversed(pair) if number % 2 else pair:
                with training.way(way, plan if way == "planned" else None):
                    training.step()  # warm-up
                    step[way] = training.step()
            steps.append([step[way] for way in pair])
    return {
        "steps": found,
        "plan": collections.Counter(
            action.value for action in plan.actions.values()),
        "budget_bytes": budget_bytes,
        "device": training.device.name,
    }


def alone(training, name, budget_bytes, limit_bytes):
    """Measures a single way, in memory of limit_bytes."""
    if limit_bytes:
        training.device.set_limit(limit_bytes)
    try:
        plan = None
        if name == "planned":
            plan = training.plan(budget_bytes)
        with training.way(name, plan):
            peaks = [training.step()[1] for _ in range(2)]
    except BudgetError:
        return {"fits": False}
    except RuntimeError as error:
        if "memory" not in str(error):  # wording of every device's allocator
            raise
        return {"fits": False}
    return {"fits": True, "peak_bytes": max(peaks),
            "rss_bytes": most_rss_bytes(),
            "host_bytes": training.tier.arena.peak_bytes}


def main():
    parser = argparse.ArgumentParser(prog="bench.memory.train")
    parser.add_argument("kind")
    parser.add_argument("batch", type=int)
    parser.add_argument("--link", type=float, required=True)
    parser.add_argument("--way", choices=NAMES)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--budget", type=int, default=0)
    parser.add_argument("--limit", type=int, default=0)
    arguments = parser.parse_args()
    training = Training(arguments.kind, arguments.batch, arguments.link)
    if arguments.way:
        result = alone(training, arguments.way, arguments.budget,
                       arguments.limit)
    else:
        result = turns(training, arguments.budget, arguments.rounds)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
