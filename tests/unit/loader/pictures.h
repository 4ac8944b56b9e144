// Picture files for the loader's tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::test {

// A folder that goes with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  std::string path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  const std::string& path() const { return folder_; }

 private:
  std::string folder_;
};

void write_file(const std::string& path, const std::vector<uint8_t>& bytes);
std::vector<uint8_t> bytes_of(const std::string& text);

// A smooth picture whose colours depend on the seed.
std::vector<uint8_t> jpeg_bytes(int width, int height, int seed);
std::vector<uint8_t> ppm_bytes(int width, int height, int seed);

// Fills the folder with count JPEGs of 80 x 60 pixels: 0.jpg, 1.jpg, ...
void write_jpegs(const TempFolder& folder, int count);

}  // namespace penstock::test
