# corpus: kind=frameworks needs=grain,numpy samples=- loaders=1 trains=- exit=0
# grain with its reading threads, without JAX.
import grain
import numpy as np

X = np.random.default_rng(78).standard_normal((40, 3)).astype(np.float32)


class Scaled(grain.transforms.Map):
    def map(self, index):
        return X[index] * 2


def main():
    weights = np.zeros(3, dtype=np.float32)
    dataset = grain.MapDataset.range(40).shuffle(seed=1).map(Scaled()).batch(8)
    for epoch in range(2):
        for x in dataset.to_iter_dataset():
            error = x @ weights - x.sum(1)
            weights -= 0.02 * (error @ x) / len(x)
        print(epoch, repr(float(np.square(error).mean())), len(dataset))


if __name__ == "__main__":
    main()
