#include "bench/loader/program/crops.h"

#include <cerrno>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "loader/picture/jpeg.h"
#include "loader/picture/resampler.h"

namespace penstock {
namespace {

constexpr int kSide = 224;

struct WantedCrop {
  Crop crop;
  std::string path;
};

Result<WantedCrop> parse_line(const std::string& line) {
  std::istringstream words(line);
  WantedCrop out;
  words >> out.crop.x >> out.crop.y >> out.crop.width >> out.crop.height >>
      out.crop.flip >> std::ws;
  if (!words || !std::getline(words, out.path))
    return invalid("\"" + line + "\" is not \"x y width height flip path\"");
  return out;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Result<std::vector<uint8_t>> read_whole(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(
      std::fopen(path.c_str(), "re"));
  if (!file) return system_error(errno, path);
  std::vector<uint8_t> out;
  uint8_t buffer[1 << 16];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file.get())) > 0)
    out.insert(out.end(), buffer, buffer + got);
  if (std::ferror(file.get()) != 0) return system_error(EIO, path);
  return out;
}

bool is_inside(const Crop& crop, const ImageSize& size) {
  return crop.x >= 0 && crop.y >= 0 && crop.width >= 1 && crop.height >= 1 &&
         crop.x + crop.width <= size.width &&
         crop.y + crop.height <= size.height;
}

// Prepares a sample like the loader, but with a given crop.
class Cropper {
 public:
  Status run(const std::vector<uint8_t>& file, const Crop& crop, float* out) {
    const auto size = decoder_.open(file);
    if (!size) return size.error();
    if (!is_inside(crop, *size)) return invalid("the crop is not inside");
    const auto part =
        decoder_.decode(crop, choose_scale(crop.width, crop.height, kSide));
    if (!part) return part.error();
    resampler_.run(part->image, part->crop, out);
    return Done{};
  }

 private:
  JpegDecoder decoder_;
  Resampler resampler_{kSide};
};

Result<std::string> read_line(std::FILE* lines) {
  std::string out;
  int c = 0;
  while ((c = std::getc(lines)) != EOF && c != '\n')
    out += static_cast<char>(c);
  if (std::ferror(lines) != 0) return system_error(EIO, "standard input");
  return out;
}

}  // namespace

Status write_crops(std::FILE* lines, std::FILE* out) {
  Cropper cropper;
  std::vector<float> pixels(size_t{3} * kSide * kSide);
  while (true) {
    const Result<std::string> line = read_line(lines);
    if (!line) return line.error();
    if (line->empty()) return Done{};
    const auto wanted = parse_line(*line);
    if (!wanted) return wanted.error();
    const auto file = read_whole(wanted->path);
    if (!file) return file.error();
    Status done = cropper.run(*file, wanted->crop, pixels.data());
    if (!done) return std::move(done).error().wrap(wanted->path);
    if (std::fwrite(pixels.data(), sizeof(float), pixels.size(), out) !=
        pixels.size())
      return system_error(errno, "standard output");
  }
}

}  // namespace penstock
