// Decodes JPEG pictures with libjpeg-turbo, only as far as a crop needs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/result.h"
#include "loader/picture/augment.h"
#include "loader/picture/image.h"
#include "loader/picture/pixel_buffer.h"

namespace penstock {

// Progressive pictures have about ten scans; each costs as much as to decode a
// baseline picture.
inline constexpr int kMaxJpegScans = 100;
// Limit of libjpeg's own memory. It keeps a whole progressive picture, at most
// 6 bytes per pixel (CMYK: 8).
inline constexpr uint64_t kMaxJpegBytes = uint64_t{1} << 30;

// Scale of the decoded picture: `eighths` / 8 of the file's picture.
struct JpegScale {
  // 1, 2, 4 or 8. libjpeg-turbo has other factors, but a SIMD inverse DCT only
  // for these: 7/8 was measured to take twice the time of full size.
  int eighths = 8;
};

// The smallest scale at which a crop of the given size (in pixels of the full
// picture) has at least 1.25 x out_side pixels along both sides; full size if
// there is none. Pure.
//
// Why 1.25: libjpeg's reduction averages whole squares and so loses contrast
// compared with the filter that follows. Without spare pixels the worst of 48
// photographs' crops differed from Pillow's by 2.0 / 255 on average, with 1.25
// by 0.8.
JpegScale choose_scale(double crop_width, double crop_height, int out_side);

// The part of a picture that a crop needs.
struct JpegPart {
  ImageView image;  // valid until the decoder's next call
  Crop crop;        // in pixels of image, and inside it
};

struct JpegSession;  // libjpeg's state; jpeg.cpp

// One decoder per thread; its buffer grows to the largest part seen. Files are
// independent: one that relies on the tables of an earlier file counts as
// damaged.
class JpegDecoder {
 public:
  JpegDecoder();
  // Decodes into `pixels`, which other decoders may also use and which must
  // outlive it. most_bytes: limit of libjpeg's memory, at most kMaxJpegBytes.
  JpegDecoder(PixelBuffer& pixels, uint64_t most_bytes);
  ~JpegDecoder();

  // Reads the header. The file's bytes must not change until decode() returns.
  // Errors: kInvalidArgument  not a JPEG, beyond image.h's limits, or colours
  //                           other than grey, YCbCr, RGB, CMYK and YCCK
  [[nodiscard]] Result<ImageSize> open(std::span<const uint8_t> file);

  // Decodes the part of the opened file that the crop needs, to RGB at that
  // scale: its rows, and its columns rounded to whole blocks. The pixels equal
  // those of the whole picture at that scale. CMYK is taken as Adobe's inverted
  // CMYK and multiplied, as Pillow does.
  // REQUIRES: open() succeeded before each decode(); the crop lies inside the
  //           picture.
  // Accepted, with Pillow's pixels: unknown JFIF versions, Adobe codes and scan
  // parameters of a baseline picture; any bytes between segments; zeros behind
  // a scan's data; zeros in the place of the end marker, unless the picture has
  // several scans.
  // Errors: kInvalidArgument  damaged up to the crop's last row (anything else
  //                           that libjpeg-turbo warns of); no end marker (cut
  //                           short); over kMaxJpegScans scans. Damage after
  //                           the crop's last row is not detected, as that data
  //                           is not decoded.
  //         kLimit  libjpeg or the buffer would exceed its limit, or no memory
  [[nodiscard]] Result<JpegPart> decode(const Crop& crop, JpegScale scale);

 private:
  std::unique_ptr<JpegSession> session_;
  PixelBuffer own_pixels_;
  PixelBuffer& pixels_;
};

}  // namespace penstock
