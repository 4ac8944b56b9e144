#include "loader/data/tar_samples.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/text_scan.h"
#include "loader/data/picture_names.h"

namespace penstock {
namespace {

// "" if the name has no key.
std::string_view key_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return "";
  return name.substr(0, dot);
}

Error wrong(const TarMember& member, const std::string& what) {
  return invalid("tar: at byte " + std::to_string(member.offset) + ": " +
                 member.name + ": " + what);
}

class SampleFinder {
 public:
  explicit SampleFinder(const TarWalker::Source& source) : source_(source) {}

  Status add(const TarMember& member) {
    const std::string_view key = key_of(member.name);
    if (key.empty()) return Done{};
    if (key != key_) {
      end_sample();
      key_ = key;
    }
    const std::string_view suffix =
        std::string_view(member.name).substr(key.size());
    if (std::find(suffixes_.begin(), suffixes_.end(), suffix) !=
        suffixes_.end()) {
      return wrong(member, "a second member of that name in one sample");
    }
    suffixes_.emplace_back(suffix);
    if (suffix == ".cls") return read_label(member);
    if (!is_picture_name(member.name) || sample_.bytes > 0) return Done{};
    if (member.bytes == 0) return wrong(member, "an empty picture");
    sample_.name = member.name;
    sample_.offset = member.offset;
    sample_.bytes = member.bytes;
    return Done{};
  }

  std::vector<TarSample> end() {
    end_sample();
    return std::move(samples_);
  }

 private:
  void end_sample() {
    if (sample_.bytes > 0) samples_.push_back(std::move(sample_));
    sample_ = TarSample();
    suffixes_.clear();
  }

  Status read_label(const TarMember& member) {
    std::array<uint8_t, 24> bytes{};
    const uint64_t size = std::min<uint64_t>(member.bytes, bytes.size());
    auto read = source_.read(member.offset, std::span(bytes).first(size));
    if (!read) return read;
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), size);
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    int32_t label = 0;
    if (size < member.bytes || !to_number(text, label) || label < 0) {
      return wrong(member, "no label; allowed: a number from 0 to 2147483647");
    }
    sample_.label = label;
    return Done{};
  }

  const TarWalker::Source& source_;
  std::vector<TarSample> samples_;
  std::string key_;
  std::vector<std::string> suffixes_;  // of the current sample's members
  TarSample sample_;
};

}  // namespace

Result<std::vector<TarSample>> find_tar_samples(
    const TarWalker::Source& source) {
  TarWalker walker(source);
  SampleFinder finder(source);
  for (;;) {
    auto member = walker.next();
    if (!member) return std::move(member).error();
    if (!*member) return finder.end();
    auto added = finder.add(**member);
    if (!added) return std::move(added).error();
  }
}

}  // namespace penstock
