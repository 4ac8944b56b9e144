#include "loader/picture/jpeg.h"

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

namespace penstock {

// libjpeg's error handler must not return, so it uses longjmp(). Functions that
// a jump may leave are marked "Jumps" and hold no C++ objects.
struct JpegSession {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  const uint8_t* end;  // of the file, without zeros behind its data
  bool ends_in_zeros;
  bool lacks_end;  // libjpeg got an end marker that the file does not have
  bool in_scan;    // no segment since the last scan's data
  size_t restart_zeros;  // before restart markers, since the last warning
  long most_bytes;       // of libjpeg's memory
};

namespace {

// A part of the scaled picture, in pixels.
struct Box {
  JDIMENSION x;
  JDIMENSION y;
  JDIMENSION width;
  JDIMENSION height;
};

// Extra columns beside a part: libjpeg interpolates subsampled colours from
// neighbouring pixels, so these change the colours at the part's edge.
constexpr JDIMENSION kMarginPixels = 2;

JpegSession& session_of(j_common_ptr info) {
  return *static_cast<JpegSession*>(info->client_data);
}

[[noreturn]] void on_error(j_common_ptr info) {
  JpegSession& session = session_of(info);
  (*info->err->format_message)(info, session.message);
  std::longjmp(session.jump, 1);
}

[[noreturn]] void refuse(JpegSession& session, const char* why) {
  std::snprintf(session.message, sizeof session.message, "%s", why);
  std::longjmp(session.jump, 1);
}

// Number of zero bytes directly before `at`. They end: a JPEG, and kEnd, begin
// with another byte.
size_t zeros_before(const uint8_t* at) {
  size_t count = 0;
  for (; at[-1] == 0; --at) ++count;
  return count;
}

// libjpeg warns of bytes that it skipped in search of a marker. Before and
// between segments they do not matter. Behind a scan's data, zeros are padding;
// other bytes are data that a damaged scan left over.
bool is_padding(JpegSession& session) {
  const auto skipped = static_cast<size_t>(session.errors.msg_parm.i[0]);
  const size_t earlier_zeros = session.restart_zeros;
  session.restart_zeros = 0;
  if (!session.in_scan) return true;
  const size_t zeros = zeros_before(session.source.next_input_byte);
  // Up to 8 zeros may be read ahead. If more are missing, they were decoded:
  // they are in the place of lost data.
  constexpr size_t kMostReadAhead = 8;
  return skipped <= zeros + earlier_zeros && zeros <= skipped + kMostReadAhead;
}

// Whether the pixels are right nevertheless, measured on damaged and on oddly
// written files (docs/decisions/loader.md, 56).
bool is_harmless(JpegSession& session) {
  switch (session.errors.msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:  // some encoders write zeros as scan parameters
      return true;
    case JWRN_EXTRANEOUS_DATA:
      return is_padding(session);
    default:
      return false;
  }
}

// Traces tell which part of the file libjpeg reads.
void on_trace(JpegSession& session) {
  switch (session.errors.msg_code) {
    case JTRC_SOS:
      session.in_scan = true;
      session.restart_zeros = 0;
      break;
    case JTRC_DHT:
    case JTRC_DQT:
    case JTRC_DRI:
    case JTRC_MISC_MARKER:  // comments and applications' segments
      session.in_scan = false;
      break;
    case JTRC_RST: {
      const uint8_t* at = session.source.next_input_byte - 1;
      while (at[-1] == 0xff) --at;
      session.restart_zeros += zeros_before(at);
      break;
    }
    default:
      break;
  }
}

// Level -1 is a warning. If the picture is damaged, libjpeg would guess.
void on_message(j_common_ptr info, int level) {
  JpegSession& session = session_of(info);
  if (level >= 0) {
    on_trace(session);
  } else if (!is_harmless(session)) {
    on_error(info);
  }
}

void on_output(j_common_ptr) {}

void on_source(j_decompress_ptr) {}

// A file that ends in zeros may have them in the place of its end marker, or of
// lost data. So the decoder gets an end marker instead: libjpeg warns if it
// lacks a single bit. Of several scans a whole one may be missing.
boolean on_end_of_data(j_decompress_ptr info) {
  static constexpr uint8_t kEnd[] = {0xff, 0xff, JPEG_EOI};
  JpegSession& session = session_of(reinterpret_cast<j_common_ptr>(info));
  if (!session.ends_in_zeros || info->input_scan_number == 0 ||
      jpeg_has_multiple_scans(info)) {
    refuse(session, "cut short");
  }
  session.lacks_end = true;
  info->src->next_input_byte = kEnd + 1;
  info->src->bytes_in_buffer = 2;
  return TRUE;
}

void on_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  const auto bytes = static_cast<size_t>(count);
  if (bytes > info->src->bytes_in_buffer) {
    refuse(session_of(reinterpret_cast<j_common_ptr>(info)), "cut short");
  }
  info->src->next_input_byte += bytes;
  info->src->bytes_in_buffer -= bytes;
}

void on_progress(j_common_ptr info) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number > kMaxJpegScans) {
    refuse(session_of(info), "over 100 scans");
  }
}

