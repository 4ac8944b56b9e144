#include "tools/doctor/elf_symbol.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace penstock::doctor {
namespace {

constexpr unsigned char kOwnByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

Error broken() { return invalid("no ELF file of 64 bits, or a broken one"); }

// Reads a struct at an offset that comes from the file, with bounds checks.
template <class T>
std::optional<T> read_at(std::string_view image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::optional<std::vector<Elf64_Shdr>> sections_of(std::string_view image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != kOwnByteOrder ||
      header->e_shentsize != sizeof(Elf64_Shdr) ||
      header->e_shoff > image.size()) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section =
        read_at<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    sections.push_back(*section);
  }
  return sections;
}

// A section's bytes; empty if the file holds none.
std::string_view bytes_of(std::string_view image, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > image.size() ||
      image.size() - section.sh_offset < section.sh_size) {
    return {};
  }
  return image.substr(section.sh_offset, section.sh_size);
}

std::string_view name_at(std::string_view names, uint64_t offset) {
  if (offset >= names.size()) return {};
  names.remove_prefix(offset);
  return names.substr(0, names.find('\0'));
}

std::optional<Elf64_Sym> find_symbol(std::string_view symbols,
                                     std::string_view names,
                                     std::string_view wanted) {
  for (uint64_t at = 0;; at += sizeof(Elf64_Sym)) {
    const auto symbol = read_at<Elf64_Sym>(symbols, at);
    if (!symbol) return std::nullopt;
    if (symbol->st_shndx == SHN_UNDEF) continue;
    if (name_at(names, symbol->st_name) == wanted) return symbol;
  }
}

}  // namespace

Result<uint32_t> exported_number(std::string_view image,
                                 std::string_view symbol) {
  const auto sections = sections_of(image);
  if (!sections) return broken();
  for (const Elf64_Shdr& section : *sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= sections->size()) return broken();
    const auto found =
        find_symbol(bytes_of(image, section),
                    bytes_of(image, (*sections)[section.sh_link]), symbol);
    if (!found || found->st_size != sizeof(uint32_t)) continue;
    if (found->st_shndx >= sections->size()) return broken();
    const Elf64_Shdr& home = (*sections)[found->st_shndx];
    if (found->st_value < home.sh_addr) return broken();
    const auto value = read_at<uint32_t>(bytes_of(image, home),
                                         found->st_value - home.sh_addr);
    if (!value) return broken();
    return *value;
  }
  return Error{Code::kNotFound, 0,
               "it exports no number " + std::string(symbol)};
}

}  // namespace penstock::doctor
