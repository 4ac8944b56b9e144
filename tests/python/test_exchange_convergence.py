"""Elements that are not exchanged yet are not lost: a short training, and a
control without error feedback. tests/convergence/run is the long one, on
real data."""

import unittest

from exchange_case import ExchangeCase, as_ranks, exchange, fine, seeded, torch

RANKS = 2
STEPS = 200


def regression_loss(transport, density, forgets):
    """The loss of a linear layer that learns another one from noise."""
    teacher = seeded(lambda: torch.nn.Linear(40, 30))
    model = seeded(lambda: torch.nn.Linear(40, 30), seed=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    trainer = exchange.MirrorTrainer(
        model,
        optimizer,
        transport=transport,
        method="two_phase",
        density=density,
        bucket_elements=0,
    )
    noise = torch.Generator().manual_seed(transport.rank)
    for _ in range(STEPS):
        samples = torch.randn(16, 40, generator=noise)
        with torch.no_grad():
            wanted = teacher(samples)
        (model(samples) - wanted).square().mean().backward()
        optimizer.step()
        if forgets:
            state = trainer.state_dict()
            for layer in state["layers"].values():
                layer["residual"].zero_()
            trainer.load_state_dict(state)
    trainer.wait()
    return (model.weight - teacher.weight).square().mean().item()


class Convergence(ExchangeCase):
    def loss(self, density, forgets=False):
        return fine(
            as_ranks(
                RANKS,
                lambda transport: regression_loss(transport, density, forgets),
            )
        )[0]

    def test_error_feedback_is_what_makes_it_converge(self):
        start = 2 / (3 * 40)  # of two independent uniform weights
        kept = self.loss(0.05)
        lost = self.loss(0.05, forgets=True)
        self.assertLess(kept, start / 100)
        self.assertGreater(lost, 10 * kept)


if __name__ == "__main__":
    unittest.main()
