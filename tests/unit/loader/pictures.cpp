#include "tests/unit/loader/pictures.h"

#include <turbojpeg.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace penstock::test {
namespace {

std::vector<uint8_t> pixels(int width, int height, int seed) {
  std::vector<uint8_t> all;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int channel = 1; channel <= 3; ++channel) {
        all.push_back(
            static_cast<uint8_t>((x * channel + y + seed * 13) / 2 % 256));
      }
    }
  }
  return all;
}

}  // namespace

TempFolder::TempFolder() {
  char folder[] = "/tmp/penstock-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) std::abort();
  folder_ = folder;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) std::abort();
  const bool written =
      bytes.empty() ||
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written) {
    std::abort();
  }
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::vector<uint8_t> jpeg_bytes(int width, int height, int seed) {
  const tjhandle compressor = tjInitCompress();
  unsigned char* jpeg = nullptr;
  unsigned long size = 0;
  const auto source = pixels(width, height, seed);
  if (tjCompress2(compressor, source.data(), width, 0, height, TJPF_RGB, &jpeg,
                  &size, TJSAMP_444, 95, 0) != 0) {
    std::abort();
  }
  std::vector<uint8_t> bytes(jpeg, jpeg + size);
  tjFree(jpeg);
  tjDestroy(compressor);
  return bytes;
}

std::vector<uint8_t> ppm_bytes(int width, int height, int seed) {
  auto bytes = bytes_of("P6\n" + std::to_string(width) + " " +
                        std::to_string(height) + "\n255\n");
  const auto body = pixels(width, height, seed);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

void write_jpegs(const TempFolder& folder, int count) {
  for (int i = 0; i < count; ++i) {
    write_file(folder.path(std::to_string(i) + ".jpg"), jpeg_bytes(80, 60, i));
  }
}

}  // namespace penstock::test
