// A cache file, to which whoever shares it may write anything at any time: as
// it is found, and while it is in use. It is never read or written outside of
// what it is, and no sample is served that was not put in.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "loader/cache/cache_core.h"
#include "loader/cache/cache_file.h"
#include "loader/cache/cache_list.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

constexpr uint64_t kSamples = 8;
constexpr uint64_t kMostRead = 1 << 20;
const CachedData kData{.fingerprint = 7, .samples = kSamples, .path = "/d"};

// In memory, and gone when the process ends.
class Folder {
 public:
  Folder() {
    char name[] = "/dev/shm/penstock-fuzz-XXXXXX";
    FUZZ_CHECK(::mkdtemp(name) != nullptr);
    owner_ = {.base = name, .user = ::geteuid(), .group = {}};
    FUZZ_CHECK(open_cache_folder(owner_).ok());
  }
  ~Folder() { std::filesystem::remove_all(owner_.base); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const CacheOwner& owner() const { return owner_; }
  std::string file() const { return cache_folder_path(owner_) + "/n.cache"; }

 private:
  CacheOwner owner_;
};

std::vector<uint8_t> sample(uint64_t index) {
  return std::vector<uint8_t>(300 + 500 * index, uint8_t(index + 1));
}

class Use {
 public:
  // left_bytes: by the job's memory cgroup; nullopt: it has no limit.
  explicit Use(std::unique_ptr<CacheFile> file,
               std::optional<uint64_t> left_bytes = std::nullopt)
      : room_(left_bytes ? std::optional(MemoryRoom{1 << 26, *left_bytes})
                         : std::nullopt),
        share_(*FillShare::open(file->shares(), 5, 1 << 20)),
        core_(
            std::move(file), share_, [this] { return room_; }, nullptr) {}

  void read(uint64_t index) {
    const auto bytes = core_.find(index);
    if (!bytes || *bytes > kMostRead) return;
    const auto out = std::make_unique<uint8_t[]>(*bytes);
    int64_t label = 0;
    const std::span span(out.get(), *bytes);
    if (!core_.read(index, span, label)) return;
    FUZZ_CHECK(std::ranges::equal(span, sample(index)));
    FUZZ_CHECK(label == int64_t(index));
  }
  void store(uint64_t index) {
    core_.store(index, sample(index), int64_t(index));
  }
  CacheFile& file() { return core_.file(); }

 private:
  const std::optional<MemoryRoom> room_;
  const FillShare share_;
  CacheCore core_;
};

// One thing that another process, or this one, does.
struct Step {
  uint8_t what = 0;
  uint8_t index = 0;
  uint16_t place = 0;
  uint64_t value = 0;
};

void take(Use& use, const Step& step) {
  CacheFile& file = use.file();
  const uint64_t index = step.index % kSamples;
  auto* const words = reinterpret_cast<uint64_t*>(&file.header());
  switch (step.what % 7) {
    case 0:
      file.slot(index).word = step.value;
      break;
    case 1:
      file.slot(index).facts = step.value;
      break;
    case 2:  // anywhere in what is mapped, as whole words
      words[step.place % (file.data_offset() / sizeof *words)] = step.value;
      break;
    case 3: {
      constexpr auto kEnd = offsetof(CacheHeader, end_offset) / sizeof *words;
      words[kEnd] = step.value;
      break;
    }
    case 4:  // a word that looks like one
      file.slot(index).word =
          SlotWord{static_cast<SlotWord::State>(step.value & 3),
                   static_cast<uint32_t>(step.place) % kMembers,
                   static_cast<uint32_t>(step.value >> 2 & 7),
                   step.value / kPlaceBytes % (1 << 20) * kPlaceBytes}
              .packed();
      break;
    case 5:
      use.read(index);
      break;
    default:
      use.store(index);
  }
}

void use_file(std::unique_ptr<CacheFile> file, const uint8_t* data,
              size_t size) {
  Use use(std::move(file));
  for (uint64_t i = 0; i < kSamples; i += 2) use.store(i);
  for (size_t at = 0; at + 12 <= size; at += 12) {
    Step step{data[at], data[at + 1], 0, 0};
    std::memcpy(&step.place, data + at + 2, sizeof step.place);
    std::memcpy(&step.value, data + at + 4, sizeof step.value);
    take(use, step);
  }
  for (uint64_t i = 0; i < kSamples; ++i) {
    use.read(i);
    use.store(i);
    use.read(i);
  }
}

// Another process of the job, whose memory runs short.
void run_short(std::unique_ptr<CacheFile> file) {
  Use use(std::move(file), 0);
  for (uint64_t i = 0; i < kSamples; ++i) {
    use.read(i);
    use.store(i);
  }
  use.file().leave();
}

// What somebody left there, of a cache's length or of its own.
void write_file(const std::string& path, const uint8_t* data, size_t size,
                bool is_long) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  FUZZ_CHECK(::pwrite(fd.get(), data, size, 0) == ssize_t(size));
  if (!is_long) return;
  FUZZ_CHECK(::ftruncate(fd.get(), off_t(cache_data_offset(kSamples))) == 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  if (size == 0) return 0;
  const bool is_found = (data[0] & 1) != 0, is_long = (data[0] & 2) != 0;
  ++data;
  --size;
  // It went with the last run's cache.
  FUZZ_CHECK(open_cache_folder(folder.owner()).ok());
  if (is_found) write_file(folder.file(), data, size, is_long);
  if (is_found) FUZZ_CHECK(list_caches(folder.owner()).ok());
  auto file = CacheFile::join(folder.owner(), "n", kData);
  FUZZ_CHECK(file.ok() || is_found);
  if (file) {
    const size_t skipped = is_found ? std::min(size, kMembersOffset) : 0;
    use_file(*std::move(file), data + skipped, size - skipped);
    auto other = CacheFile::join(folder.owner(), "n", kData);
    if (other) run_short(*std::move(other));
  }
  auto caches = list_caches(folder.owner());
  FUZZ_CHECK(caches.ok());
  FUZZ_CHECK(caches->size() <= 1);
  sweep_caches(folder.owner());
  (void)drop_cache(folder.owner(), "n");
  return 0;
}
