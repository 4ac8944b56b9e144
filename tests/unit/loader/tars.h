// Tar archives for the loader's tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::test {

// A ustar header with a right checksum. name: up to 100 bytes.
std::vector<uint8_t> tar_header(const std::string& name, uint64_t bytes,
                                char type = '0');
// Sets a checksum right again.
void sign_tar_header(std::vector<uint8_t>& tar, size_t header);

// A header and its bytes, padded.
void add_member(std::vector<uint8_t>& tar, const std::string& name,
                const std::string& bytes, char type = '0');
void end_tar(std::vector<uint8_t>& tar);

// An archive of these members.
std::vector<uint8_t> tar_of(
    const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace penstock::test
