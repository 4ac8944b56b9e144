// Helpers of the doctor's tests.
#pragma once

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"
#include "tools/doctor/doctor.h"

namespace penstock::doctor {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The finding of `check`; fails the test without one.
inline Finding finding_of(const Findings& findings, const std::string& check) {
  for (const Finding& it : findings) {
    if (it.check == check) return it;
  }
  FAIL("no finding of " << check);
  return {};
}

// Slurm's files in a temporary directory.
struct FakeSite {
  FakeSite() {
    places.slurm_conf = file("slurm.conf");
    places.config_path = file("penstock.conf");
    places.mount_table = file("mounts");
    places.plugin_dir = dir.path().string();
  }
  std::string file(const std::string& name) const { return dir.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    dir.write(name, text);
  }

  TempDir dir;
  Places places;
};

inline const SlurmVersion kBookworm{22, 5, 8};

}  // namespace penstock::doctor
