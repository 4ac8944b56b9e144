#include "report/render_use.h"

#include <fmt/format.h>

#include "common/units.h"
#include "report/lent_gain.h"

namespace penstock {
namespace {

void use_row(const std::string& label, const std::string (&columns)[4],
             const std::optional<double>& used_share, Page& page) {
  page.line(
      fmt::format("  {:<16}{:>12}{:>12}{:>12}{:>12}{:>12}", label, columns[0],
                  columns[1], columns[2], columns[3], share_text(used_share)),
      18);
}

void use_heading(const char* title, Page& page) {
  page.heading(fmt::format("{:<18}{:>12}{:>12}{:>12}{:>12}{:>12}", title,
                           "entitled", "requested", "granted", "used",
                           "of granted"));
}

// CPU time of loaders and trainer, on the job's own CPUs and on lent ones.
void render_cpu_time(const JobReport& report, Page& page) {
  const CoreFigures& cores = report.cores;
  if (!cores.used_home || !cores.used_away) return;
  const double own = *cores.used_home + cores.used_trainer.value_or(0);
  const double all = own + *cores.used_away;
  const auto core_h = [&](double used) { return used * report.run_s() / 3600; };
  page.line(fmt::format(
      "  CPU time on its own CPUs {:.3g} core hours ({}), on lent ones {:.3g} "
      "({})",
      core_h(own), share_text(ratio(own, all)), core_h(*cores.used_away),
      share_text(ratio(*cores.used_away, all))));
  if (const std::string text = lent_gain_text(report); !text.empty()) {
    page.line("  " + text);
  }
}

// Cores that the ceiling would have taken, and why they were not lent.
void render_not_lent(const CoreFigures& cores, Page& page) {
  for (const CoresNotLent& part : cores.not_lent) {
    page.line(fmt::format("  not lent: {:.2f} cores more, because {}",
                          part.cores, not_lent_text(part.why)),
              4);
  }
}

}  // namespace

void render_cores(const JobReport& report, Page& page) {
  const CoreFigures& cores = report.cores;
  use_heading("Cores", page);
  use_row("home",
          {figure_text(cores.entitled), figure_text(cores.requested),
           figure_text(cores.granted_home), figure_text(cores.used_home)},
          ratio(cores.used_home, cores.granted_home), page);
  use_row(
      "away (lent)",
      {"-", "-", figure_text(cores.granted_away), figure_text(cores.used_away)},
      ratio(cores.used_away, cores.granted_away), page);
  use_row(
      "trainer",
      {figure_text(cores.reserve), "-", "-", figure_text(cores.used_trainer)},
      std::nullopt, page);
  std::optional<double> own;
  if (cores.used_home && cores.used_trainer) {
    own = *cores.used_home + *cores.used_trainer;
  }
  page.line(fmt::format("  Slurm gave {} CPUs, of which {} was used at home",
                        figure_text(cores.allocated),
                        share_text(ratio(own, cores.allocated))));
  render_cpu_time(report, page);
  page.line(fmt::format(
      "  the ceiling needs {} loader cores; most loader threads at once: {}",
      estimate_text(cores.demand),
      cores.loader_threads ? fmt::format("{:.0f}", *cores.loader_threads)
                           : "-"));
  if (!cores.lent_by.empty()) {
    page.line("  cores lent by: " +
                  lent_by_text(cores.lent_by, cores.used_away.value_or(0)),
              4);
  }
  render_not_lent(cores, page);
}

void render_would_have(const JobReport& report, Page& page) {
  if (!report.would_have) return;
  page.heading("Had Penstock acted");
  for (const std::string& text : would_have_texts(*report.would_have)) {
    page.line("  " + text);
  }
}

void render_bandwidth(const BandwidthFigures& bandwidth, Page& page) {
  use_heading("Bandwidth", page);
  std::string label = bandwidth.pool.empty()
                          ? "no pool"
                          : "pool " + printable(bandwidth.pool).substr(0, 10);
  use_row(label,
          {rate_text(bandwidth.entitled_bytes_per_s),
           rate_text(bandwidth.requested_bytes_per_s),
           rate_text(bandwidth.granted_bytes_per_s),
           rate_text(bandwidth.used_bytes_per_s)},
          ratio(bandwidth.used_bytes_per_s, bandwidth.granted_bytes_per_s),
          page);
  page.line(
      fmt::format("  the ceiling needs {}",
                  estimate_text(bandwidth.demand_bytes_per_s, rate_text)));
  if (bandwidth.entitled_bytes_per_s) {
    page.line(fmt::format(
        "  entitled is Penstock's rule, the pool's {} split by ranks; Slurm "
        "promises no bandwidth",
        rate_text(bandwidth.pool_bytes_per_s)));
  }
}

void render_cache(const CacheFigures& cache, Page& page) {
  if (!cache.hits) return;
  page.heading("Cache");
  page.line("  " + cache_text(cache));
}

}  // namespace penstock
