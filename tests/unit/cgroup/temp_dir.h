// A temporary directory, removed with its contents.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace penstock {

class TempDir {
 public:
  TempDir() {
    // Rewriting a file costs some ms on a disk.
    std::filesystem::path parent = access("/dev/shm", W_OK) == 0
                                       ? "/dev/shm"
                                       : std::filesystem::temp_directory_path();
    std::string name = parent / "penstock-test-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Makes missing directories too.
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file, std::ios::binary) << text;
  }
  std::string read(const std::string& file) const {
    std::ifstream in(path_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_fixture(const std::string& name) {
  std::ifstream in(std::string(PENSTOCK_FIXTURES) + "/" + name,
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace penstock
