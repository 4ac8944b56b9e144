"""The figures of jobs that did what they were told. Pure."""

from bench.script import figure


def figures_of(found):
    """found: of each job what it adds, by name (judge(), judge_choice())."""
    followed = [it for it in found if "inside" in it]

    def counted(name):
        return figure(name, [sum(it.get(name, 0) for it in found)])

    out = [figure("followed", [len(followed)]),
           *[counted(name) for name in ("inside", "slower", "useless",
                                        "missed", "same", "needless")]]
    kept = [it["kept"] for it in found if "kept" in it]
    if kept:
        out.append(figure("kept", kept, value=min(kept)))
    if followed:
        out.append(figure("gain_error", [it["error"] for it in followed]))
    return out
