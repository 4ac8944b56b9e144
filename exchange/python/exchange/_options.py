"""Options of both adapters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.exchange import _native

# For 10 Gb/s Ethernet; `penstock bench exchange --calibrate` measures others.
_COSTS = {
    "message_s": 2e-5,
    "byte_s": 8e-10,
    "add_s": 3e-10,
    "select_s": 6e-10,
    "record_s": 5e-9,
}


@dataclass(frozen=True)
class ExchangeOptions:
    """Options of an exchange.

    density: fraction of a layer's elements exchanged in a step; above 0, at
    most 1. The remaining elements stay for later steps.
    method: how layers are exchanged; "auto": by cost, for each layer.
    bucket_elements: layers with fewer elements are summed densely, in groups.
    residual: type or place of elements that are not exchanged yet.
    transport: "mpi", or "self" for a process that trains alone.
    costs: seconds, as measured by `penstock bench exchange --calibrate`.
    timeout_s: limit on the wait for other ranks in the exchange of a layer.
    """

    density: float = 0.01
    method: Literal["auto", "dense", "allgather", "two_phase"] = "auto"
    bucket_elements: int = 262144
    residual: Literal["float32", "bfloat16", "host"] = "float32"
    transport: Literal["mpi", "self"] | Any = "mpi"
    costs: Mapping[str, float] | None = None
    timeout_s: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < self.density <= 1:  # also false for NaN
            raise ValueError(
                f"density {self.density}: above 0 and at most 1 is allowed"
            )
        if self.bucket_elements < 0:
            raise ValueError(
                f"bucket_elements {self.bucket_elements}: must not be below 0"
            )
        if not 0 < self.timeout_s < float("inf"):
            raise ValueError(f"timeout_s {self.timeout_s}: must be above 0")

    def native_costs(self) -> _native.Costs:
        return _native.Costs(**{**_COSTS, **(self.costs or {})})
