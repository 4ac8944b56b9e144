"""Checks a profile written by `analyze --save` with another job."""

from bench.demo.figures import prediction_error
from bench.demo.wrong_profiles import value_of

SECONDS = 5


def ceiling_error(runner, work, accelerator_s, profile):
    """Returns |predicted / measured - 1| of the ceiling. The prediction is
    penstockd's at the job's arrival. The measured rate is without late data."""
    session = runner.session
    session.enter("penstock")
    line = work.line(accelerator_s, "--replay")
    flags = [f"--loader-model={profile}"]
    with runner.running(line, flags) as (job, log):
        measured = runner.rate(log, work, f"{work.name}: replaying")
        predicted = value_of(runner.cluster.status(job), "predicted")
    return prediction_error(predicted, measured)
