#include "tests/unit/loader/tars.h"

#include <cstdio>
#include <cstring>

namespace penstock::test {

void sign_tar_header(std::vector<uint8_t>& tar, size_t header) {
  std::memset(tar.data() + header + 148, ' ', 8);
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += tar[header + i];
  std::snprintf(reinterpret_cast<char*>(tar.data() + header + 148), 8, "%06o",
                sum);
}

std::vector<uint8_t> tar_header(const std::string& name, uint64_t bytes,
                                char type) {
  std::vector<uint8_t> header(512);
  std::memcpy(header.data(), name.data(), name.size());
  std::snprintf(reinterpret_cast<char*>(header.data() + 124), 12, "%011llo",
                static_cast<unsigned long long>(bytes));
  header[156] = static_cast<uint8_t>(type);
  std::memcpy(header.data() + 257, "ustar\00000", 8);
  sign_tar_header(header, 0);
  return header;
}

void add_member(std::vector<uint8_t>& tar, const std::string& name,
                const std::string& bytes, char type) {
  const auto header = tar_header(name, bytes.size(), type);
  tar.insert(tar.end(), header.begin(), header.end());
  tar.insert(tar.end(), bytes.begin(), bytes.end());
  tar.resize((tar.size() + 511) / 512 * 512);
}

void end_tar(std::vector<uint8_t>& tar) { tar.resize(tar.size() + 1024); }

std::vector<uint8_t> tar_of(
    const std::vector<std::pair<std::string, std::string>>& members) {
  std::vector<uint8_t> tar;
  for (const auto& [name, bytes] : members) add_member(tar, name, bytes);
  end_tar(tar);
  return tar;
}

}  // namespace penstock::test
