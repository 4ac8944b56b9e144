#include "loader/jpeg.h"

#include <turbojpeg.h>

#include <string>

namespace penstock {
namespace {

Error jpeg_error(tjhandle handle) {
  return invalid(std::string("JPEG: ") + tjGetErrorStr2(handle));
}

int scaled(int full, JpegScale scale) {
  return (full * scale.eighths + 7) / 8;  // as TJSCALED rounds
}

}  // namespace

JpegScale choose_scale(double crop_width, double crop_height, int out_side) {
  for (int eighths : {1, 2, 4}) {
    if (crop_width * eighths >= 8.0 * out_side &&
        crop_height * eighths >= 8.0 * out_side) {
      return JpegScale{eighths};
    }
  }
  return JpegScale{8};
}

void JpegDecoder::Destroy::operator()(void* handle) const { tjDestroy(handle); }

Status JpegDecoder::make_handle() {
  if (handle_) return Done{};
  handle_.reset(tjInitDecompress());
  if (handle_) return Done{};
  return Error{Code::kLimit, 0, "libjpeg-turbo: out of memory"};
}

Result<ImageSize> JpegDecoder::read_size(std::span<const uint8_t> file) {
  if (auto made = make_handle(); !made) return made.error();
  ImageSize size;
  int subsampling = 0;
  int colorspace = 0;
  if (tjDecompressHeader3(handle_.get(), file.data(), file.size(), &size.width,
                          &size.height, &subsampling, &colorspace) != 0) {
    return jpeg_error(handle_.get());
  }
  if (size.width < 1 || size.height < 1 || size.width > kMaxSidePixels ||
      size.height > kMaxSidePixels ||
      static_cast<uint64_t>(size.width) * static_cast<uint64_t>(size.height) >
          kMaxPixels) {
    return invalid("JPEG: over 65500 pixels along a side, or over 256 Mpixel");
  }
  return size;
}

Result<ImageView> JpegDecoder::decode(std::span<const uint8_t> file,
                                      JpegScale scale) {
  auto full = read_size(file);
  if (!full) return full.error();
  const ImageSize size{scaled(full->width, scale), scaled(full->height, scale)};
  const uint64_t bytes = 3 * static_cast<uint64_t>(size.width) *
                         static_cast<uint64_t>(size.height);
  if (bytes > capacity_bytes_) {
    pixels_ = std::make_unique_for_overwrite<uint8_t[]>(bytes);
    capacity_bytes_ = bytes;
  }
  if (tjDecompress2(handle_.get(), file.data(), file.size(), pixels_.get(),
                    size.width, 0, size.height, TJPF_RGB, 0) != 0) {
    return jpeg_error(handle_.get());
  }
  return ImageView{pixels_.get(), size.width, size.height};
}

}  // namespace penstock