void connect(JpegSession& session, const uint8_t* data, size_t size) {
  const size_t file_size = size;
  while (size > 0 && data[size - 1] == 0) --size;
  // The data may end in a byte 0xff, which a zero follows.
  if (size > 0 && size < file_size && data[size - 1] == 0xff) ++size;
  session.ends_in_zeros = size < file_size;
  session.lacks_end = false;
  session.in_scan = false;
  session.restart_zeros = 0;
  session.source.next_input_byte = data;
  session.source.bytes_in_buffer = size;
  session.source.init_source = on_source;
  session.source.fill_input_buffer = on_end_of_data;
  session.source.skip_input_data = on_skip;
  session.source.resync_to_restart = jpeg_resync_to_restart;
  session.source.term_source = on_source;
  session.end = data + size;
  session.progress.progress_monitor = on_progress;
  session.info.src = &session.source;
  session.info.progress = &session.progress;
  session.info.mem->max_memory_to_use = session.most_bytes;
}

// Jumps. False: session.message has the reason.
bool read_header(JpegSession& session, const uint8_t* data, size_t size) {
  jpeg_destroy_decompress(&session.info);
  session.info.err = jpeg_std_error(&session.errors);
  session.errors.error_exit = on_error;
  session.errors.emit_message = on_message;
  session.errors.output_message = on_output;
  session.info.client_data = &session;
  if (setjmp(session.jump) != 0) return false;
  jpeg_create_decompress(&session.info);
  connect(session, data, size);
  jpeg_read_header(&session.info, TRUE);
  return true;
}

// A bug of libjpeg-turbo (2.1.5 at least): in a cropped and scaled picture it
// ignores the scale in the width of the colour planes. It leaves columns unset
// where it still has to enlarge them: with factors above 4 in all, such as 4x2.
bool can_crop_columns(const jpeg_decompress_struct& info) {
  return info.scale_num == info.scale_denom ||
         info.max_h_samp_factor * info.max_v_samp_factor <= 4;
}

bool has_inks(J_COLOR_SPACE space) {
  return space == JCS_CMYK || space == JCS_YCCK;
}

// Adobe's CMYK stores the light that each ink lets through. Rounds like Pillow.
void multiply_inks(const uint8_t* cmyk, size_t pixels, uint8_t* rgb) {
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t channel = 0; channel < 3; ++channel) {
      const unsigned product = cmyk[4 * i + channel] * cmyk[4 * i + 3];
      rgb[3 * i + channel] = static_cast<uint8_t>((product + 127) / 255);
    }
  }
}

// Jumps. Starts to decode the box's columns at that scale. Sets the box to the
// columns that libjpeg really decodes.
bool begin_part(JpegSession& session, int eighths, Box& box) {
  if (setjmp(session.jump) != 0) return false;
  session.info.scale_num = static_cast<unsigned>(eighths);
  session.info.scale_denom = 8;
  session.info.out_color_space =
      has_inks(session.info.jpeg_color_space) ? JCS_CMYK : JCS_RGB;
  // Smoothing would estimate missing data of a progressive picture from
  // neighbouring blocks, which a part may not have.
  session.info.do_block_smoothing = FALSE;
  jpeg_start_decompress(&session.info);
  if (!can_crop_columns(session.info)) {
    box.x = 0;
    box.width = session.info.output_width;
  } else if (box.width < session.info.output_width) {
    jpeg_crop_scanline(&session.info, &box.x, &box.width);
  }
  return true;
}

// Whether the file has its end marker, which other data may follow. Searches
// only behind the bytes read: an embedded preview has an end marker too.
bool has_end_marker(JpegSession& session) {
  if (session.lacks_end) return false;
  if (jpeg_input_complete(&session.info)) return true;
  if (session.info.unread_marker == JPEG_EOI) return true;
  const uint8_t* begin = session.source.next_input_byte;
  for (const uint8_t* at = session.end; at - begin >= 2; --at) {
    if (at[-2] == 0xff && at[-1] == JPEG_EOI) return true;
  }
  return false;
}

// Jumps. Of a file without an end marker the data must reach to the last row,
// and to the zeros at the file's end.
void require_whole(JpegSession& session) {
  jpeg_decompress_struct& info = session.info;
  if (!session.ends_in_zeros) refuse(session, "cut short");
  if (info.output_scanline < info.output_height) {
    JSAMPARRAY row =
        (*info.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&info),
                                  JPOOL_IMAGE, 4 * info.output_width, 1);
    // libjpeg decodes no data to skip the last row.
    jpeg_skip_scanlines(&info, info.output_height - info.output_scanline - 1);
    jpeg_read_scanlines(&info, row, 1);
  }
  if (!session.lacks_end && info.src->bytes_in_buffer > 0) {
    refuse(session, "cut short");
  }
}

