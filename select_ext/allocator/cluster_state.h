// State of ClusterSolver: resources with prices, and the jobs that respond to
// them. Internal to the allocator; docs/model.md, "Pricing".
//
// A job's rate is held as a fraction of its ceiling, its `level`. Resources are
// numbered: the nodes' cores, then the nodes' ingest, then the pools.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "select_ext/allocator/cluster.h"

namespace penstock::allocator {

struct Objective;  // objective.h

// A share of a capacity: the rounding error of sums of products.
inline constexpr double kRounding = 1e-12;

// A range of levels over which a rank's cores are linear in the level. Pieces
// ascend and adjoin from 0 to the job's cap.
struct LevelPiece {
  double end_level = 0;
  double end_cores = 0;
  double cores_per_level = 0;
};

// A job's need of one resource: `scale` x the cores of one rank, or `scale` x
// level in bytes/s.
struct Link {
  int resource = 0;
  double scale = 0;
  double ranks = 0;  // of the job that share the resource
  double entitled_cores = 0;
  size_t member = 0;  // index of the job in Resource::members
};

// A job's payment for cores and for bytes. Under throughput and fair: the sums
// of scale x price over its links. Under max-min: the highest price among them.
struct Payment {
  double cores = 0;
  double bytes = 0;
};

struct JobState {
  uint64_t id = 0;
  double weight = 1;
  double ceiling = 0;
  double cap = 1;             // level that max_cores and each capacity alone
                              // allow
  double core_floor = 0;      // level that the entitled cores allow
  double coreless_level = 0;  // highest level that needs no core
  // Level that 1 byte/s per rank allows; 0: the job reads nothing.
  double level_per_byte = 0;
  std::vector<LevelPiece> pieces;
  std::vector<Link> links;  // byte resources first, then cores
  Payment payment;
  double level = 0;
  double centre = 0;        // of the proximal term
  double taken_level = -1;  // level at the last take_changes()
  bool is_touched = false;
  bool is_changed = false;

  bool is_present() const { return !links.empty(); }  // false: a free slot
};

struct Member {
  int job = 0;   // slot
  int link = 0;  // index into its links
};

struct Resource {
  double capacity = 0;
  double price = 0;  // under max-min: 1 - the highest level that it allows
  double used = 0;
  double least_use = 0;       // lower bound of the band, while the price is
                              // over 0
  double ranks = 0;           // of all members
  double entitled_cores = 0;  // of all members; cores only
  bool is_moved = false;
  bool is_queued = false;
  bool is_reshared = false;
  std::vector<Member> members;

  // True where evaluating every member is expensive.
  bool has_many() const { return members.size() >= 1000; }
};

// A price is right while between 0 and twice this much of the resource is
// unused.
struct Band {
  double of_capacity = 0;
  double of_room = 0;  // of what floors leave
};

// How far a solution may be from the optimum.
struct Precision {
  Band band;
  Band band_of_many;    // of a resource that has_many()
  double clinging = 0;  // loss by the proximal term, as a share of the gain
  // Whether jobs that lose nothing also move their centres. Then jobs with
  // equal gains share evenly; but every job is evaluated again.
  bool moves_all_centres = false;
};

struct ClusterState {
  const Objective* objective = nullptr;
  Precision precision;
  int nodes = 0;
  std::vector<Resource> resources;
  std::vector<JobState> jobs;  // by slot
  std::vector<int> free_slots;
  std::unordered_map<uint64_t, int> slot_of_id;
  std::deque<int> queue;      // resources out of their band
  std::vector<int> reshared;  // resources whose number of ranks has changed
  std::vector<int> touched;   // slots whose jobs' prices have changed, for
                              // centre_anew
  std::vector<int> changed;   // slots, for take_changes
  std::vector<int> moved;     // resources priced since forget_moves()

  int ingest_of(int node) const { return nodes + node; }
  int pool(int index) const { return 2 * nodes + index; }
  bool is_cores(int resource) const { return resource < nodes; }
  bool is_pool(int resource) const { return resource >= 2 * nodes; }

  void join(JobState job);
  void leave(int slot);
  // Follows the changes of floors by jobs that came and went.
  void follow_shares();

  // Gives a resource a price, and its jobs the levels that they choose then.
  void set_price(int resource, double price);
  // Also updates the use of the job's resources.
  void set_level(int slot, double level);
  void touch(int slot);
  bool is_in_band(const Resource& resource) const;
  void forget_moves();

 private:
  void note_shares(const std::vector<Link>& links);
  void note_change(int slot);
  void note_move(int resource);
  void enqueue(int resource);
};

}  // namespace penstock::allocator
