"""Loops of the peers that Debian packages.

Each yields the number of pictures in its next batch, without end:
RandomResizedCrop(224), flip, normalised float32 tensors."""

# Each peer's process imports only that peer's modules.
# pylint: disable=import-outside-toplevel

import concurrent.futures
import io
import itertools
import pathlib
import random

SIDE = 224
BATCH = 64
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
# Samples of a DataLoader's epoch; large, to exclude pauses between epochs.
EPOCH = 1 << 20


def files(folder):
    return sorted(map(str, pathlib.Path(folder).glob("*.jpg")))


def torchvision_transform():
    from torchvision import transforms
    return transforms.Compose([
        transforms.RandomResizedCrop(SIDE, AREA, RATIO),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, DEVIATION)])


def open_rgb(source):
    from PIL import Image
    with Image.open(source) as image:
        return image.convert("RGB")


def data_loader(dataset, threads):
    import torch
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        dataset, BATCH, shuffle=True, num_workers=threads)
    for batch in loader:
        yield len(batch)


class FolderSamples:
    def __init__(self, folder):
        self._files = files(folder)
        self._transform = torchvision_transform()

    def __len__(self):
        return EPOCH

    def __getitem__(self, index):
        return self._transform(open_rgb(self._files[index % len(self._files)]))


class LmdbSamples:
    """Opened in each worker: an environment does not survive a fork."""

    def __init__(self, path):
        self._path = path
        self._reading = None
        self._count = 0
        self._transform = torchvision_transform()

    def __len__(self):
        return EPOCH

    def __getitem__(self, index):
        import lmdb
        if self._reading is None:
            environment = lmdb.open(self._path, readonly=True, lock=False,
                                    readahead=False)
            self._count = environment.stat()["entries"]
            self._reading = environment.begin(buffers=True)
        record = self._reading.get(f"{index % self._count:08}".encode())
        return self._transform(open_rgb(io.BytesIO(record)))


def pytorch(folder, threads):
    return data_loader(FolderSamples(folder), threads)


def lmdb_loader(path, threads):
    return data_loader(LmdbSamples(path), threads)


def random_box(width, height):
    """Returns left, top, width, height, drawn as torchvision does."""
    for _ in range(10):
        area = width * height * random.uniform(*AREA)
        # In torchvision the ratio's logarithm is uniform; the areas are the
        # same.
        ratio = RATIO[0] * (RATIO[1] / RATIO[0]) ** random.random()
        wide, high = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < wide <= width and 0 < high <= height:
            return (random.randint(0, width - wide),
                    random.randint(0, height - high), wide, high)
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


class OpencvSample:
    def __init__(self):
        import cv2
        import numpy
        cv2.setNumThreads(0)
        self._cv2 = cv2
        self._scale = (1 / (255 * numpy.array(DEVIATION))).astype("float32")
        self._shift = (-numpy.array(MEAN) / DEVIATION).astype("float32")

    def __call__(self, path):
        cv2 = self._cv2
        image = cv2.imread(path, cv2.IMREAD_COLOR)
        left, top, wide, high = random_box(image.shape[1], image.shape[0])
        image = cv2.resize(image[top:top + high, left:left + wide],
                           (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
        if random.random() < 0.5:
            image = cv2.flip(image, 1)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        return (image * self._scale + self._shift).transpose(2, 0, 1)


def opencv(folder, threads):
    import numpy
    sample = OpencvSample()
    names = files(folder)
    drawn = (random.choice(names) for _ in itertools.count())
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        ahead = [pool.submit(sample, next(drawn)) for _ in range(2 * BATCH)]
        while True:
            ready, ahead = ahead[:BATCH], ahead[BATCH:]
            ahead += [pool.submit(sample, next(drawn)) for _ in range(BATCH)]
            yield len(numpy.stack([one.result() for one in ready]))


LOOPS = {"pytorch": pytorch, "lmdb": lmdb_loader, "opencv": opencv}
