#include "loader/picture/png.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <string>

namespace penstock {
namespace {

// libpng reports errors by longjmp(). Functions that call it have no objects
// with destructors; the state is kept here.
struct PngSession {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const uint8_t* at = nullptr;
  size_t left_bytes = 0;
  int width = 0;
  int height = 0;
  char why[96] = "out of memory";

  PngSession() = default;
  PngSession(const PngSession&) = delete;
  PngSession& operator=(const PngSession&) = delete;
  ~PngSession() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* session = static_cast<PngSession*>(png_get_error_ptr(png));
  std::strncpy(session->why, message, sizeof session->why - 1);
  png_longjmp(png, 1);
}

// Ignores warnings: they concern chunks that do not affect the pixels.
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t bytes) {
  auto* session = static_cast<PngSession*>(png_get_io_ptr(png));
  if (bytes > session->left_bytes) png_error(png, "cut short");
  std::memcpy(out, session->at, bytes);
  session->at += bytes;
  session->left_bytes -= bytes;
}

// Skips texts, profiles and the like: they may be large when decompressed.
void leave_out_what_is_not_needed(png_structp png) {
  static const png_byte kChunks[] = "iCCP\0tEXt\0zTXt\0iTXt\0eXIf\0sPLT\0";
  constexpr int kCount = (sizeof kChunks - 1) / 5;
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kChunks, kCount);
}

void choose_rgb(png_structp png) {
  png_set_expand(png);  // palettes, and grey of fewer than 8 bits
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
}

// Reads the header, up to the pixels. False: session.why has the reason.
bool read_header(PngSession& session) {
  session.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session,
                                       on_error, on_warning);
  if (session.png == nullptr) return false;
  session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) return false;
  if (setjmp(png_jmpbuf(session.png)) != 0) return false;
  png_set_read_fn(session.png, &session, on_read);
  png_set_user_limits(session.png, kMaxSidePixels, kMaxSidePixels);
  leave_out_what_is_not_needed(session.png);
  png_read_info(session.png, session.info);
  choose_rgb(session.png);
  session.width =
      static_cast<int>(png_get_image_width(session.png, session.info));
  session.height =
      static_cast<int>(png_get_image_height(session.png, session.info));
  return true;
}

// Reads the pixels into rows of 3 x width bytes, and the file to its end.
// False: session.why has the reason.
bool read_pixels(PngSession& session, uint8_t* pixels) {
  if (setjmp(png_jmpbuf(session.png)) != 0) return false;
  const int passes = png_set_interlace_handling(session.png);
  png_read_update_info(session.png, session.info);
  const size_t row_bytes = png_get_rowbytes(session.png, session.info);
  if (row_bytes != 3 * static_cast<size_t>(session.width)) {
    png_error(session.png, "a colour type that is not handled");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < session.height; ++y) {
      png_read_row(session.png, pixels + static_cast<size_t>(y) * row_bytes,
                   nullptr);
    }
  }
  png_read_end(session.png, nullptr);
  return true;
}

}  // namespace

Result<ImageView> decode_png(std::span<const uint8_t> file,
                             PixelBuffer& buffer) {
  PngSession session;
  session.at = file.data();
  session.left_bytes = file.size();
  if (!read_header(session)) return invalid(std::string("PNG: ") + session.why);
  const uint64_t pixels = static_cast<uint64_t>(session.width) *
                          static_cast<uint64_t>(session.height);
  if (pixels > kMaxPixels) return invalid("PNG: over 256 Mpixel");
  auto room = buffer.reserve(3 * pixels);
  if (!room) return std::move(room).error().wrap("PNG");
  if (!read_pixels(session, *room)) {
    return invalid(std::string("PNG: ") + session.why);
  }
  return ImageView{*room, session.width, session.height};
}

}  // namespace penstock
