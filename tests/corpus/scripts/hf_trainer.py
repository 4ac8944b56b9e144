# corpus: kind=frameworks needs=torch,transformers,accelerate samples=96 loaders=2 trains=trainer exit=0
import os

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, set_seed


class Tokens(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"input_ids": (torch.arange(6) + index) % 20, "labels": torch.tensor(index % 2)}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 8), nn.Linear(8, 2)

    def forward(self, input_ids, labels=None):
        logits = self.head(self.embedding(input_ids).mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Losses(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        kept = {
            k: v
            for k, v in logs.items()
            if k in ("loss", "eval_loss", "train_loss", "learning_rate")
        }
        print(state.global_step, kept)


set_seed(71)
arguments = TrainingArguments(
    output_dir=os.environ.get("CORPUS_DATA", "."),
    num_train_epochs=2,
    per_device_train_batch_size=8,
    per_device_eval_batch_size=8,
    gradient_accumulation_steps=2,
    eval_strategy="epoch",
    logging_steps=2,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    seed=71,
)
trainer = Trainer(
    Classifier(),
    arguments,
    train_dataset=Tokens(48),
    eval_dataset=Tokens(16),
    callbacks=[Losses()],
)
trainer.remove_callback(PrinterCallback)  # it prints times
result = trainer.train()
print(repr(result.training_loss), repr(trainer.evaluate()["eval_loss"]))
