#include "loader/train/summary.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/units.h"

namespace penstock {
namespace {

double ratio(double value, double by) { return by > 0 ? value / by : 0; }

const char* wait_name(WaitMode wait) {
  return wait == WaitMode::kSpin ? "spin" : "sleep";
}

}  // namespace

double Summary::rate_samples_per_s() const {
  return ratio(static_cast<double>(samples), seconds);
}
double Summary::wait_share() const { return ratio(wait_s, seconds); }
double Summary::loader_cpu_s() const {
  return static_cast<double>(loader.cpu_ns) * 1e-9;
}
double Summary::cpu_s_per_sample() const {
  return ratio(loader_cpu_s(), static_cast<double>(loader.prepared));
}
double Summary::bytes_per_sample() const {
  return ratio(static_cast<double>(loader.bytes),
               static_cast<double>(loader.prepared));
}
double Summary::step_s_per_sample() const {
  return ratio(step_s, static_cast<double>(samples));
}
double Summary::trainer_cpu_s_per_sample() const {
  return ratio(trainer_cpu_s, static_cast<double>(samples));
}

std::string summary_text(const TrainOptions& options, const Summary& summary) {
  std::string text = fmt::format(
      "{} samples in {:.2f} s: {:.1f} samples/s{}, waiting for data {:.3f} of "
      "the time\n"
      "emulated accelerator: {:g} s per sample asked, {:.6g} s measured, wait "
      "by {}\n"
      "loader: {:.3f} CPU s ({:.3f} ms per sample), {} read ({} per sample)\n"
      "trainer: {:.3f} CPU s; penstockd: {}\n",
      summary.samples, summary.seconds, summary.rate_samples_per_s(),
      options.replay ? " (one batch replayed)" : "", summary.wait_share(),
      options.accelerator_s_per_sample, summary.step_s_per_sample(),
      wait_name(options.wait), summary.loader_cpu_s(),
      summary.cpu_s_per_sample() * 1e3,
      format_bytes(static_cast<double>(summary.loader.bytes)),
      format_bytes(summary.bytes_per_sample()), summary.trainer_cpu_s,
      summary.connected ? "connected" : "not connected");
  if (options.cache) {
    const auto samples =
        static_cast<double>(summary.loader.prepared + summary.loader.broken);
    text += fmt::format(
        "cache: {} of its samples ({:.3f}), {}\n", summary.loader.cached,
        ratio(static_cast<double>(summary.loader.cached), samples),
        format_bytes(static_cast<double>(summary.loader.cached_bytes)));
  }
  if (!options.cache_peers.empty()) {
    text += fmt::format(
        "other nodes' caches: {} of these, {}\n", summary.loader.peer,
        format_bytes(static_cast<double>(summary.loader.peer_bytes)));
  }
  if (!options.share.empty()) {
    text += fmt::format(
        "share {}: {} batches used, {} samples prepared here; alone for {} "
        "batches, {} prepared in vain\n",
        options.share, summary.share.used_batches, summary.loader.prepared,
        summary.share.alone_batches, summary.share.lost_claims);
  }
  if (summary.loader.broken > 0) {
    text += fmt::format("broken samples skipped: {}\n", summary.loader.broken);
  }
  return text;
}

nlohmann::ordered_json share_json(const TrainOptions& options,
                                  const ShareCounters& share) {
  return {{"name", options.share},
          {"used_batches", share.used_batches},
          {"lost_claims", share.lost_claims},
          {"times_out", share.times_out},
          {"alone_batches", share.alone_batches}};
}

std::string summary_json(const TrainOptions& options, const Summary& summary) {
  nlohmann::ordered_json json{
      {"schema_version", 2},
      {"accelerator", "emulated"},
      {"accelerator_s_per_sample", options.accelerator_s_per_sample},
      {"wait", wait_name(options.wait)},
      {"trainer_cpu_ms", options.trainer_cpu_ms},
      {"data", options.data},
      {"batch", options.batch},
      {"crop", options.crop},
      {"direct", options.direct},
      {"replay", options.replay},
      {"seed", options.seed},
      {"ended_by", summary.ended_by},
      {"penstock_connected", summary.connected},
      {"samples", summary.samples},
      {"steps", summary.steps},
      {"seconds", summary.seconds},
      {"rate_samples_per_s", summary.rate_samples_per_s()},
      {"wait_s", summary.wait_s},
      {"wait_share", summary.wait_share()},
      {"step_s_per_sample", summary.step_s_per_sample()},
      {"loader_cpu_s", summary.loader_cpu_s()},
      {"trainer_cpu_s", summary.trainer_cpu_s},
      {"prepared", summary.loader.prepared},
      {"broken", summary.loader.broken},
      {"bytes", summary.loader.bytes},
      {"cached", summary.loader.cached},
      {"cached_bytes", summary.loader.cached_bytes},
      {"peer", summary.loader.peer},
      {"peer_bytes", summary.loader.peer_bytes},
      {"fetch_s", static_cast<double>(summary.loader.fetch_ns) * 1e-9},
      {"prep_s", static_cast<double>(summary.loader.prep_ns) * 1e-9},
      {"threads", summary.loader.threads},
      {"cpu_s_per_sample", summary.cpu_s_per_sample()},
      {"bytes_per_sample", summary.bytes_per_sample()},
  };
  if (!options.share.empty())
    json["share"] = share_json(options, summary.share);
  // `replace`: otherwise a path that is not valid UTF-8 would throw.
  return json.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

Result<std::string> summary_profile(const TrainOptions& options,
                                    const Summary& summary) {
  if (summary.samples == 0 || summary.loader.prepared == 0) {
    return invalid(options.profile_path +
                   ": no profile written: the run finished no step");
  }
  const std::string name =
      std::filesystem::path(options.profile_path).stem().string();
  return fmt::format(
      "# Measured by penstock-train over {:.1f} s and {} samples.\n"
      "# The accelerator was emulated: {:g} s per sample asked for.\n"
      "name = \"{}\"\n"
      "accelerator_s_per_sample = {:.9f}\n"
      "loader_cpu_s_per_sample = {:.9f}\n"
      "trainer_cpu_s_per_sample = {:.9f}\n"
      "bytes_per_sample = {:.1f}\n",
      summary.seconds, summary.samples, options.accelerator_s_per_sample, name,
      summary.step_s_per_sample(), summary.cpu_s_per_sample(),
      summary.trainer_cpu_s_per_sample(), summary.bytes_per_sample());
}

Status write_text_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return system_error(errno, path);
  const bool written = std::fputs(text.c_str(), file) >= 0;
  const int write_errno = errno;
  if (std::fclose(file) == 0 && written) return Done{};
  return system_error(written ? errno : write_errno, path);
}

}  // namespace penstock
