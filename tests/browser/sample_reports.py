"""Reports (docs/report.md) that the browser test renders; the same in every
run."""

import math

START_UNIX_S = 1767225600  # 2026-01-01 00:00:00 UTC
MEGA = 1 << 20


def estimate(value, low=None, high=None):
    return {"value": value, "low": low or value, "high": high or value}


def part(seconds, method):
    return {"seconds": seconds, "method": method}


def noise(i, salt):
    """Pseudo-random values from -1 to 1, without a visible pattern."""
    return math.sin(i * 12.9898 + salt * 78.233) * 43758.5453 % 2 - 1


def change(time_s, cause, cores, away, bandwidth, rate):
    names = ("cores", "away", "bytes_per_s")
    out = {"time_unix_s": START_UNIX_S + time_s, "cause": cause}
    for name, (before, after) in zip(names, (cores, away, bandwidth)):
        out[f"{name}_from"], out[f"{name}_to"] = before, after
    out["rate_before"], out["rate_after"] = rate
    return out


def timeline(duration_s, points, grants):
    """A timeline whose grant is grants(seconds) = home, away, bytes/s."""
    columns = {name: [] for name in (
        "begin_unix_s", "duration_s", "granted_home_cores",
        "granted_away_cores", "used_home_cores", "used_away_cores",
        "used_trainer_cores", "granted_bytes_per_s", "used_bytes_per_s",
        "rate", "predicted_rate", "compute", "fetch_stall", "prep_stall",
        "exchange_stall")}
    step_s = duration_s / points
    for i in range(points):
        home, away, bandwidth = grants(i * step_s)
        rate = min(846, 234 * (home + away)) * (0.96 + 0.03 * noise(i, 1))
        compute = rate / 846 * 0.95
        waits = 1 - compute - 0.04
        row = (START_UNIX_S + i * step_s, step_s, home, away,
               home * (0.95 + 0.05 * noise(i, 2)),
               away * (0.92 + 0.06 * noise(i, 3)),
               0.09 + 0.03 * noise(i, 4), bandwidth,
               min(bandwidth or 1e18, rate * 45000) *
               (0.97 + 0.03 * noise(i, 5)),
               rate, min(846, 234 * (home + away)), compute,
               waits * (0.65 + 0.1 * noise(i, 6)), waits * 0.2, 0.02)
        for column, value in zip(columns.values(), row):
            column.append(value if value is None else round(value, 6))
    return columns


def report(duration_s=312, points=312, changes=None, grants=None):
    """A job that waits for data, borrows for a while and returns the CPUs."""
    def usual(time_s):
        share = time_s / duration_s
        away = 1.0 if 0.2 <= share < 0.93 else 0.0
        return 0.9, away, (50 if share >= 0.2 else 25) * MEGA

    if changes is None:
        changes = [
            change(0.2, "task_start", (0, 0.9), (0, 0), (None, 25 * MEGA),
                   (None, 205)),
            change(duration_s * 0.2, "job_end", (0.9, 1.9), (0, 1),
                   (25 * MEGA, 50 * MEGA), (205, 428)),
            change(duration_s * 0.93, "recall", (1.9, 0.9), (1, 0),
                   (50 * MEGA, 50 * MEGA), (428, 204)),
        ]
    wall_s = duration_s
    return {
        "schema_version": 1, "kind": "job_report", "job_id": 4711,
        "job_name": "alexnet", "user_id": 1000, "node": "c1",
        "start_unix_s": START_UNIX_S,
        "end_unix_s": START_UNIX_S + duration_s,
        "updated_unix_s": START_UNIX_S + duration_s, "running": False,
        "tasks": 1, "ranks": 1,
        "options": [{"name": "loader", "value": "auto"},
                    {"name": "loader-threads", "value": "2"}],
        "policy": "throughput",
        "ceiling": {"predicted": estimate(812, 650, 930),
                    "predicted_from": "profile alexnet",
                    "corrected": estimate(850, 830, 870),
                    "corrected_from": "measured 12 s",
                    "measured": estimate(846, 840, 852),
                    "measured_by": "one batch replayed"},
        "throughput": {"predicted": estimate(390, 360, 420),
                       "predicted_from": "the grant and the profile",
                       "corrected": None, "corrected_from": "",
                       "measured": estimate(366),
                       "measured_by": "the job's own count"},
        "floor_rate": 210,
        "breakdown": {
            "wall_s": wall_s,
            "compute": part(wall_s * 0.411, "what is left of a step"),
            "fetch_stall": part(wall_s * 0.358, "time waited, split by I/O"),
            "prep_stall": part(wall_s * 0.112, "time waited, split by CPU"),
            "exchange_stall": part(wall_s * 0.02, "as the job reported it"),
            "unattributed_s": wall_s * 0.099,
            "waited_s": wall_s * 0.47},
        "pressure": {"cpu_s": wall_s * 0.41, "io_s": wall_s * 0.28,
                     "method": "PSI some"},
        "cores": {"allocated": 1, "reserve": 0.1, "entitled": 0.9,
                  "requested": 2, "granted_home": 0.9, "granted_away": 0.73,
                  "used_home": 0.855, "used_away": 0.67,
                  "used_trainer": 0.09, "demand": estimate(3.6, 3.2, 4.0),
                  "loader_threads": 2},
        "bandwidth": {"pool": "scratch", "pool_bytes_per_s": 100 * MEGA,
                      "entitled_bytes_per_s": 50 * MEGA,
                      "requested_bytes_per_s": 25 * MEGA,
                      "granted_bytes_per_s": 45 * MEGA,
                      "used_bytes_per_s": 16.5 * MEGA,
                      "demand_bytes_per_s":
                          estimate(36.2 * MEGA, 30 * MEGA, 40 * MEGA)},
        "changes": changes, "changes_dropped": 0,
        "quality": {"sample_period_s": 1, "periods": points, "gaps": 2,
                    "samples": 114192, "loader_source": "registered",
                    "process_events": "connector",
                    "pages_contradicted": False, "agent_restarts": 0},
        "recommend_after_s": 30,
        "notes": ["the accelerator is emulated: a timed wait per step"],
        "timeline": timeline(duration_s, points, grants or usual),
        "what_if": what_if(),
    }


