"""The processes of a penstockd."""

ROLES = {"penstock-broker": ("broker", "guardian's broker"),
         "penstockd-guard": ("guardian",)}


def status_of(pid):
    """/proc/PID/status: {key: words}."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        lines = [line.split(":", 1) for line in file]
    return {key: rest.split() for key, rest in lines}


def parts_of(pid):
    """{role: pid}, with pid as "penstockd". Just after its start some are
    missing."""
    parts = {"penstockd": pid}
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        children = file.read().split()  # the eldest first
    for child in children:
        try:
            name, = status_of(child)["Name"]
        except (FileNotFoundError, ProcessLookupError):
            continue  # a short-lived one
        role = next((role for role in ROLES.get(name, ()) if role not in parts),
                    None)
        if role:
            parts[role] = int(child)
    return parts


def has_ended(pid):
    try:
        return status_of(pid)["State"][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
