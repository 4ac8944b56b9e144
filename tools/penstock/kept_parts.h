// The parts of a job's report that controllers keep.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "report/report.h"

namespace penstock {

// A node hands in the part of a running job once a minute.
inline constexpr double kSilent_s = 180;

struct KeptPart {
  JobReport report;
  double age_s = 0;  // since it came to the controller, by its clock
  // From then to the part's last figures, by both clocks: by how much the
  // node's is ahead, if the part came at once. nullopt: not known.
  std::optional<double> clock_ahead_s = std::nullopt;
  size_t controller = 0;  // that keeps it: its place in the configuration
};

struct KeptParts {
  std::vector<KeptPart> parts;
  std::string label;  // the job as squeue prints it; "": not known
  // Of the job's newest run, as a controller knows it.
  std::optional<uint32_t> restarts;
  std::vector<Error> faults;  // controllers and parts that cannot be read
};

// The nodes' clocks, for parts_of_last_run(), by the clock of the controller
// that keeps parts of most of them. None of a job that was restarted, or may
// have been: the parts of its runs came at different times. Pure.
std::map<std::string, double> clocks_of(const KeptParts& kept);

// Asks each controller, as each keeps its own; one part may come from several.
KeptParts ask_for_parts(uint32_t job_id, const Config& config);

// Ends the parts of a job that runs no more and whose nodes have not told it
// for kSilent_s.
//   state  Slurm's, such as "RUNNING"; "": not known
//   nodes  of the present run; parts of others are of earlier ones; empty: not
//          known
// Returns sentences on nodes that are silent or late. Pure.
std::vector<std::string> settle_parts(std::vector<KeptPart>& parts,
                                      const std::string& state,
                                      const std::vector<std::string>& nodes);

// Whether a job in this state has processes, or will have again. Pure.
bool is_alive(const std::string& state);

}  // namespace penstock