def what_if(ceiling=846, corner=12, enough=3.63, here=(1.63, 366)):
    """A profile's curve: 235 samples/s a core, measured up to 2 cores."""
    def rate(cores, per_core, top):
        limits = (per_core * cores, top)
        return sum(limit ** -corner for limit in limits) ** (-1 / corner)

    end = 1.25 * enough
    amounts = {end * i / 32 for i in range(1, 33)} | {here[0], enough, 2.0}
    points = [{"cores": 0, "rate": estimate(0)}]
    for cores in sorted(amounts):
        points.append({"cores": cores, "rate": estimate(
            rate(cores, 235, ceiling), rate(cores, 211.5, 840),
            rate(cores, 258.5, 852))})
    return {"unknown": "",
            "basis": "profile alexnet, measured at 0.25 to 2 loader cores of "
                     "a rank; the ceiling is measured in this run",
            "points": points, "ceiling": ceiling, "here_cores": here[0],
            "here_rate": here[1], "measured_cores": 2.0,
            "enough_cores": enough, "why_not_enough": "",
            "notes": ["What storage supplies is not known: it limits nothing "
                      "here."]}


def long_report():
    """10,000 samples of history, and the maximum number of changes of a
    report."""
    duration_s, count = 10000, 1024
    causes = ("measured_change", "job_end", "recall", "task_start")

    def away_at(i):
        return (i * 7 % 11) / 4

    def grants(time_s):
        away = away_at(int(time_s * count / duration_s))
        return 0.9, away, (20 + 10 * away) * MEGA

    changes = []
    for i in range(1, count):
        before, after = away_at(i - 1), away_at(i)
        rates = [min(846, 234 * (0.9 + away)) for away in (before, after)]
        changes.append(change(
            i * duration_s / count, causes[i % 4],
            (0.9 + before, 0.9 + after), (before, after),
            ((20 + 10 * before) * MEGA, (20 + 10 * after) * MEGA), rates))
    out = report(duration_s, 10000, changes, grants)
    out["changes_dropped"] = 17
    return out


def hostile_report():
    """Hostile texts of a user, each of the maximum length."""
    out = report()
    attack = "</title><script>document.title='taken'</script><b onload=x>\"'&"
    out["job_name"] = attack + "\u202eevil\x1b[2J" + "W" * 160
    out["node"] = "n" * 256
    out["policy"] = attack
    out["options"] = [{"name": attack, "value": "v" * 256}] * 16
    out["notes"] = [attack + "N" * 190] * 32
    out["bandwidth"]["pool"] = "p" * 256
    out["breakdown"]["compute"]["method"] = attack + "m" * 190
    out["ceiling"]["measured_by"] = "</style>" + "b" * 240
    out["what_if"]["basis"] = attack + "w" * 190
    out["what_if"]["notes"] = [attack + "N" * 190] * 4
    out["what_if"].update({"enough_cores": None, "why_not_enough": attack})
    return out


def bare_report():
    """A running job of which only the name is known."""
    out = report()
    out.update({"running": True, "end_unix_s": None, "options": [],
                "floor_rate": None, "changes": [], "notes": [],
                "updated_unix_s": START_UNIX_S + 45})
    for name in ("ceiling", "throughput"):
        for key, value in out[name].items():
            out[name][key] = "" if isinstance(value, str) else None
    for key in ("compute", "fetch_stall", "prep_stall", "exchange_stall"):
        out["breakdown"][key] = part(None, "")
    out["breakdown"].update({"wall_s": 45, "unattributed_s": 45,
                             "waited_s": None})
    out["pressure"] = {"cpu_s": None, "io_s": None, "method": ""}
    out["cores"] = dict.fromkeys(out["cores"])
    out["bandwidth"] = {**dict.fromkeys(out["bandwidth"]), "pool": ""}
    out["timeline"] = {name: [] for name in out["timeline"]}
    out["what_if"].update({"unknown": "the ceiling is not known",
                           "points": []})
    return out


ALL = {"usual": report, "long": long_report, "hostile": hostile_report,
       "bare": bare_report}
