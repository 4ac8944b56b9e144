// What becomes of a picture before it is a sample.
#pragma once

namespace penstock {

enum class Augment {
  // To train with: a random part, 8% to 100% of the area, flipped in one case
  // of two, as torchvision's RandomResizedCrop and RandomHorizontalFlip have
  // it.
  kRandom,
  // To validate with: the centred square whose side is 224/256 of the
  // picture's smaller one, as Resize(256) and CenterCrop(224) leave it; nothing
  // is random.
  kCentre,
};

}  // namespace penstock
