#include "cgroup/v2_io.h"

#include <algorithm>

#include "cgroup/backend_parts.h"
#include "cgroup/v2_layout.h"
#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr const char* kMax = "/io.max";
constexpr const char* kControl = "/cgroup.subtree_control";
constexpr const char* kMark = ".io";

// The site's own limits of a job, by device: bytes/s, or "max".
using SitesLimits = std::map<std::string, std::string>;

SitesLimits marked_limits(const V2Tree& tree, const std::string& job) {
  SitesLimits former;
  const auto marked = tree.fs->read_mark(job, tree.mark(kMark));
  std::string_view rest = marked ? std::string_view(*marked) : "";
  for (auto device = take_word(rest); !device.empty();
       device = take_word(rest)) {
    former.emplace(device, take_word(rest));
  }
  return former;
}

Status mark_limits(const V2Tree& tree, const std::string& job,
                   const SitesLimits& former) {
  std::string text;
  for (const auto& [device, rate] : former) {
    text.append(device).append(" ").append(rate).append(" ");
  }
  return text.empty() ? tree.fs->remove_mark(job, tree.mark(kMark))
                      : tree.fs->write_mark(job, tree.mark(kMark), text);
}

// The limit that the text of io.max has for the device.
std::string limit_in(std::string_view text, const std::string& device) {
  const auto rate = io_figure(text, device, "rbps");
  return rate ? std::to_string(*rate) : "max";
}

// Records the site's own limit (set by a prolog, for example) in the mark.
// Returns the rate to write: the lower of the site's and ours.
Result<uint64_t> mark_limit(const V2Tree& tree, const std::string& job,
                            const std::string& device,
                            uint64_t rate_bytes_per_s) {
  auto former = marked_limits(tree, job);
  if (!former.contains(device)) {
    auto text = tree.fs->read_file(job + kMax);
    if (!text) return std::move(text).error();
    former[device] = limit_in(*text, device);
    Status done = mark_limits(tree, job, former);
    if (!done) return std::move(done).error();
  }
  const auto own = parse_uint(former[device], 1, UINT64_MAX);
  return own ? std::min(*own, rate_bytes_per_s) : rate_bytes_per_s;
}

Status lift(const V2Tree& tree, const std::string& job,
            const std::string& device) {
  auto former = marked_limits(tree, job);
  const auto found = former.find(device);
  if (found == former.end()) return Done{};
  Status done = unless_gone(
      tree.fs->write_file(job + kMax, device + " rbps=" + found->second));
  if (!done) return done;
  former.erase(found);
  return unless_gone(mark_limits(tree, job, former));
}

}  // namespace

// Slurm 25.05 and later enable io for jobs if so configured. Otherwise it is
// enough to enable io in the scope that systemd has delegated. That fails
// unless the groups above have io, which systemd enables for IOAccounting=yes.
Status V2IoLimits::require_io() const {
  const CgroupFs& fs = *tree_.fs;
  if (fs.exists(job_ + kMax)) return Done{};
  const std::string scope = job_.substr(0, job_.rfind('/'));
  const auto enabled_there = fs.read_file(scope + kControl);
  // io enabled in the scope reaches every group below it. So without io.max the
  // job's group is gone.
  if (!fs.exists(job_) || (enabled_there && has_word(*enabled_there, "io"))) {
    return Error{Code::kNotFound, ENOENT, job_ + " has ended"};
  }
  Status enabled = fs.write_mark(scope, tree_.mark(kMark), "+io");
  if (enabled) enabled = fs.write_file(scope + kControl, "+io");
  if (!enabled) (void)fs.remove_mark(scope, tree_.mark(kMark));
  if (enabled && fs.exists(job_ + kMax)) return Done{};
  return Error{Code::kUnavailable, 0,
               "cgroup v2 controller io does not reach Slurm's jobs: add the "
               "lines EnableControllers=yes and EnableExtraControllers=io to "
               "cgroup.conf (from Slurm 25.05 on), or before that the line "
               "IOAccounting=yes to the section [Service] of a drop-in of "
               "slurmd.service; then restart slurmd" +
                   (enabled ? "" : " (" + enabled.error().message + ")")};
}

