#include "bench/demo_data/jpeg_writer.h"

#include <jpeglib.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace penstock {
namespace {

struct Encoder {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  unsigned char* file;  // allocated by libjpeg with malloc()
  unsigned long size_bytes;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto& encoder = *static_cast<Encoder*>(info->client_data);
  (*info->err->format_message)(info, encoder.message);
  std::longjmp(encoder.jump, 1);
}

// libjpeg's errors jump back here by longjmp(), so this function must have no
// C++ objects with destructors.
bool encode(Encoder& encoder, const uint8_t* pixels, int width, int height,
            int quality) {
  jpeg_compress_struct& info = encoder.info;
  info.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = on_error;
  info.client_data = &encoder;
  if (setjmp(encoder.jump) != 0) return false;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &encoder.file, &encoder.size_bytes);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.dct_method = quality >= 96 ? JDCT_ISLOW : JDCT_IFAST;
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(pixels) +
                   3 * size_t{info.next_scanline} * info.image_width;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

Result<std::vector<uint8_t>> encode_jpeg(std::span<const uint8_t> pixels,
                                         int width, int height, int quality) {
  Encoder encoder{};
  const bool encoded = encode(encoder, pixels.data(), width, height, quality);
  std::vector<uint8_t> file(encoder.file,
                            encoder.file + (encoded ? encoder.size_bytes : 0));
  jpeg_destroy_compress(&encoder.info);
  std::free(encoder.file);
  if (encoded) return file;
  return Error{Code::kLimit, 0, std::string("libjpeg: ") + encoder.message};
}

}  // namespace penstock
