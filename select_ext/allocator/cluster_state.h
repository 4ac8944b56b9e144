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

// A job's response to a payment.
struct Answer {
  double level = 0;
  double cores = 0;  // of a rank with core factor 1
  // Derivatives; 0 where the level stays at an end of a piece or at the floor.
  double level_per_payment = 0;
  double cores_per_level = 0;
};

struct ClusterState {
  const Objective* objective = nullptr;
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

  // ---- cluster_job.cpp
  [[nodiscard]] Status check(const ClusterJob& job) const;
  JobState make(const ClusterJob& job) const;

  // ---- cluster_members.cpp
  void join(JobState job);
  void leave(int slot);
  void note_shares(const std::vector<Link>& links);
  void follow_shares();

  // ---- cluster_answer.cpp
  double floor_of(const JobState& job) const;
  static double cores_at_level(const JobState& job, double level);
  double use(const JobState& job, const Link& link, double level) const;
  Payment payment_of(const JobState& job) const;
  Payment payment_without(const JobState& job, const Link& link) const;
  Payment pay_also(Payment others, const Link& link, double price) const;
  Answer answer(const JobState& job, const Payment& payment,
                double floor) const;
  double answered_level(const JobState& job) const {
    return answer(job, job.payment, floor_of(job)).level;
  }
  // The level that the job would choose without the proximal term.
  double free_level(const JobState& job, const Payment& payment) const;
  // Gain at `level` less the payment for it.
  double surplus(const JobState& job, const Payment& payment,
                 double level) const;

  // ---- cluster_price.cpp
  double find_price(int resource);
  void set_price(int resource, double price);
  void set_level(int slot, double level);
  void note_change(int slot);
  void touch(int slot);
  bool is_in_band(const Resource& resource) const;
  void enqueue(int resource);

  // ---- cluster_newton.cpp
  void note_move(int resource);
  void forget_moves();
  void step_together();

  // ---- cluster_settle.cpp
  void settle();
  void drain();
  bool reprice_pools();
  double clinging_loss(const JobState& job) const;
  bool centre_anew();
  void fit();
};

}  // namespace penstock::allocator
