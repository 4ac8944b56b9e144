// What opening a dataset found, and what it left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// Why a name is not part of a sample.
enum class Omission {
  kEnding,     // its ending is no picture's
  kNotChosen,  // a picture that SampleRules leaves out
  kHidden,     // begins with a dot
  kLink,       // leads nowhere, or to a folder above itself
  kPartner,    // a member whose sample has no picture
};
inline constexpr int kOmissionCount = 5;

const char* omission_name(Omission why);  // in JSON: "ending"

struct LeftOutNames {
  uint64_t count = 0;
  std::vector<std::string> first;  // in byte order, at most kMostNamed

  static constexpr size_t kMostNamed = 3;
  void add(const std::string& name);
  void add(const LeftOutNames& others);
  // "a.txt, b.txt, c.txt, ..."
  std::string text() const;
  std::string counted() const;  // "4 names (a.txt, b.txt, c.txt, ...)"

 private:
  void keep(const std::string& name);
};

struct DatasetFacts {
  uint64_t samples = 0;
  uint64_t labelled = 0;
  // Different labels, of folders also those without a picture; 0: not known
  // before reading.
  uint64_t classes = 0;
  uint64_t duplicates = 0;  // samples that links or paths name a second time
  LeftOutNames empty_classes;
  LeftOutNames left_out[kOmissionCount];  // by Omission

  LeftOutNames& of(Omission why) { return left_out[static_cast<int>(why)]; }
  const LeftOutNames& of(Omission why) const {
    return left_out[static_cast<int>(why)];
  }
  // Whether something is left out, or there twice, that may have been meant.
  bool is_doubtful() const;
  // One line: "4 samples, 4 labelled, 2 classes; left out: 2 names with other
  // endings (a.txt, b.txt)".
  std::string text() const;
};

}  // namespace penstock
