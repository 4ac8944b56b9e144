"""The program that mpirun starts for the tests of penstock.exchange: one rank
of a case.

Prints one line: the case's result.
"""

import os
import sys

from exchange_case import exchange, perceptron, torch, train, weights_hash

RANK = int(os.environ["OMPI_COMM_WORLD_RANK"])
SIZE = int(os.environ["OMPI_COMM_WORLD_SIZE"])
# With these sizes some layers are exchanged sparsely, and some densely.
OPTIONS = {"density": 0.05, "bucket_elements": 200, "timeout_s": 20}


def trained(model, optimizer_of, steps, **options):
    optimizer = optimizer_of(model.parameters())
    trainer = exchange.MirrorTrainer(
        model, optimizer, **{**OPTIONS, **options}
    )
    train(model, optimizer, steps, RANK)
    return trainer


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def same(steps, method, residual):
    """The weights' hash after that number of steps."""
    model = perceptron()
    trained(
        model,
        lambda parameters: torch.optim.SGD(parameters, lr=0.05),
        range(int(steps)),
        method=method,
        residual=residual,
    )
    return weights_hash(model)


def resumed(folder, first, last, residual):
    """The weights' hash after the steps from first to last. If first is not
    0, training resumes from the state in the folder. The final state is
    saved there."""
    file = os.path.join(folder, f"{RANK}.pt")
    model = perceptron()
    optimizer = sgd(model.parameters())
    saved = torch.load(file) if int(first) else None
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    trainer = exchange.MirrorTrainer(
        model, optimizer, **OPTIONS, residual=residual
    )
    if saved:
        trainer.load_state_dict(saved["trainer"])
    train(model, optimizer, range(int(first), int(last)), RANK)
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "trainer": trainer.state_dict(),
    }
    torch.save(state, file)
    return weights_hash(model)


def distributed(folder, **options):
    """A DDP model with several buckets."""
    meeting = f"{folder}/{os.environ['PMIX_NAMESPACE']}"  # per mpirun
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=RANK, world_size=SIZE
    )
    return torch.nn.parallel.DistributedDataParallel(
        perceptron(), bucket_cap_mb=0.005, **options
    )


def ddp(folder, hook, method, density):
    """The weights after some steps, with this hook or DDP's own exchange."""
    model = distributed(folder)
    if hook == "penstock":
        options = {**OPTIONS, "method": method, "density": float(density)}
        state = exchange.DdpState(model, **options)
        model.register_comm_hook(state, exchange.ddp_hook)
    optimizer = sgd(model.parameters())
    train(model, optimizer, range(30), RANK)
    if hook == "penstock" and float(density) < 1:
        sent_bytes = state.exchanged_bytes  # in 28 steps, and two dense ones
        state.set_density(float(density) / 10)
        train(model, optimizer, range(30, 58), RANK)
        assert state.exchanged_bytes - sent_bytes < sent_bytes / 2
    torch.save(model.module.state_dict(), f"{folder}/{hook}-{RANK}.pt")
    return weights_hash(model.module)


def ddp_resumed(folder, first, last):
    file = os.path.join(folder, f"{RANK}.pt")
    model = distributed(folder)
    optimizer = sgd(model.parameters())
    state = exchange.DdpState(model, **OPTIONS)
    if int(first):
        saved = torch.load(file)
        model.module.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        state.load_state_dict(saved["hook"])
    model.register_comm_hook(state, exchange.ddp_hook)
    train(model, optimizer, range(int(first), int(last)), RANK)
    saved = {
        "model": model.module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "hook": state.state_dict(),
    }
    torch.save(saved, file)
    return weights_hash(model.module)


def ddp_refused(folder, what):
    model = distributed(folder, find_unused_parameters=what == "unused")
    transport = "self" if what == "alone" else "mpi"
    try:
        exchange.DdpState(model, transport=transport, **OPTIONS)
    except ValueError as error:
        return error
    return "nothing was refused"


def raises(step):
    """Rank 1 makes an error in the step."""
    model = perceptron()
    optimizer = sgd(model.parameters())
    exchange.MirrorTrainer(model, optimizer, **OPTIONS)
    train(model, optimizer, range(int(step)), RANK)
    if RANK == 1:
        raise ArithmeticError("rank 1 gives up")
    train(model, optimizer, range(int(step), 1000), RANK)
    return "went on"


def emulated(case, *arguments):
    """A case on emulated GPUs."""
    from emulated_gpu import emulated_gpus

    with emulated_gpus() as places:
        result = CASES[case](*arguments)
    assert places[0].gradients
    return result


CASES = {
    function.__name__: function
    for function in (
        same, resumed, ddp, ddp_resumed, ddp_refused, raises, emulated
    )
}

if __name__ == "__main__":
    result = CASES[sys.argv[1]](*sys.argv[2:])
    # In one write: lines of ranks must not mix.
    os.write(1, f"{RANK} {result}\n".encode())