// Jumps. Writes the box's rows.
bool read_rows(JpegSession& session, const Box& box, uint8_t* pixels) {
  if (setjmp(session.jump) != 0) return false;
  if (box.y > 0) jpeg_skip_scanlines(&session.info, box.y);
  constexpr JDIMENSION kRows = 8;
  const size_t row_bytes = 3 * size_t{box.width};
  JSAMPARRAY inks = nullptr;
  if (session.info.out_color_space == JCS_CMYK) {
    inks = (*session.info.mem->alloc_sarray)(
        reinterpret_cast<j_common_ptr>(&session.info), JPOOL_IMAGE,
        4 * box.width, kRows);
  }
  for (JDIMENSION y = 0; y < box.height;) {
    JSAMPROW rows[kRows];
    JDIMENSION count = 0;
    for (; count < kRows && y + count < box.height; ++count) {
      rows[count] = pixels + (y + count) * row_bytes;
    }
    const JDIMENSION got = jpeg_read_scanlines(
        &session.info, inks == nullptr ? rows : inks, count);
    for (JDIMENSION i = 0; inks != nullptr && i < got; ++i) {
      multiply_inks(inks[i], box.width, rows[i]);
    }
    y += got;
  }
  if (!has_end_marker(session)) require_whole(session);
  return true;
}

Error jpeg_error(const JpegSession& session) {
  if (session.errors.msg_code == JERR_OUT_OF_MEMORY) {
    return Error{Code::kLimit, ENOMEM, "JPEG: no memory to decode it"};
  }
  if (session.errors.msg_code == JERR_NO_BACKING_STORE) {
    return Error{Code::kLimit, 0,
                 "JPEG: a progressive picture for which libjpeg takes over " +
                     std::to_string(session.most_bytes) +
                     " bytes; the memory bound leaves no more"};
  }
  return invalid(std::string("JPEG: ") + session.message);
}

// The part of the scaled picture that the crop touches, with a margin at the
// sides.
Box box_around(const Crop& crop, JDIMENSION width) {
  const auto left = static_cast<JDIMENSION>(crop.x);
  const auto right =
      static_cast<JDIMENSION>(std::ceil(crop.x + crop.width)) + kMarginPixels;
  const auto top = static_cast<JDIMENSION>(crop.y);
  const auto bottom = static_cast<JDIMENSION>(std::ceil(crop.y + crop.height));
  const JDIMENSION begin = left > kMarginPixels ? left - kMarginPixels : 0;
  return Box{begin, top, std::min(right, width) - begin, bottom - top};
}

bool is_colour_known(J_COLOR_SPACE space) {
  return space == JCS_GRAYSCALE || space == JCS_YCbCr || space == JCS_RGB ||
         has_inks(space);
}

}  // namespace

JpegScale choose_scale(double crop_width, double crop_height, int out_side) {
  for (int eighths : {1, 2, 4}) {
    if (crop_width * eighths >= 10.0 * out_side &&
        crop_height * eighths >= 10.0 * out_side) {
      return JpegScale{eighths};
    }
  }
  return JpegScale{8};
}

JpegDecoder::JpegDecoder() : JpegDecoder(own_pixels_, kMaxJpegBytes) {}

JpegDecoder::JpegDecoder(PixelBuffer& pixels, uint64_t most_bytes)
    : session_(std::make_unique<JpegSession>()), pixels_(pixels) {
  session_->most_bytes = static_cast<long>(std::min(most_bytes, kMaxJpegBytes));
}

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&session_->info); }

Result<ImageSize> JpegDecoder::open(std::span<const uint8_t> file) {
  if (!read_header(*session_, file.data(), file.size())) {
    return jpeg_error(*session_);
  }
  const jpeg_decompress_struct& info = session_->info;
  if (info.image_width > kMaxSidePixels || info.image_height > kMaxSidePixels ||
      uint64_t{info.image_width} * info.image_height > kMaxPixels) {
    return invalid("JPEG: over 65500 pixels along a side, or over 256 Mpixel");
  }
  if (!is_colour_known(info.jpeg_color_space)) {
    return invalid("JPEG: colours other than grey, YCbCr, RGB and CMYK");
  }
  return ImageSize{static_cast<int>(info.image_width),
                   static_cast<int>(info.image_height)};
}

Result<JpegPart> JpegDecoder::decode(const Crop& crop, JpegScale scale) {
  const double by = scale.eighths / 8.0;
  Crop scaled = crop.scaled(by, by);
  const auto eighths = static_cast<JDIMENSION>(scale.eighths);
  const JDIMENSION full_width =
      (session_->info.image_width * eighths + 7) / 8;  // as libjpeg rounds
  Box box = box_around(scaled, full_width);
  if (!begin_part(*session_, scale.eighths, box)) return jpeg_error(*session_);
  const uint64_t bytes = 3 * uint64_t{box.width} * box.height;
  auto room = pixels_.reserve(bytes);
  if (!room) return std::move(room).error().wrap("JPEG");
  if (!read_rows(*session_, box, *room)) return jpeg_error(*session_);
  scaled.x -= box.x;
  scaled.y -= box.y;
  return JpegPart{
      {*room, static_cast<int>(box.width), static_cast<int>(box.height)},
      scaled};
}

}  // namespace penstock
