"""The LP optimum of a job set, solved by Clp (bench/optimum/penstock-optimum),
not by Penstock's allocator. problem() is pure."""

import json

from bench.program import run


def cores_curve(one_core_cpu_s, all_cores_cpu_s, cores):
    """Returns points (rate, cores) from the CPU time per sample with one loader
    thread and with one per core. Noise can make the second smaller. Then the
    cheaper cost is used for both, which only raises the optimum."""
    if all_cores_cpu_s <= one_core_cpu_s:
        return [{"rate": cores / all_cores_cpu_s, "cores": cores}]
    return [{"rate": 1 / one_core_cpu_s, "cores": 1},
            {"rate": cores / all_cores_cpu_s, "cores": cores}]


def floor_rate(ceiling, cpu_s_per_sample, cores, bytes_per_sample,
               bytes_per_s):
    """Returns the rate that the entitlement alone allows."""
    rates = [ceiling]
    if cpu_s_per_sample > 0:
        rates.append(cores / cpu_s_per_sample)
    if bytes_per_sample > 0:
        rates.append(bytes_per_s / bytes_per_sample)
    return min(rates)


def problem(costs, slots, background_cores, pool_bytes_per_s):
    """costs: one per job of the set (calibrate.Cost). The node has its CPUs
    minus the background usage under stock. Each job's entitlement is an equal
    part of both resources."""
    cores = slots - background_cores
    jobs = []
    for index, cost in enumerate(costs):
        jobs.append({
            "id": index + 1,
            "weight": 1,
            "floor": floor_rate(
                cost.ceiling, max(cost.cpu_s_one, cost.cpu_s_all),
                cores / slots, cost.pool_bytes, pool_bytes_per_s / slots),
            "ceiling": cost.ceiling,
            "cores_curve": cores_curve(cost.cpu_s_one, cost.cpu_s_all, slots),
            "bytes_per_rate": cost.pool_bytes,
            "pool": 0,
        })
    return {"cores": cores, "pools": [pool_bytes_per_s], "jobs": jobs}


def solve(program, problem_data):
    """Returns the largest possible sum of x / ceiling."""
    answer = run(program, input=json.dumps(problem_data), timeout=60)
    return float(json.loads(answer)["objective"])
