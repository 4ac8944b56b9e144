"""A profile that `analyze --save` wrote, believed by another job."""

from bench.demo.figures import prediction_error
from bench.demo.wrong_profiles import value_of

SECONDS = 5


def ceiling_error(runner, work, accelerator_s, profile):
    """|predicted / measured - 1| of the ceiling: what penstockd predicts when
    the job arrives against what it does where data is never late."""
    session = runner.session
    session.enter("penstock")
    line = work.line(accelerator_s, "--replay")
    flags = [f"--loader-model={profile}"]
    with runner.running(line, flags) as (job, log):
        measured = runner.rate(log, work, f"{work.name}: replaying")
        predicted = value_of(runner.cluster.status(job), "predicted")
    return prediction_error(predicted, measured)
