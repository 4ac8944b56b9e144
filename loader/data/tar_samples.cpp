#include "loader/data/tar_samples.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "common/text_scan.h"
#include "loader/data/picture_names.h"
#include "loader/data/sample_rules.h"

namespace penstock {
namespace {

std::string_view base_of(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

// "" if the name has no key.
std::string_view key_of(std::string_view name, SampleRules::Key rule) {
  const std::string_view base = base_of(name);
  const size_t dot =
      rule == SampleRules::Key::kFirstDot ? base.find('.') : base.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  return name.substr(0, name.size() - base.size() + dot);
}

Error wrong(const TarMember& member, const std::string& what) {
  return invalid("tar: at byte " + std::to_string(member.offset) + ": " +
                 member.name + ": " + what);
}

// A sample whose members are still being collected.
struct Open {
  TarSample sample;
  size_t rank = SIZE_MAX;     // of its picture in SampleRules::image
  std::string label_name;     // "": none
  std::string other_picture;  // of a kind that is not read; "": none
  LeftOutNames rest;          // other members; empty once it has a picture
};

class SampleFinder {
 public:
  SampleFinder(const TarWalker::Source& source, const SampleRules& rules)
      : source_(source), rules_(rules), label_(in_lower_case(rules.label)) {}

  Status add(const TarMember& member) {
    const std::string_view key = key_of(member.name, rules_.key);
    if (key.empty()) {
      const bool is_hidden = base_of(member.name).starts_with('.');
      leave_out(is_hidden ? Omission::kHidden : Omission::kEnding, member.name);
      return Done{};
    }
    Open& open = sample_of(key);
    const std::string suffix =
        in_lower_case(std::string_view(member.name).substr(key.size() + 1));
    if (!label_.empty() && suffix == label_) {
      return add_label(member, open);
    }
    if (const size_t rank = rank_of(member.name, suffix); rank != kNone) {
      return add_picture(member, rank, open);
    }
    note_other(member.name, suffix, open);
    return Done{};
  }

  Result<TarSamples> end() {
    TarSamples out;
    LeftOutNames labels = misnamed_labels_, bare, unread;
    for (Open& open : open_) {
      if (open.sample.bytes > 0) {
        if (open.sample.label == kNoLabel) bare.add(open.sample.name);
        out.samples.push_back(std::move(open.sample));
        continue;
      }
      if (!open.label_name.empty()) labels.add(open.label_name);
      if (!open.other_picture.empty()) unread.add(open.other_picture);
      facts_.of(Omission::kPartner).add(open.rest);
    }
    if (two_pictures_.count > 0) return invalid(two_pictures());
    if (unread.count > 0) {
      return invalid("tar: " + unread.counted() + kOtherPictures);
    }
    if (labels.count > 0 && bare.count > 0) return unpaired(labels, bare);
    facts_.of(Omission::kPartner).add(labels);
    out.facts = std::move(facts_);
    return out;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void leave_out(Omission why, const std::string& name) {
    facts_.of(why).add(name);
  }

  // Members of a sample mostly follow each other.
  Open& sample_of(std::string_view key) {
    if (last_ < open_.size() && key == last_key_) return open_[last_];
    last_key_ = key;
    const auto [found, is_new] = by_key_.try_emplace(last_key_, open_.size());
    if (is_new) open_.emplace_back();
    last_ = found->second;
    return open_[last_];
  }

  // The place of a picture's ending in the rules; kNone: it is no picture.
  size_t rank_of(const std::string& name, const std::string& suffix) const {
    const auto& image = rules_.image;
    if (image.empty()) return is_picture_name(name) ? 0 : kNone;
    const auto found = std::find(image.begin(), image.end(), suffix);
    return found == image.end() ? kNone : size_t(found - image.begin());
  }

  Status add_picture(const TarMember& member, size_t rank, Open& open) {
    if (member.bytes == 0) return wrong(member, "an empty picture");
    TarSample& sample = open.sample;
    if (sample.bytes > 0 && rank == open.rank) {
      if (sample.name == member.name || !rules_.image.empty()) {
        return wrong(member, "a second picture of that key: the first is " +
                                 sample.name);
      }
      two_pictures_.add(sample.name + " and " + member.name);
      return Done{};
    }
    if (sample.bytes > 0 && rank > open.rank) {
      leave_out(Omission::kNotChosen, member.name);
      return Done{};
    }
    if (sample.bytes > 0) leave_out(Omission::kNotChosen, sample.name);
    open.rank = rank;
    open.rest = {};
    sample.name = member.name;
    sample.offset = member.offset;
    sample.bytes = member.bytes;
    return Done{};
  }

  Status add_label(const TarMember& member, Open& open) {
    if (!open.label_name.empty()) {
      return wrong(member, "a second label of that key: the first is " +
                               open.label_name);
    }
    open.label_name = member.name;
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
    open.sample.label = label;
    return Done{};
  }

  void note_other(const std::string& name, const std::string& suffix,
                  Open& open) {
    if (!label_.empty() && suffix.ends_with("." + label_)) {
      misnamed_labels_.add(name);
    } else if (is_picture_name(name)) {
      leave_out(Omission::kNotChosen, name);
    } else if (is_other_picture_name(name) && rules_.image.empty()) {
      open.other_picture = name;
    } else if (open.sample.bytes == 0) {
      open.rest.add(name);
    }
  }

  Error unpaired(const LeftOutNames& labels, const LeftOutNames& bare) const {
    const bool is_misnamed = misnamed_labels_.count > 0;
    return invalid("tar: labels of no picture: " + labels.text() +
                   "; pictures without a label: " + bare.text() + "; " +
                   (is_misnamed ? kChooseKey : kChooseNoLabel));
  }

  // Names of one key with the same last ending look like several samples.
  std::string two_pictures() const {
    const std::string& pair = two_pictures_.first.front();
    const size_t second = pair.find(" and ") + 5;
    const std::string one = in_lower_case(pair.substr(0, second - 5));
    const std::string other = in_lower_case(pair.substr(second));
    const std::string ending = other.substr(other.rfind('.'));
    const std::string key(key_of(other, rules_.key));
    std::string choice =
        kChooseImage + ("\"" + other.substr(key.size() + 1) + "\"");
    if (one.ends_with(ending)) choice = kChooseKey + ("; else " + choice);
    return "tar: two pictures of one key: " + two_pictures_.text() + "; " +
           choice;
  }

  const TarWalker::Source& source_;
  const SampleRules& rules_;
  const std::string label_;  // its ending, in lower case
  std::vector<Open> open_;
  std::unordered_map<std::string, size_t> by_key_;
  std::string last_key_;
  size_t last_ = SIZE_MAX;
  LeftOutNames two_pictures_;
  LeftOutNames misnamed_labels_;
  DatasetFacts facts_;
};

}  // namespace

Result<TarSamples> find_tar_samples(const TarWalker::Source& source,
                                    const SampleRules& rules) {
  TarWalker walker(source);
  SampleFinder finder(source, rules);
  for (;;) {
    auto member = walker.next();
    if (!member) return std::move(member).error();
    if (!*member) return finder.end();
    auto added = finder.add(**member);
    if (!added) return std::move(added).error();
  }
}

}  // namespace penstock
