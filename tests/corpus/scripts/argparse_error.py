# corpus: kind=endings needs=torch samples=- loaders=0 trains=- exit=2 run="{script} --batch-size many"
import argparse

import torch
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser(prog="train")
parser.add_argument("--batch-size", type=int, default=8)
args = parser.parse_args()
print(len(DataLoader(torch.arange(10), batch_size=args.batch_size)))
