// A pipeline with faulty data: files removed or changed during an epoch, and
// reads that fail, are short or interrupted.
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "penstock/loader/pipeline.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader/tars.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

enum class Fault { kNone, kError, kShort, kInterrupted };
std::atomic<Fault> fault{Fault::kNone};  // of reads of files named *bad*
std::atomic<int> faults{0};              // injected so far

bool is_bad(int fd) {
  char name[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t bytes = readlink(link.c_str(), name, sizeof name);
  return bytes > 0 && std::string_view(name, size_t(bytes)).find("bad") !=
                          std::string_view::npos;
}

}  // namespace

// Overrides the C library's pread().
extern "C" ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  const Fault now = fault;
  if (now != Fault::kNone && is_bad(fd)) {
    const int number = faults++;
    if (now == Fault::kError) {
      errno = EIO;
      return -1;
    }
    if (now == Fault::kInterrupted && number % 2 == 0) {
      errno = EINTR;
      return -1;
    }
    bytes = std::min<size_t>(bytes, 100);
  }
  return syscall(SYS_pread64, fd, out, bytes, offset);
}

namespace {

constexpr uint64_t kSecond_ns = 1000000000;
constexpr int kSide = 16;

class Faulty {
 public:
  explicit Faulty(Fault kind) { fault = kind; }
  ~Faulty() { fault = Fault::kNone; }
  Faulty(const Faulty&) = delete;
  Faulty& operator=(const Faulty&) = delete;
};

// A pipeline's output, by sample.
struct Taken {
  std::map<uint64_t, std::vector<std::vector<float>>> samples;
  std::vector<std::string> why;  // broken
  LoaderCounters counters;
  std::optional<Error> error;
};

class Run {
 public:
  Run(const std::shared_ptr<const Dataset>& dataset, uint64_t epochs,
      BrokenSamples broken = BrokenSamples::kSkip) {
    PipelineOptions options;
    options.batch_samples = 2;
    options.ring_batches = 1;
    options.crop_side = kSide;
    options.total_samples = epochs * dataset->size();
    options.shuffle = false;
    options.broken = broken;
    PipelineLink link;
    link.broken = [this](const std::string& why) {
      const std::lock_guard lock(mutex_);
      taken_.why.push_back(why);
    };
    link.thread = [this](bool starts) {
      if (starts && user_ != 0) setfsuid(user_);
    };
    auto pipeline = Pipeline::create(dataset, options, link);
    REQUIRE(pipeline);
    pipeline_ = *std::move(pipeline);
  }

  // The loader is at most one batch ahead: the ring has no room for more.
  void take_epoch() {
    for (bool ends = false; !ends && !taken_.error;) ends = take_batch();
  }
  Taken take_rest() {
    while (!pipeline_->finished() && !taken_.error) take_batch();
    taken_.counters = pipeline_->counters();
    pipeline_.reset();
    std::sort(taken_.why.begin(), taken_.why.end());
    return taken_;
  }
  // Makes the loader's threads another user for the file system.
  static void read_as(unsigned user) { user_ = user; }

 private:
  bool take_batch() {
    const auto batch = pipeline_->next(5 * kSecond_ns);
    if (!batch) {
      taken_.error = batch.error();
      return true;
    }
    if (!*batch) return false;
    for (size_t i = 0; i < (*batch)->size; ++i) {
      const float* begin = (*batch)->data + i * (*batch)->sample_floats;
      taken_.samples[(*batch)->indices[i]].emplace_back(
          begin, begin + (*batch)->sample_floats);
    }
    pipeline_->release(**batch);
    return (*batch)->ends_epoch;
  }

  inline static std::atomic<unsigned> user_{0};
  std::mutex mutex_;
  Taken taken_;
  std::unique_ptr<Pipeline> pipeline_;
};

void write_text(const std::string& path, const std::string& text) {
  write_file(path, bytes_of(text));
}

// Six pictures, of which the last is named bad.jpg.
std::shared_ptr<const Dataset> six_pictures(const TempFolder& folder) {
  for (int i = 0; i < 5; ++i) {
    write_file(folder.path(std::to_string(i) + ".jpg"), jpeg_bytes(80, 60, i));
  }
  write_file(folder.path("bad.jpg"), jpeg_bytes(80, 60, 5));
  auto dataset = open_folder(folder.path());
  REQUIRE(dataset);
  return *dataset;
}

// Changes bad.jpg between two epochs.
template <class Change>
Taken changed_between(Change change) {
  const TempFolder folder;
  Run run(six_pictures(folder), 2);
  run.take_epoch();
  change(folder.path("bad.jpg"));
  return run.take_rest();
}

}  // namespace

