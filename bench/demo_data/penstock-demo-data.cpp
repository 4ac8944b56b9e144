// penstock-demo-data: generates a data set for the demo and the tests. The same
// arguments give the same bytes; a complete set is not rewritten.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <span>
#include <string>

#include "bench/demo_data/jpeg_writer.h"
#include "bench/demo_data/noise.h"
#include "common/result.h"
#include "common/unique_fd.h"
#include "common/whole_file.h"

namespace penstock {
namespace {

enum class Format { kJpeg, kRaw };

struct DataOptions {
  std::string out;
  Format format = Format::kJpeg;
  uint64_t count = 256;
  int width = 500;
  int height = 375;
  int quality = 90;
  uint64_t record_bytes = 3 << 20;  // raw: approximate bytes of pixels per file
  uint64_t seed = 1;
};

constexpr int kRawWidth = 1024;

// Prints progress every two seconds.
class Progress {
 public:
  explicit Progress(uint64_t count) : count_(count) {}
  void show(uint64_t done) {
    const auto now = Clock::now();
    if (now - shown_ < std::chrono::seconds(2)) return;
    shown_ = now;
    fmt::print(stderr, "penstock-demo-data: {} of {} files\n", done, count_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  uint64_t count_;
  Clock::time_point shown_ = Clock::now();
};

// Everything that determines the set's bytes. Raise the version with each
// change of the generator.
std::string manifest(const DataOptions& options) {
  if (options.format == Format::kRaw) {
    return fmt::format("penstock-demo-data 1 raw count={} bytes={} seed={}\n",
                       options.count, options.record_bytes, options.seed);
  }
  return fmt::format(
      "penstock-demo-data 1 jpeg count={} size={}x{} quality={} seed={}\n",
      options.count, options.width, options.height, options.quality,
      options.seed);
}

std::string manifest_path(const DataOptions& options) {
  return options.out + "/penstock-demo-data.manifest";
}

std::string sample_path(const DataOptions& options, uint64_t index) {
  return fmt::format("{}/sample_{:06}.{}", options.out, index,
                     options.format == Format::kRaw ? "ppm" : "jpg");
}

Result<std::string> read_text(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return system_error(errno, path);
  char text[512];
  const size_t size = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return std::string(text, size);
}

Status write_file(const std::string& path, std::span<const uint8_t> bytes) {
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return system_error(errno, path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const int error = write_whole(fd.get(), {text, bytes.size()});
  return error == 0 ? Status(Done{}) : system_error(error, path);
}

// The manifest is written last, so a set with a manifest was once complete. A
// missing or empty file makes it incomplete again.
Result<bool> is_complete(const DataOptions& options) {
  auto text = read_text(manifest_path(options));
  if (!text && text.error().code == Code::kNotFound) return false;
  if (!text) return std::move(text).error();
  if (*text != manifest(options)) {
    return invalid(options.out + " holds another data set (" +
                   manifest_path(options) +
                   "); remove it, or name another folder");
  }
  for (uint64_t i = 0; i < options.count; ++i) {
    struct stat status {};
    if (stat(sample_path(options, i).c_str(), &status) != 0 ||
        status.st_size == 0) {
      return false;
    }
  }
  return true;
}

Status write_jpeg(const DataOptions& options, uint64_t index) {
  const auto pixels =
      noise_picture(options.width, options.height, options.seed + index);
  auto jpeg =
      encode_jpeg(pixels, options.width, options.height, options.quality);
  if (!jpeg) return std::move(jpeg).error();
  return write_file(sample_path(options, index), *jpeg);
}

Status write_raw(const DataOptions& options, uint64_t index) {
  const auto rows = static_cast<int>(
      std::max<uint64_t>(1, options.record_bytes / (uint64_t{3} * kRawWidth)));
  const auto pixels = noise_picture(kRawWidth, rows, options.seed + index);
  const std::string header = fmt::format("P6\n{} {}\n255\n", kRawWidth, rows);
  std::vector<uint8_t> file(header.begin(), header.end());
  file.insert(file.end(), pixels.begin(), pixels.end());
  return write_file(sample_path(options, index), file);
}

Status make_set(const DataOptions& options) {
  if (mkdir(options.out.c_str(), 0755) != 0 && errno != EEXIST) {
    return system_error(errno, options.out);
  }
  auto complete = is_complete(options);
  if (!complete) return std::move(complete).error();
  if (*complete) {
    fmt::print("{}: complete already\n", options.out);
    return Done{};
  }
  Progress progress(options.count);
  for (uint64_t i = 0; i < options.count; ++i) {
    Status written = options.format == Format::kRaw ? write_raw(options, i)
                                                    : write_jpeg(options, i);
    if (!written) return written;
    progress.show(i + 1);
  }
  const std::string text = manifest(options);
  return write_file(
      manifest_path(options),
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

void add_options(CLI::App& app, DataOptions& options) {
  const std::map<std::string, Format> formats{{"jpeg", Format::kJpeg},
                                              {"raw", Format::kRaw}};
  app.add_option("--out", options.out, "Directory to create the files in")
      ->required();
  app.add_option("--format", options.format, "jpeg, or raw (PPM)")
      ->transform(CLI::CheckedTransformer(formats))
      ->option_text("jpeg|raw");
  app.add_option("--count", options.count, "Files")
      ->check(CLI::Range(1, 1000000))
      ->option_text("N [256]");
  app.add_option("--width", options.width, "jpeg: pixels")
      ->check(CLI::Range(1, 16384))
      ->option_text("N [500]");
  app.add_option("--height", options.height, "jpeg: pixels")
      ->check(CLI::Range(1, 16384))
      ->option_text("N [375]");
  app.add_option("--quality", options.quality, "jpeg: 1 to 100")
      ->check(CLI::Range(1, 100))
      ->option_text("N [90]");
  app.add_option("--record-bytes", options.record_bytes,
                 "raw: bytes of pixels per record; K and M are powers of 1024")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{3072}, uint64_t{64} << 20))
      ->option_text("N [3M]");
  app.add_option("--seed", options.seed, "Seed of the first file")
      ->option_text("N [1]");
}

int run(int argc, char** argv) {
  DataOptions options;
  CLI::App app("Creates a data set of noise pictures", "penstock-demo-data");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const Status made = make_set(options);
  if (made) return 0;
  std::fprintf(stderr, "penstock-demo-data: %s\n",
               made.error().message.c_str());
  return 1;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-demo-data: %s\n", error.what());
    return 1;
  }
}
