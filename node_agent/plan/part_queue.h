// The reports that controllers have not kept yet: which to send, when, and when
// to let them go. Pure: the reports themselves are in files (part_spool.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace penstock {

// A run of a job on this node.
struct PartKey {
  uint64_t job = 0;
  uint64_t started_ms = 0;  // since 1970

  friend auto operator<=>(const PartKey&, const PartKey&) = default;
};

PartKey part_key(uint64_t job, double started_unix_s);

// A part to send, to those controllers that lack it.
struct DuePart {
  PartKey key;
  std::vector<size_t> controllers;

  friend bool operator==(const DuePart&, const DuePart&) = default;
};

// The name of the run's file: "part.4711.1767225600000". nullopt: of no run.
std::string part_name(const PartKey& key);
std::optional<PartKey> parse_part_name(const std::string& name);

class PartQueue {
 public:
  // Parts that are kept; beyond them the oldest is let go, first of those that
  // a controller has kept.
  static constexpr size_t kMaxParts = 512;
  // A part is sent again after the first pause, and then after twice the last
  // one up to the longest.
  static constexpr double kFirstPause_s = 10;
  static constexpr double kLongestPause_s = 600;

  explicit PartQueue(size_t controllers) : controllers_(controllers) {}

  // Adds a part, or a later report of it. Returns the one that is let go.
  // updated_unix_s: of the report; 0: unknown, as after a restart.
  std::optional<PartKey> add(const PartKey& key, double updated_unix_s);

  // At most `most` parts whose time has come, the oldest first. They count as
  // sent.
  std::vector<DuePart> due(double now_s, size_t most);

  // The controller has connected: the parts that it lacks are due.
  void hurry(size_t controller);

  // Notes that the controller has the part. True: all have, and it is let go.
  // updated_unix_s: of the report that it has, which may be an earlier one.
  bool kept(const PartKey& key, double updated_unix_s, size_t controller);

  // Notes the report's time, after add() without it.
  void identify(const PartKey& key, double updated_unix_s);

  // Lets the part go, as its file is gone.
  void drop(const PartKey& key);

  size_t size() const { return parts_.size(); }
  uint64_t lost() const { return lost_; }  // let go before a controller had it

 private:
  struct State {
    uint64_t number = 0;  // rises with each part added
    double updated_unix_s = 0;
    std::set<size_t> kept_by;
    double due_s = 0;
    double pause_s = kFirstPause_s;
  };

  std::optional<PartKey> let_go_one();

  size_t controllers_;
  std::map<PartKey, State> parts_;
  uint64_t added_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace penstock
