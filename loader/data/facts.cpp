#include "penstock/loader/facts.h"

#include <algorithm>

#include "common/shown_text.h"

namespace penstock {
namespace {

struct Reason {
  const char* name;
  const char* one;
  const char* several;
};

constexpr Reason kReasons[kOmissionCount] = {
    {"ending", "name with another ending", "names with other endings"},
    {"not_chosen", "picture that was not chosen",
     "pictures that were not chosen"},
    {"hidden", "hidden name", "hidden names"},
    {"link", "link that leads nowhere or to a folder above it",
     "links that lead nowhere or to a folder above them"},
    {"partner", "name without a picture of its sample",
     "names without a picture of their samples"},
};

std::string counted(uint64_t count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

}  // namespace

const char* omission_name(Omission why) {
  return kReasons[static_cast<int>(why)].name;
}

void LeftOutNames::add(const std::string& name) {
  ++count;
  keep(name);
}

void LeftOutNames::add(const LeftOutNames& others) {
  count += others.count;
  for (const std::string& name : others.first) keep(name);
}

// A folder's names come in any order, and the message should not.
void LeftOutNames::keep(const std::string& name) {
  if (first.size() == kMostNamed && first.back() <= name) return;
  first.insert(std::upper_bound(first.begin(), first.end(), name), name);
  if (first.size() > kMostNamed) first.pop_back();
}

std::string LeftOutNames::text() const {
  std::string out;
  for (const std::string& name : first) {
    out += (out.empty() ? "" : ", ") + shown_text(name);
  }
  return out + (count > first.size() ? ", ..." : "");
}

std::string LeftOutNames::counted() const {
  return penstock::counted(count, "name", "names") + " (" + text() + ")";
}

bool DatasetFacts::is_doubtful() const {
  return duplicates > 0 || empty_classes.count > 0 ||
         (labelled > 0 && labelled < samples) ||
         of(Omission::kLink).count > 0 || of(Omission::kPartner).count > 0;
}

std::string DatasetFacts::text() const {
  std::string out = counted(samples, "sample", "samples");
  out += labelled == 0 ? ", no labels"
                       : ", " + std::to_string(labelled) + " labelled";
  if (classes > 0) out += ", " + counted(classes, "class", "classes");
  if (empty_classes.count > 0) {
    out += ", " + std::to_string(empty_classes.count) +
           " of these without a picture (" + empty_classes.text() + ")";
  }
  if (duplicates > 0) out += ", " + std::to_string(duplicates) + " there twice";
  const char* before = "; left out: ";
  for (int i = 0; i < kOmissionCount; ++i) {
    const LeftOutNames& names = left_out[i];
    if (names.count == 0) continue;
    out += before;
    out += counted(names.count, kReasons[i].one, kReasons[i].several);
    out += " (" + names.text() + ")";
    before = ", ";
  }
  return out;
}

}  // namespace penstock
