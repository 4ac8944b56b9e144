// Memory that is pinned if the process uses CUDA, with a fake CUDA library.
#include "loader/pipeline/pinned_memory.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "loader/api/job_loader.h"
#include "tests/unit/catch.h"
#include "tests/unit/loader/pictures.h"

using namespace penstock;
using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr uint64_t kSecond = 1000000000;

bool is_cuda_loaded() {
  return ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

// Loads the fake library on first use.
template <class T>
T& fake_cuda(const char* name) {
  static void* const library =
      ::dlopen(PENSTOCK_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  return *static_cast<T*>(::dlsym(library, name));
}

int& registered() { return fake_cuda<int>("fake_cuda_registered"); }
int& refuses() { return fake_cuda<int>("fake_cuda_refuses"); }

// A context that is current during the object's life.
class CudaContext {
 public:
  CudaContext() { current() = this; }
  ~CudaContext() { current() = nullptr; }
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

 private:
  static void*& current() { return fake_cuda<void*>("fake_cuda_context"); }
};

// Ten records of one byte.
std::unique_ptr<JobLoader> opened(const TempFolder& folder, bool pinned) {
  write_file(folder.path("numbers"), std::vector<uint8_t>(10, 7));
  auto dataset = open_records(folder.path("numbers"), {1, 0, 0});
  REQUIRE(dataset);
  JobLoaderOptions options;
  options.pipeline.batch_samples = 2;
  options.pipeline.pinned = pinned;
  options.threads = 1;
  auto loader = JobLoader::open(*std::move(dataset), options);
  REQUIRE(loader);
  return *std::move(loader);
}

Batch take(JobLoader& loader) {
  const auto batch = loader.next(10 * kSecond);
  REQUIRE(batch);
  REQUIRE(*batch);
  return **batch;
}

}  // namespace

// Runs first: the library is never unloaded.
TEST_CASE("without CUDA memory is pageable, and CUDA is not loaded") {
  PinnableMemory memory(100000);
  memory.try_pin();
  CHECK_FALSE(memory.is_pinned());
  CHECK(memory.refusal().empty());
  std::memset(memory.begin(), 1, 100000);
  const TempFolder folder;
  auto loader = opened(folder, true);
  CHECK_FALSE(take(*loader).is_pinned);
  CHECK(loader->pin_refusal().empty());
  CHECK_FALSE(is_cuda_loaded());
}

TEST_CASE(
    "memory is pinned once a CUDA context is current, and unpinned at its "
    "end") {
  REQUIRE(registered() == 0);
  {
    PinnableMemory memory(100000);
    memory.try_pin();
    CHECK_FALSE(memory.is_pinned());
    {
      const CudaContext context;
      memory.try_pin();
      memory.try_pin();
    }
    CHECK(memory.is_pinned());
    CHECK(registered() == 1);
    CHECK(fake_cuda<size_t>("fake_cuda_bytes") == 100000);
    CHECK(fake_cuda<unsigned>("fake_cuda_flags") == 1);
  }
  CHECK(registered() == 0);
}

TEST_CASE("a refusal is final, and memory that CUDA keeps is not freed") {
  const CudaContext context;
  {
    PinnableMemory memory(5000);
    refuses() = 801;
    memory.try_pin();
    refuses() = 0;
    memory.try_pin();
    CHECK_FALSE(memory.is_pinned());
    CHECK_THAT(memory.refusal(), ContainsSubstring("error 801"));
  }
  CHECK(registered() == 0);
  char* kept = nullptr;
  {
    PinnableMemory memory(5000);
    memory.try_pin();
    kept = static_cast<char*>(memory.begin());
    refuses() = 4;
  }
  refuses() = 0;
  *kept = 1;
  registered() = 0;
}

TEST_CASE("a forked child has no pinned memory") {
  const CudaContext context;
  PinnableMemory memory(5000);
  memory.try_pin();
  const pid_t child = fork();
  if (child == 0) {
    // access() finds out whether it is mapped without touching it.
    _exit(::access(static_cast<char*>(memory.begin()), F_OK) != 0 &&
                  errno == EFAULT
              ? 0
              : 1);
  }
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a loader pins its ring if the option is set") {
  const TempFolder folder;
  auto loader = opened(folder, true);
  CHECK_FALSE(take(*loader).is_pinned);
  {
    const CudaContext context;
    const TempFolder other_folder;
    CHECK_FALSE(take(*opened(other_folder, false)).is_pinned);
    CHECK(registered() == 0);
    CHECK(take(*loader).is_pinned);
  }
  const Batch batch = take(*loader);
  CHECK(batch.is_pinned);
  CHECK(batch.data[1] == 7);
  CHECK(registered() == 1);
  loader.reset();
  CHECK(registered() == 0);
}

TEST_CASE("a loader that cannot pin its ring reports why and continues") {
  const TempFolder folder;
  const CudaContext context;
  refuses() = 2;
  auto loader = opened(folder, true);
  const Batch batch = take(*loader);
  refuses() = 0;
  CHECK_FALSE(batch.is_pinned);
  CHECK(batch.data[0] == 7);
  CHECK_THAT(loader->pin_refusal(), ContainsSubstring("error 2"));
  CHECK_FALSE(take(*loader).is_pinned);
}
