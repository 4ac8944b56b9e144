// JPEG pictures through libjpeg-turbo: only what a crop needs is decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/result.h"
#include "loader/augment.h"
#include "loader/image.h"
#include "loader/pixel_buffer.h"

namespace penstock {

// A progressive picture has ten scans or so; each costs as much as decoding a
// plain one.
inline constexpr int kMaxJpegScans = 100;
// Of libjpeg's own memory: a progressive picture is kept whole, 6 bytes a pixel
// (of CMYK 8) at most.
inline constexpr uint64_t kMaxJpegBytes = uint64_t{1} << 30;

// A decoded JPEG may be smaller than the file's picture by `eighths` / 8.
struct JpegScale {
  // 1, 2, 4 or 8. libjpeg-turbo has other factors too, but for these alone a
  // SIMD inverse DCT: 7/8 was measured to take twice the time of full size.
  int eighths = 8;
};

// The smallest scale at which a crop of the given size (in pixels of the full
// picture) still has at least 1.25 x out_side pixels along both sides; full
// size where none has. libjpeg's reduction averages whole squares and so loses
// contrast beside the filter that follows: with no pixels to spare the worst of
// 48 photographs' crops differed from Pillow's by 2.0 / 255 on average, with
// these by 0.8. Pure.
JpegScale choose_scale(double crop_width, double crop_height, int out_side);

// The part of a picture that a crop needs.
struct JpegPart {
  ImageView image;  // valid until the decoder's next call
  Crop crop;        // the crop in image's pixels; inside it
};

struct JpegSession;  // libjpeg's state; jpeg.cpp

// One decoder per thread; its buffer grows to the largest part seen. Nothing
// else is kept from one file to the next: a file that relies on another one's
// tables is damaged.
class JpegDecoder {
 public:
  JpegDecoder();
  // Decodes into a buffer that others use in between, and that must outlive it.
  // most_bytes: of libjpeg's memory, at most kMaxJpegBytes.
  JpegDecoder(PixelBuffer& pixels, uint64_t most_bytes);
  ~JpegDecoder();

  // Reads the header; the file must stay as it is until decode() is done.
  // Errors: kInvalidArgument  not a JPEG, beyond image.h's bounds, or of other
  //                           colours than grey, YCbCr, RGB, CMYK and YCCK
  [[nodiscard]] Result<ImageSize> open(std::span<const uint8_t> file);

  // Decodes what the crop needs of the file opened last, to RGB at that scale:
  // its rows, and its columns up to whole blocks. Their pixels are those of the
  // whole picture decoded at that scale. CMYK is taken for Adobe's, which is
  // inverted, and multiplied, as Pillow does. open() comes before each
  // decode(). Errors: kInvalidArgument  damaged (anything that libjpeg-turbo
  // warns of)
  //                           up to the crop's last row, or without an end
  //                           marker (cut short); over kMaxJpegScans scans.
  //                           Damage of the compressed data behind the crop's
  //                           last row is not noticed, as nothing there is
  //                           looked at.
  //         kLimit  libjpeg or the buffer would take more than they may, or no
  //                 memory
  // REQUIRES: open() succeeded; the crop lies inside the picture.
  [[nodiscard]] Result<JpegPart> decode(const Crop& crop, JpegScale scale);

 private:
  std::unique_ptr<JpegSession> session_;
  PixelBuffer own_pixels_;
  PixelBuffer& pixels_;
};

}  // namespace penstock
