"""Loops of the peers that tests/peers installs; as in loops.py."""

# Each peer's process imports only that peer's modules.
# pylint: disable=import-outside-toplevel

import itertools
import pathlib
import random

from bench.loader.loops import (AREA, BATCH, DEVIATION, MEAN, RATIO, SIDE,
                                files, random_box, torchvision_transform)


def ffcv(path, threads):
    import numpy
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import (NormalizeImage, RandomHorizontalFlip,
                                 ToTensor, ToTorchImage)
    steps = [RandomResizedCropRGBImageDecoder((SIDE, SIDE), AREA, RATIO),
             RandomHorizontalFlip(),
             NormalizeImage(255 * numpy.array(MEAN),
                            255 * numpy.array(DEVIATION), numpy.float32),
             ToTensor(), ToTorchImage(convert_back_int16=False)]
    loader = Loader(path, batch_size=BATCH, num_workers=threads, os_cache=True,
                    order=OrderOption.RANDOM, drop_last=True,
                    pipelines={"image": steps})
    for _ in itertools.count():
        for (batch,) in loader:
            yield len(batch)


def webdataset(folder, threads):
    import torch
    import webdataset as wds
    transform = torchvision_transform()
    torch.set_num_threads(1)
    shards = sorted(map(str, pathlib.Path(folder).glob("*.tar")))
    samples = (wds.WebDataset(shards, resampled=True, shardshuffle=False)
               .shuffle(4 * BATCH).decode("pil").to_tuple("jpg")
               .map_tuple(transform).batched(BATCH))
    loader = wds.WebLoader(samples, batch_size=None, num_workers=threads)
    for (batch,) in loader:
        yield len(batch)


class SpdlSample:
    """FFmpeg decodes, crops, scales and flips in one pass."""

    def __init__(self, size):
        import numpy
        import spdl.io
        self._io = spdl.io
        self._size = size
        self._scale = (1 / (255 * numpy.array(DEVIATION))).astype("float32")
        self._shift = (-numpy.array(MEAN) / DEVIATION).astype("float32")

    def __call__(self, path):
        left, top, wide, high = random_box(*self._size)
        steps = [f"crop={wide}:{high}:{left}:{top}",
                 f"scale={SIDE}:{SIDE}:flags=bilinear", "format=rgb24"]
        if random.random() < 0.5:
            steps.append("hflip")
        pixels = self._io.to_numpy(
            self._io.load_image(path, filter_desc=",".join(steps)))
        return (pixels * self._scale + self._shift).transpose(2, 0, 1)


def spdl(folder, threads):
    import numpy
    from PIL import Image
    from spdl.pipeline import PipelineBuilder
    names = files(folder)
    with Image.open(names[0]) as image:
        sample = SpdlSample(image.size)  # all have the same size
    sample(names[0])  # the pipeline would skip failures silently
    drawn = (random.choice(names) for _ in itertools.count())
    pipeline = (PipelineBuilder().add_source(drawn)
                .pipe(sample, concurrency=threads)
                .aggregate(BATCH).pipe(numpy.stack).add_sink(2)
                .build(num_threads=threads))
    with pipeline.auto_stop():
        for batch in pipeline:
            yield len(batch)


def dali(folder, threads):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=None)
    def pipeline():
        jpegs, _ = fn.readers.file(files=files(folder), random_shuffle=True)
        images = fn.decoders.image_random_crop(
            jpegs, random_area=AREA, random_aspect_ratio=RATIO)
        images = fn.resize(images, size=[SIDE, SIDE])
        return fn.crop_mirror_normalize(
            images, dtype=types.FLOAT, output_layout="CHW",
            mirror=fn.random.coin_flip(), mean=[255 * it for it in MEAN],
            std=[255 * it for it in DEVIATION])

    built = pipeline()
    built.build()
    while True:
        (batch,) = built.run()
        yield len(batch)


LOOPS = {"ffcv": ffcv, "webdataset": webdataset, "spdl": spdl, "dali": dali}
