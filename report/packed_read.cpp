#include "report/packed.h"

#include <zlib.h>

#include "report/json.h"

namespace penstock {
namespace {

constexpr size_t kChunk = 64 << 10;

// Stops at the limit, whatever the text claims to become.
Result<std::string> expanded(std::string_view packed) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) {
    return Error{Code::kLimit, 0, "no memory to unpack a report"};
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = uInt(packed.size());
  std::string text;
  int done = Z_OK;
  while (done == Z_OK && text.size() <= kMaxReportJsonBytes) {
    const size_t before = text.size();
    text.resize(before + kChunk);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream.avail_out = uInt(kChunk);
    done = ::inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
  }
  (void)::inflateEnd(&stream);
  if (text.size() > kMaxReportJsonBytes) {
    return Error{Code::kLimit, 0, "a packed report is too large"};
  }
  if (done != Z_STREAM_END || stream.avail_in > 0) {
    return invalid("a packed report is damaged or cut short");
  }
  return text;
}

}  // namespace

Result<JobReport> unpack_report(std::string_view packed) {
  if (packed.size() > kMaxPackedBytes) {
    return Error{Code::kLimit, 0, "a packed report is too large"};
  }
  const Result<std::string> text = expanded(packed);
  if (!text) return text.error();
  return parse_report(*text);
}

}  // namespace penstock