TEST_CASE(
    "a file that is removed or damaged during an epoch is a broken sample") {
  const auto [what, why, change] = GENERATE(
      table<std::string, std::string, void (*)(const std::string&)>({
          {"gone", "No such file",
           [](const std::string& path) { unlink(path.c_str()); }},
          {"cut", "JPEG: cut short",
           [](const std::string& path) {
             std::filesystem::resize_file(path, 700);
           }},
          {"emptied", "empty file",
           [](const std::string& path) {
             std::filesystem::resize_file(path, 0);
           }},
          {"overwritten", "not a picture",
           [](const std::string& path) { write_text(path, "text"); }},
          {"zeroed", "not a picture",
           [](const std::string& path) {
             const auto bytes = std::filesystem::file_size(path);
             write_file(path, std::vector<uint8_t>(bytes));
           }},
          {"a pipe", "no regular file",
           [](const std::string& path) {
             unlink(path.c_str());
             mkfifo(path.c_str(), 0600);
           }},
          {"a folder", "no regular file",
           [](const std::string& path) {
             unlink(path.c_str());
             mkdir(path.c_str(), 0700);
           }},
          {"a circle", "Too many levels",
           [](const std::string& path) {
             unlink(path.c_str());
             symlink("bad.jpg", path.c_str());
           }},
      }));
  CAPTURE(what);
  const Taken taken = changed_between(change);
  CHECK_FALSE(taken.error);
  CHECK(taken.counters.prepared == 11);
  CHECK(taken.counters.broken == 1);
  CHECK(taken.samples.at(5).size() == 1);
  REQUIRE(taken.why.size() == 1);
  CHECK_THAT(taken.why[0],
             ContainsSubstring("bad.jpg") && ContainsSubstring(why));
}

TEST_CASE(
    "a file that grows or is replaced by another picture is read as it is "
    "now") {
  const Taken grown = changed_between([](const std::string& path) {
    auto bytes = jpeg_bytes(80, 60, 5);
    bytes.resize(bytes.size() + 100000, 0x55);
    write_file(path, bytes);
  });
  const Taken other = changed_between([](const std::string& path) {
    write_file(path + ".new", ppm_bytes(90, 70, 9));
    std::filesystem::rename(path + ".new", path);
  });
  const Taken same = changed_between([](const std::string&) {});
  CHECK(grown.why.empty());
  CHECK(other.why.empty());
  CHECK(grown.samples == same.samples);
  CHECK(other.samples.at(5)[0] == same.samples.at(5)[0]);
  CHECK(other.samples.at(5)[1] != same.samples.at(5)[1]);
  const auto& pixels = other.samples.at(5)[1];
  CHECK(*std::min_element(pixels.begin(), pixels.end()) <
        *std::max_element(pixels.begin(), pixels.end()));
}

TEST_CASE("a file that becomes unreadable is a broken sample") {
  const TempFolder folder;
  const auto dataset = six_pictures(folder);
  chmod(folder.path().c_str(), 0755);
  for (int i = 0; i < 5; ++i) {
    chmod(folder.path(std::to_string(i) + ".jpg").c_str(), 0644);
  }
  chmod(folder.path("bad.jpg").c_str(), 0);
  if (geteuid() == 0) Run::read_as(65534);
  const Taken taken = Run(dataset, 2).take_rest();
  Run::read_as(0);
  CHECK(taken.counters.prepared == 10);
  CHECK(taken.counters.broken == 2);
  REQUIRE(taken.why.size() == 1);
  CHECK_THAT(taken.why[0], ContainsSubstring("bad.jpg: Permission denied"));
}

TEST_CASE("a folder that is emptied during an epoch ends the stream") {
  const TempFolder folder;
  Run run(six_pictures(folder), 100);
  run.take_epoch();
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    std::filesystem::remove(entry);
  }
  const Taken taken = run.take_rest();
  REQUIRE(taken.error);
  CHECK(taken.error->code == Code::kIo);
  CHECK_THAT(taken.error->message,
             ContainsSubstring("all samples of " + folder.path() +
                               " are broken; the last: ") &&
                 ContainsSubstring("No such file"));
  CHECK(taken.why.size() == 6);
}

