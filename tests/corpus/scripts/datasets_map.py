# corpus: kind=frameworks needs=datasets,numpy samples=- loaders=1 trains=- exit=0
# Hugging Face datasets: map() with two processes, then batches of numpy arrays.
import os

import numpy as np

os.environ.setdefault("HF_HOME", os.environ.get("CORPUS_DATA", "."))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
from datasets import Dataset, disable_progress_bars


def lengthen(row):
    return {"length": len(row["text"]), "vowels": sum(letter in "aeiou" for letter in row["text"])}


if __name__ == "__main__":
    disable_progress_bars()
    texts = ["abcdefghijklmnop"[: 3 + i % 13] for i in range(60)]
    data = (
        Dataset.from_dict({"text": texts})
        .map(lengthen, num_proc=2)
        .shuffle(seed=1)
        .with_format("numpy")
    )
    weight = 0.0
    for epoch in range(2):
        for batch in data.iter(batch_size=15):
            error = weight * batch["length"] - batch["vowels"]
            weight -= 0.005 * float(np.mean(error * batch["length"]))
        print(epoch, repr(float(np.square(error).mean())), repr(weight), len(data))
