"""Jobs with one mistake each in how they were started, and clean jobs."""

import dataclasses

# A training program whose loader and model compute as long as they are told.
# It knows nothing of Penstock.
TRAIN = """
import os, subprocess, sys, time
import torch
from torch.utils.data import DataLoader, Dataset

def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

class Data(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        {sample}
        return torch.ones(1)

def start_worker(worker):
    {worker}

def train():
    model = {model}
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    loader = DataLoader(Data(), batch_size=4, num_workers={workers},
                        worker_init_fn=start_worker)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        {step}
        optimizer.step()

# As torchrun starts its ranks.
def launch(ranks):
    if "RANK" in os.environ:
        return train()
    children = [subprocess.Popen([sys.executable, *sys.argv],
                                 env=dict(os.environ, RANK=str(rank)))
                for rank in range(ranks)]
    for child in children:
        child.wait()

if __name__ == "__main__":
    {main}
"""

PYTHON = "exec /usr/bin/python3 {script}"
SRUN = "srun {flags} /usr/bin/python3 {script}"
# The default number of threads depends on how torch was built.
ONE_THREAD = "OMP_NUM_THREADS=1 " + PYTHON
TWO_THREADS = "OMP_NUM_THREADS=2 " + PYTHON
LARGE = "torch.nn.Linear(1, 1 << 20)"
# Eight small files a sample, or 1 MiB of one large file. NETWORK: a folder
# that waits 2 ms for each request, as over a network.
READ_SMALL = """for i in range(8):
            with open(f"NETWORK/train/{(8 * index + i) % FILES}", "rb") as file:
                file.read()"""
READ_LARGE = """with open("NETWORK/large", "rb") as file:
            file.seek(index % LARGE << 20)
            file.read(1 << 20)"""
FILES = 20000
LARGE_MIB = 16000


@dataclasses.dataclass
class Case:
    """fault: its name; "": the job is clean. lines: of the remedy. command: of
    the batch script, with `flags` of srun. The rest fills TRAIN."""

    name: str
    fault: str = ""
    lines: tuple = ()
    sbatch: tuple = ("--cpus-per-task=2",)
    command: str = PYTHON
    flags: str = ""
    workers: int = 2
    sample: str = "work(0.01)"
    worker: str = "pass"
    step: str = "pass"
    model: str = "torch.nn.Linear(1, 1)"
    main: str = "train()"
    gpus: int = 0
    outsider: bool = False  # a process of no job computes on each of its CPUs

    def script(self, network):
        text = TRAIN.format(workers=self.workers, sample=self.sample,
                            worker=self.worker, step=self.step,
                            model=self.model,
                            main=self.main)
        for name, value in (("NETWORK", network), ("FILES", FILES),
                            ("LARGE", LARGE_MIB)):
            text = text.replace(name, str(value))
        return text


MISTAKES = [
    Case("srun_without_c", "step_cpus", ("srun --cpus-per-task=2",),
         command=SRUN, flags="--exact"),
    Case("two_ranks_in_srun", "step_cpus", ("srun --cpus-per-task=2",),
         command=SRUN, flags="--exact", workers=1, main="launch(2)"),
    Case("tasks_on_one_cpu", "tasks_pinned", ("srun --cpu-bind=cores",),
         sbatch=("--ntasks=2", "--cpus-per-task=1"), command=SRUN,
         flags="--cpu-bind=map_cpu:0,0", workers=1),
    Case("ranks_on_one_cpu", "ranks_share", ("#SBATCH --cpus-per-task=2",),
         sbatch=("--cpus-per-task=1",), workers=1, main="launch(2)"),
    Case("pinned_workers", "loader_pinned",
         ("def worker_init_fn(worker): os.sched_setaffinity(0, "
          "range(os.cpu_count()))",
          "DataLoader(..., worker_init_fn=worker_init_fn)"),
         worker="os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
         workers=4),
    Case("threads_of_workers", "many_threads",
         ("export OMP_NUM_THREADS=1", "cv2.setNumThreads(0)"),
         worker="torch.set_num_threads(4)",
         sample="torch.ones(2_000_000).sin()"),
    Case("eight_workers", "many_workers", ("num_workers=2",), workers=8),
    Case("one_worker", "few_workers", ("num_workers=2",), workers=1),
    Case("no_worker", "few_workers", ("num_workers=2",), workers=0),
    Case("small_reads", "small_reads",
         ("cp -r NETWORK/train \"${TMPDIR:-/tmp}\"",), sample=READ_SMALL),
    Case("one_thread", "one_thread", ("torch.set_num_threads(2)",),
         command=ONE_THREAD, workers=0, sample="pass",
         model=LARGE),
    Case("unused_gpu", "unused_gpus", ("#SBATCH --gpus-per-node=1",), gpus=2,
         workers=1, sample="work(0.001)", step="work(0.02)"),
    Case("killed_worker", "memory_kills", ("#SBATCH --mem=600M",),
         sbatch=("--cpus-per-task=2", "--mem=400M"),
         sample="b'x' * (1 << 30) if index == 400 else work(0.01)",
         main="""
    try:
        train()
    except RuntimeError:
        time.sleep(60)"""),
    Case("outsiders", "outsiders", ("#SBATCH --exclude=NODE",),
         outsider=True),
]

CLEAN = [
    Case("starved_on_two", workers=2),
    Case("fed", workers=1, sample="work(0.0005)", step="work(0.02)"),
    Case("computes", command=TWO_THREADS, workers=0,
         sample="pass", model=LARGE),
    Case("sleeping_workers", workers=6, sample="time.sleep(0.004)",
         step="work(0.01)"),
    Case("large_reads", sample=READ_LARGE),
    Case("srun_with_c", command=SRUN, flags="--cpus-per-task=2"),
    Case("two_tasks", sbatch=("--ntasks=2", "--cpus-per-task=1"),
         command=SRUN, workers=1),
    Case("one_cpu", sbatch=("--cpus-per-task=1",), workers=1,
         command=ONE_THREAD, model=LARGE),
    Case("no_training", main="work(600)"),
]