TEST_CASE("a constantly changing file never ends a pipeline") {
  const TempFolder folder;
  const auto dataset = six_pictures(folder);
  std::atomic<bool> stop{false};
  std::thread vandal([&] {
    const auto whole = jpeg_bytes(80, 60, 5);
    const std::string path = folder.path("bad.jpg");
    for (size_t turn = 0; !stop; ++turn) {
      auto part = whole;
      part.resize(turn * 37 % (2 * whole.size()), 0);
      if (turn % 5 == 0) unlink(path.c_str());
      write_file(path, part);
    }
  });
  const Taken taken = Run(dataset, 500).take_rest();
  stop = true;
  vandal.join();
  CHECK_FALSE(taken.error);
  CHECK(taken.counters.prepared + taken.counters.broken == 3000);
  CHECK(taken.counters.prepared >= 2500);
  for (int i = 0; i < 5; ++i) {
    CHECK(taken.samples.at(uint64_t(i)).size() == 500);
  }
}

TEST_CASE(
    "a read error is counted and named, and skipped or fatal as configured") {
  const TempFolder folder;
  const auto dataset = six_pictures(folder);
  const Faulty faulty(Fault::kError);
  const Taken skipped = Run(dataset, 3).take_rest();
  CHECK_FALSE(skipped.error);
  CHECK(skipped.counters.prepared == 15);
  CHECK(skipped.counters.broken == 3);
  REQUIRE(skipped.why.size() == 1);
  CHECK_THAT(skipped.why[0], ContainsSubstring("bad.jpg: Input/output error"));
  const Taken fatal = Run(dataset, 3, BrokenSamples::kFatal).take_rest();
  REQUIRE(fatal.error);
  CHECK(fatal.error->code == Code::kIo);
  CHECK(fatal.error->message == skipped.why[0]);
  CHECK(fatal.samples.size() == 4);  // batches are of two
}

TEST_CASE("short and interrupted reads give the same bits") {
  const TempFolder folder;
  const auto dataset = six_pictures(folder);
  const Taken whole = Run(dataset, 2).take_rest();
  const Faulty faulty(GENERATE(Fault::kShort, Fault::kInterrupted));
  faults = 0;
  const Taken taken = Run(dataset, 2).take_rest();
  CHECK(faults > 10);
  CHECK(taken.why.empty());
  CHECK(taken.samples == whole.samples);
}

namespace {

// Four samples in one file named bad.*, as a shard or as records.
std::shared_ptr<const Dataset> one_file(const TempFolder& folder,
                                        bool is_shard) {
  if (is_shard) {
    std::vector<std::pair<std::string, std::string>> members;
    for (int i = 0; i < 4; ++i) {
      const auto picture = ppm_bytes(30, 20, i);
      members.emplace_back(std::to_string(i) + ".ppm",
                           std::string(picture.begin(), picture.end()));
    }
    write_file(folder.path("bad.tar"), tar_of(members));
  } else {
    write_file(folder.path("bad.bin"), std::vector<uint8_t>(12000, 9));
  }
  auto dataset = is_shard ? open_dataset({folder.path("bad.tar")})
                          : open_dataset({folder.path("bad.bin")},
                                         RecordLayout{3000, 1, 0});
  REQUIRE(dataset);
  return *dataset;
}

}  // namespace

TEST_CASE("faults of a shard or a file of records are faults of its samples") {
  const TempFolder folder;
  const auto dataset = one_file(folder, GENERATE(true, false));
  SECTION("a read error ends the stream") {
    const Faulty faulty(Fault::kError);
    const Taken taken = Run(dataset, 2).take_rest();
    REQUIRE(taken.error);
    CHECK_THAT(taken.error->message,
               ContainsSubstring("all samples of " + dataset->path()) &&
                   ContainsSubstring("Input/output error"));
    CHECK(taken.counters.broken >= 4);
  }
  SECTION("short reads give the same bits") {
    const Taken whole = Run(dataset, 2).take_rest();
    const Faulty faulty(Fault::kShort);
    CHECK(Run(dataset, 2).take_rest().samples == whole.samples);
  }
  SECTION("an overwritten file of the same size ends the stream") {
    // Lets the file system's clock advance.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Run run(dataset, 100);
    run.take_epoch();
    const auto bytes = std::filesystem::file_size(dataset->path());
    write_file(dataset->path(), std::vector<uint8_t>(bytes, 5));
    const Taken taken = run.take_rest();
    REQUIRE(taken.error);
    CHECK_THAT(taken.error->message,
               ContainsSubstring("written to since it was opened"));
  }
  SECTION("a truncated file ends the stream") {
    Run run(dataset, 100);
    run.take_epoch();
    std::filesystem::resize_file(dataset->path(), 4096);
    const Taken taken = run.take_rest();
    REQUIRE(taken.error);
    CHECK_THAT(taken.error->message,
               ContainsSubstring("4096 bytes now") &&
                   ContainsSubstring("data must not change under a job"));
  }
}
