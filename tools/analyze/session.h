// Session with the ranks of the analysed command: they connect, receive orders
// and report. Single-threaded use. All waits happen in here and end when the
// command does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"
#include "tools/analyze/visit.h"
#include "wire/analysis_messages.h"

namespace penstock {

// Callbacks of the owner of the command.
struct CommandWatch {
  // Descriptors to poll for the command's events.
  std::function<std::vector<int>()> fds;
  // Called when one of them is readable, and every 0.1 s. An error ends every
  // wait with it: the command has ended, or the user gave up.
  std::function<Status()> look;
};

class Session {
 public:
  // Listens on any port; is_local: on loopback only.
  // Errors: kIo and others, naming the failed step.
  [[nodiscard]] static Result<std::unique_ptr<Session>> listen(
      bool is_local, CommandWatch watch);
  ~Session();

  // Address for the ranks, with this host's name or 127.0.0.1.
  const AnalysisAddress& address() const { return address_; }

  // Waits until all ranks have connected. Raises this process's limit of open
  // files.
  // Errors: kUnavailable      not within timeout_s: names the number connected
  //         kInvalidArgument  too many ranks
  [[nodiscard]] Status wait_for_ranks(double timeout_s);
  // Sorted by rank.
  const std::vector<AnalysisHello>& hellos() const { return hellos_; }

  // Brings all ranks to one step, sends them the cell and waits until they are
  // ready. Then measures for measure_s and kLeastBatches of each rank, or less
  // if timeout_s is up. A visit without ranks: limits were not kept.
  // Errors: kLimit        a rank had fewer than two batches by timeout_s; the
  //                       next cell may be run
  //         kUnavailable  a rank left, or does not finish a batch
  [[nodiscard]] Result<Visit> run(const AnalysisCell& cell, double measure_s,
                                  double timeout_s);
  static constexpr uint64_t kLeastBatches = 8;

  // Ends all ranks. They end at the same step if all reach it within kEnd_s, so
  // that none fails in a collective operation.
  void end();
  static constexpr double kEnd_s = 10;

 private:
  struct Rank;
  Session(bool is_local, CommandWatch watch);
  Status open(bool is_local);
  // Handles messages until done() or the deadline; false: the deadline.
  Result<bool> wait(const std::function<bool()>& done, double timeout_s);
  Status take_ready(const std::vector<int>& ready);
  void accept_one();
  Status read_from(Rank& rank);
  Status take_line(Rank& rank, std::string_view line);
  Status take(Rank& rank, const AnalysisAnswer& answer);
  void greet(Rank& rank, const AnalysisHello& hello);
  Status tell(Rank& rank, const AnalysisOrder& order);
  Status tell_all(const AnalysisOrder& order);
  Status hold_all(double timeout_s);
  AnalysisReady limits_of(const AnalysisCell& cell) const;
  bool all(const std::function<bool(const Rank&)>& condition) const;

  CommandWatch watch_;
  AnalysisAddress address_;
  UniqueFd socket_;
  std::vector<std::unique_ptr<Rank>> connections_;  // some without a hello
  std::map<uint32_t, Rank*> ranks_;                 // after their hello
  std::vector<AnalysisHello> hellos_;
  uint32_t expected_ = 0;  // 0: no hello yet
  uint32_t cell_ = 0;      // number of the present cell
};

}  // namespace penstock
