#include "tools/doctor/elf_symbol.h"

#include <elf.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/unit/catch.h"

namespace penstock::doctor {
namespace {

std::string plugin_image() {
  std::ifstream file(PENSTOCK_FAKE_PLUGIN, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

Code error_of(const std::string& image, const char* symbol = "plugin_version") {
  const auto value = exported_number(image, symbol);
  REQUIRE_FALSE(value);
  return value.error().code;
}

TEST_CASE("a plugin's version is read without running it") {
  const auto version = exported_number(plugin_image(), "plugin_version");
  REQUIRE(version);
  CHECK(*version == 0x180b05);
}

TEST_CASE("symbols that a plugin does not export are not found") {
  const std::string image = plugin_image();
  CHECK(error_of(image, "plugin_versio") == Code::kNotFound);
  CHECK(error_of(image, "") == Code::kNotFound);
  CHECK(error_of(image, "not_a_number") == Code::kNotFound);  // 8 bytes
}

TEST_CASE("files that are not ELF files of this machine are refused") {
  CHECK(error_of("") == Code::kInvalidArgument);
  CHECK(error_of("#!/bin/sh\n") == Code::kInvalidArgument);
  std::string image = plugin_image();
  image[EI_CLASS] = ELFCLASS32;
  CHECK(error_of(image) == Code::kInvalidArgument);
  image = plugin_image();
  image[EI_DATA] = ELFDATA2MSB;
  CHECK(error_of(image) == Code::kInvalidArgument);
}

TEST_CASE("a truncated file gives no number") {
  const std::string image = plugin_image();
  for (size_t size = 0; size < image.size(); size += 13) {
    CHECK_FALSE(exported_number(image.substr(0, size), "plugin_version"));
  }
}

TEST_CASE("a damaged file is not read beyond its end") {
  const std::string image = plugin_image();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string broken = image;
    for (int i = 0; i < 40; ++i) {
      broken[random() % broken.size()] = char(random());
    }
    // Damage to headers, symbols and section table is the most critical.
    broken[random() % sizeof(Elf64_Ehdr)] = char(random());
    broken[broken.size() - 1 - random() % 2048] = char(random());
    (void)exported_number(broken, "plugin_version");
  }
}

}  // namespace
}  // namespace penstock::doctor
