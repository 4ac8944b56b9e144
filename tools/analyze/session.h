// The ranks of the command that is analysed: they connect, are told what to do,
// and say what they did. One thread; all waits are in here, and end when the
// command does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/analysis_messages.h"
#include "common/result.h"
#include "common/unique_fd.h"
#include "tools/analyze/visit.h"

namespace penstock {

// What the session asks of whoever started the command.
struct CommandWatch {
  // Readable when there is something to look at; -1: none.
  std::function<std::vector<int>()> fds;
  // Called when one of them is readable, and once a tenth of a second. An error
  // ends every wait with it: the command has ended, or the user gave up.
  std::function<Status()> look;
};

class Session {
 public:
  // Listens on any port, of loopback alone where is_local.
  // Errors: kIo and others, naming what could not be done.
  [[nodiscard]] static Result<std::unique_ptr<Session>> listen(
      bool is_local, CommandWatch watch);
  ~Session();

  // What the ranks are to know, with this host's name, or 127.0.0.1.
  const AnalysisAddress& address() const { return address_; }

  // Waits until all ranks have connected. Raises this process's limit of open
  // files.
  // Errors: kUnavailable      not within timeout_s: says how many did
  //         kInvalidArgument  there are too many of them
  [[nodiscard]] Status wait_for_ranks(double timeout_s);
  // In the order of their numbers.
  const std::vector<AnalysisHello>& hellos() const { return hellos_; }

  // Brings all ranks to one step, gives them the cell, waits until they are
  // ready, and measures for measure_s and kLeastBatches of each rank, or what
  // there is of them by timeout_s. A visit without ranks: limits were not kept.
  // Errors: kLimit        not two batches of each within timeout_s: the next
  //                       cell may be run
  //         kUnavailable  a rank left, or does not come to the end of a batch
  [[nodiscard]] Result<Visit> run(const AnalysisCell& cell, double measure_s,
                                  double timeout_s);
  static constexpr uint64_t kLeastBatches = 8;

  // Tells all ranks to end: at one step, so that none fails in what it does
  // together with another, where they come to it within kEnd_s.
  void end();
  static constexpr double kEnd_s = 10;

 private:
  struct Rank;
  Session(bool is_local, CommandWatch watch);
  Status open(bool is_local);
  // Waits for what comes until done() or the deadline; false: the deadline.
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
  std::vector<std::unique_ptr<Rank>> connections_;  // some may be nobody's
  std::map<uint32_t, Rank*> ranks_;                 // that have greeted
  std::vector<AnalysisHello> hellos_;
  uint32_t expected_ = 0;  // 0: nobody has greeted
  uint32_t cell_ = 0;      // the present one's number
};

}  // namespace penstock