Status disable_io(const V2Tree& tree, const std::string& scope) {
  if (!tree.fs->read_mark(scope, tree.mark(kMark))) return Done{};
  Status done = tree.fs->write_file(scope + kControl, "-io");
  // EBUSY: Slurm has enabled io in its jobs since; leave io to Slurm.
  if (!done && done.error().saved_errno == EBUSY) done = Done{};
  done = unless_gone(std::move(done));
  note_first(done, unless_gone(tree.fs->remove_mark(scope, tree.mark(kMark))));
  return done;
}

// Also writes the marks from which a later run can lift the limit.
Status V2IoLimits::put(const std::string& device, uint64_t rate_bytes_per_s) {
  Status done = tree_.mark_job(job_, id_);
  if (!done) return done;
  const auto rate = mark_limit(tree_, job_, device, rate_bytes_per_s);
  if (!rate) return rate.error();
  done = device_checked(
      tree_.fs->write_file(job_ + kMax,
                           device + " rbps=" + std::to_string(*rate)),
      device);
  if (done) limits_[device] = {rate_bytes_per_s, *rate};
  return done;
}

Status V2IoLimits::set(const std::string& device, uint64_t rate_bytes_per_s) {
  Status done = note_sites_limits();
  if (done) done = require_io();
  return done ? put(device, rate_bytes_per_s) : done;
}

// A limit that differs from our last write comes from the site. It is recorded
// as the site's own limit; the lower of both stays in force.
Status V2IoLimits::note_sites_limits() {
  if (limits_.empty() || !tree_.fs->exists(job_ + kMax)) return Done{};
  auto text = tree_.fs->read_file(job_ + kMax);
  if (!text) return unless_gone(std::move(text).error());
  auto former = marked_limits(tree_, job_);
  auto limits = limits_;
  bool any = false;
  for (auto& [device, limit] : limits) {
    const auto now = io_figure(*text, device, "rbps");
    if (now == limit.written_bytes_per_s) continue;
    any = true;
    former[device] = limit_in(*text, device);
    limit.written_bytes_per_s =
        std::min(now.value_or(UINT64_MAX), limit.wanted_bytes_per_s);
  }
  if (!any) return Done{};
  Status done = unless_gone(mark_limits(tree_, job_, former));
  if (done) limits_ = std::move(limits);
  return done;
}

// Disabling and re-enabling io in the scope drops every limit. A guardian
// process that has restored everything has removed the marks too.
Status V2IoLimits::restore() {
  if (limits_.empty() || !tree_.fs->exists(job_)) return Done{};
  Status first = note_sites_limits();
  if (first) first = require_io();
  if (!first) return unless_gone(std::move(first));
  auto text = tree_.fs->read_file(job_ + kMax);
  if (!text) return unless_gone(std::move(text).error());
  for (const auto& [device, limit] : std::map(limits_)) {
    const auto now = io_figure(*text, device, "rbps");
    if (now == limit.written_bytes_per_s) continue;
    note_first(first, unless_gone(put(device, limit.wanted_bytes_per_s)));
  }
  return first;
}

Status V2IoLimits::clear(const std::string& device) {
  Status done = note_sites_limits();
  limits_.erase(device);
  note_first(done, lift(tree_, job_, device));
  return done;
}

// Limits that the site has set since are recorded; ours end in any case.
void V2IoLimits::end() {
  (void)note_sites_limits();
  limits_.clear();
}

Result<uint64_t> V2IoLimits::read_bytes(std::string_view device) const {
  auto text = tree_.fs->read_file(job_ + "/io.stat");
  if (!text) return std::move(text).error();
  return io_figure(*text, device, "rbytes").value_or(0);
}

Status lift_io_limits(const V2Tree& tree, const std::string& job) {
  Status first = Done{};
  for (const auto& [device, rate] : marked_limits(tree, job)) {
    note_first(first, unless_gone(lift(tree, job, device)));
  }
  return first;
}

}  // namespace penstock
