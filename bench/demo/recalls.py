"""Runs lenders that need their CPU back repeatedly. penstockd measures the
recalls itself (Session.statuses)."""

import dataclasses

from bench.demo.sets import SETTLE_S

SECONDS = 20


def measure(session, kinds, costs):
    """Runs the set under Penstock; kinds may differ from those of costs in
    their batch."""
    session.progress.phase("recalls: a lender that prepares large batches")
    session.enter("penstock")
    orders = [dataclasses.replace(costs[kind.name].order(), kind=kind)
              for kind in kinds]
    session.steady(orders, SETTLE_S["penstock"], SECONDS, "recalls")
