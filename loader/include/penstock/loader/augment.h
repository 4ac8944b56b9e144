// How a picture is cropped and flipped to make a sample.
#pragma once

namespace penstock {

enum class Augment {
  // For training: a random part of 8% to 100% of the area, flipped with
  // probability 1/2, like torchvision's RandomResizedCrop and
  // RandomHorizontalFlip.
  kRandom,
  // For validation: the centred square with 224/256 of the picture's shorter
  // side, like Resize(256) and CenterCrop(224). Not random.
  kCentre,
};

}  // namespace penstock
