/* penstock/loader.h in a C99 program, with each of its errors. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "penstock/loader.h"

#define CHECK(condition) check((condition), #condition, __LINE__)

enum { kRecords = 10, kRecordBytes = 3 };
static const uint64_t kSecond = 1000000000;

static char folder[] = "/tmp/penstock-c-api-XXXXXX";
static char records_path[64];
static char pictures_path[64];
static char cache_base[] = "/dev/shm/penstock-c-api-XXXXXX";
static char cache_user_folder[96];
static char cache_path[128];

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: %s; the last error: %s\n", line, what,
          penstock_loader_error());
  exit(1);
}

static int says(const char* words) {
  return strstr(penstock_loader_error(), words) != NULL;
}

static void write_bytes(const char* path, const unsigned char* bytes,
                        size_t size) {
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, size, file) == size &&
        fclose(file) == 0);
}

/* Records of a label, 100 + i, and the tensor (i, 7); and a folder with an
 * invalid picture. */
static void write_data(void) {
  unsigned char bytes[kRecords * kRecordBytes];
  CHECK(mkdtemp(folder) != NULL);
  for (int i = 0; i < kRecords; ++i) {
    bytes[i * kRecordBytes] = (unsigned char)(100 + i);
    bytes[i * kRecordBytes + 1] = (unsigned char)i;
    bytes[i * kRecordBytes + 2] = 7;
  }
  snprintf(records_path, sizeof records_path, "%s/records", folder);
  write_bytes(records_path, bytes, sizeof bytes);
  snprintf(pictures_path, sizeof pictures_path, "%s/broken.jpg", folder);
  write_bytes(pictures_path, (const unsigned char*)"no picture", 10);
  CHECK(mkdtemp(cache_base) != NULL);
  CHECK(setenv("PENSTOCK_CACHE_DIR", cache_base, 1) == 0);
  snprintf(cache_user_folder, sizeof cache_user_folder, "%s/penstock-cache-%u",
           cache_base, (unsigned)geteuid());
  snprintf(cache_path, sizeof cache_path, "%s/c_api.cache", cache_user_folder);
}

static const char* paths[1];

static struct penstock_loader_options options_for(const char* path) {
  struct penstock_loader_options options = {.size = sizeof options};
  paths[0] = path;
  options.paths = paths;
  options.path_count = 1;
  options.batch_samples = 4;
  options.threads = 1;
  if (path == records_path) {
    options.record_bytes = kRecordBytes;
    options.record_label_bytes = 1;
  }
  return options;
}

static struct penstock_loader* opened(
    const struct penstock_loader_options* options) {
  struct penstock_loader* loader = NULL;
  CHECK(penstock_loader_open(options, &loader) == 0);
  CHECK(loader != NULL);
  return loader;
}

static void test_batches(void) {
  struct penstock_loader_options options = options_for(records_path);
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  int seen[kRecords] = {0};
  for (int number = 0; number < 6; ++number) {
    CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
    CHECK(batch.number == (uint64_t)number);
    CHECK(batch.sample_floats == 2);
    CHECK(batch.size == (number % 3 == 2 ? 2 : 4));
    CHECK(batch.ends_epoch == (number % 3 == 2));
    for (size_t i = 0; i < batch.size; ++i) {
      CHECK(batch.data[2 * i] == (float)batch.indices[i]);
      CHECK(batch.data[2 * i + 1] == 7.0F);
      CHECK(batch.labels[i] == 100 + (int64_t)batch.indices[i]);
      ++seen[batch.indices[i]];
    }
    CHECK(penstock_loader_release(loader, &batch) == 0);
  }
  for (int i = 0; i < kRecords; ++i) CHECK(seen[i] == 2);
  CHECK(penstock_loader_release(loader, &batch) == EINVAL);
  CHECK(says("batch 5 is not in use"));
  struct penstock_loader_counters counters;
  CHECK(penstock_loader_get_counters(loader, &counters) == 0);
  CHECK(counters.prepared >= 2 * kRecords && counters.broken == 0);
  CHECK(counters.bytes >= 2 * kRecords * (kRecordBytes - 1));
  CHECK(counters.threads == 1);
  penstock_loader_close(loader);
}

static void test_another_loaders_batch(void) {
  struct penstock_loader_options options = options_for(records_path);
  struct penstock_loader* loaders[2] = {opened(&options), opened(&options)};
  struct penstock_loader_batch batches[2];
  for (int i = 0; i < 2; ++i) {
    CHECK(penstock_loader_next(loaders[i], 10 * kSecond, &batches[i]) == 0);
  }
  CHECK(penstock_loader_release(loaders[0], &batches[1]) == EINVAL);
  CHECK(says("another loader"));
  CHECK(penstock_loader_release(loaders[0], &batches[0]) == 0);
  for (int i = 0; i < 2; ++i) penstock_loader_close(loaders[i]);
}

static void test_without_order_and_page_cache(void) {
  struct penstock_loader_options options = options_for(records_path);
  options.unordered = 1;
  options.direct = 1;
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  int seen = 0;
  do {
    CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
    for (size_t i = 0; i < batch.size; ++i) seen |= 1 << batch.indices[i];
    CHECK(penstock_loader_release(loader, &batch) == 0);
  } while (!batch.ends_epoch);
  CHECK(seen == (1 << kRecords) - 1);
  penstock_loader_close(loader);
}

/* With the fake CUDA library. */
static void test_pinned_batches(void) {
  struct penstock_loader_options options = options_for(records_path);
  options.pinned = 1;
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(!batch.is_pinned && penstock_loader_check_pinned(loader) == 0);
  void* cuda = dlopen(getenv("PENSTOCK_FAKE_CUDA"), RTLD_NOW);
  CHECK(cuda != NULL);
  *(void**)dlsym(cuda, "fake_cuda_context") = &options;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(batch.is_pinned && penstock_loader_check_pinned(loader) == 0);
  penstock_loader_close(loader);

  *(int*)dlsym(cuda, "fake_cuda_refuses") = 801;
  loader = opened(&options);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(!batch.is_pinned);
  CHECK(penstock_loader_check_pinned(loader) == ENOTSUP && says("801"));
  penstock_loader_close(loader);
}

static void test_held_batches_end_in_an_error(void) {
  struct penstock_loader_options options = options_for(records_path);
  options.ring_batches = 2;
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch first;
  struct penstock_loader_batch second;
  struct penstock_loader_batch third;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &first) == 0);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &second) == 0);
  CHECK(penstock_loader_next(loader, kSecond / 100, &third) == EDEADLK);
  CHECK(says("release it"));
  CHECK(penstock_loader_release(loader, &first) == 0);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &third) == 0);
  penstock_loader_close(loader);
}

static void test_a_state_goes_on(void) {
  struct penstock_loader_options options = options_for(records_path);
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  struct penstock_loader_state state;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(penstock_loader_get_state(loader, &state) == 0);
  CHECK(state.count == kRecords && state.epoch == 0 && state.position == 4);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  const uint64_t index = batch.indices[0];
  penstock_loader_close(loader);

  options.from = &state;
  loader = opened(&options);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(batch.indices[0] == index);
  penstock_loader_close(loader);

  options.seed = 5;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL);
  CHECK(loader == NULL && says("seed"));
}

static void test_options_out_of_range(void) {
  struct penstock_loader* loader = NULL;
  struct penstock_loader_options options = options_for(records_path);
  CHECK(penstock_loader_open(NULL, &loader) == EINVAL);
  CHECK(penstock_loader_open(&options, NULL) == EINVAL);
  options.size = 0;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("size"));
  options = options_for(records_path);
  options.augment = 2;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("augment"));
  options = options_for(records_path);
  options.reserved = 1;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("reserved"));
  options = options_for(records_path);
  options.batch_samples = 65537;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("65536"));
  options = options_for(records_path);
  options.crop_side = UINT64_MAX;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("4096"));
  options = options_for(records_path);
  options.memory_bytes = 1000;
  CHECK(penstock_loader_open(&options, &loader) == ENOMEM && says("memory"));
  options = options_for(records_path);
  options.paths = NULL;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("null"));
  options = options_for("/nowhere");
  CHECK(penstock_loader_open(&options, &loader) == ENOENT && says("/nowhere"));
}

/* Options of a later library, with further fields. */
static void test_options_of_other_sizes(void) {
  struct {
    struct penstock_loader_options known;
    uint64_t more;
  } newer = {options_for(records_path), 0};
  struct penstock_loader* loader = NULL;
  newer.known.size = sizeof newer;
  CHECK(penstock_loader_open(&newer.known, &loader) == 0);
  penstock_loader_close(loader);
  newer.more = 1;
  CHECK(penstock_loader_open(&newer.known, &loader) == EINVAL);
  CHECK(says("newer"));
  /* The library reads only up to its size. */
  struct penstock_loader_options older = options_for(records_path);
  older.size = offsetof(struct penstock_loader_options, seed);
  older.ranks = 0;
  older.rank = 77;
  CHECK(penstock_loader_open(&older, &loader) == 0);
  penstock_loader_close(loader);
}

static atomic_int broken_count;
static void note_broken(void* context, const char* why) {
  CHECK(context == records_path && strstr(why, "broken.jpg") != NULL);
  ++broken_count;
}

static void test_broken_samples(void) {
  struct penstock_loader_options options = options_for(folder);
  options.crop_side = 8;
  options.broken_fatal = 1;
  options.broken = note_broken;
  options.broken_context = records_path;
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  for (int i = 0; i < 2; ++i) {
    CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == EINVAL);
    CHECK(says("broken.jpg"));
  }
  CHECK(broken_count == 1);
  penstock_loader_close(loader);
  options.broken_fatal = 0;
  loader = opened(&options);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == EIO);
  CHECK(says("all samples"));
  struct penstock_loader_counters counters;
  CHECK(penstock_loader_get_counters(loader, &counters) == 0);
  CHECK(counters.prepared == 0 && counters.broken >= 1);
  penstock_loader_close(loader);
}

/* Each sample is read from storage once, later from the cache. */
static void test_a_cache(void) {
  struct penstock_loader_options options = options_for(records_path);
  options.cache_bytes = 1 << 20;
  options.cache_keep_s = 60;
  options.cache_name = "c_api";
  for (int run = 0; run < 2; ++run) {
    struct penstock_loader* loader = opened(&options);
    struct penstock_loader_batch batch;
    for (int i = 0; i < 9; ++i) {
      CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
      CHECK(batch.labels[0] == 100 + (int64_t)batch.indices[0]);
      CHECK(batch.data[0] == (float)batch.indices[0]);
      CHECK(penstock_loader_release(loader, &batch) == 0);
    }
    struct penstock_loader_cached cached = {.size = sizeof cached};
    struct penstock_loader_counters counters;
    CHECK(penstock_loader_get_cached(loader, &cached) == 0);
    CHECK(penstock_loader_get_counters(loader, &counters) == 0);
    CHECK(cached.samples >= (run == 0 ? 2 : 3) * kRecords);
    CHECK(cached.bytes >= (run == 0 ? 2 : 3) * kRecords * (kRecordBytes - 1));
    CHECK(counters.bytes == (run == 0 ? kRecords * (kRecordBytes - 1) : 0));
    CHECK(penstock_loader_check_cache(loader) == 0);
    cached.size = 0;
    CHECK(penstock_loader_get_cached(loader, &cached) == EINVAL);
    CHECK(says("size"));
    penstock_loader_close(loader);
  }
  struct penstock_loader* loader = NULL;
  options.record_label_bytes = 0; /* other data */
  CHECK(penstock_loader_open(&options, &loader) == EINVAL);
  CHECK(loader == NULL && says("c_api.cache: holds other data"));
  options.cache_name = "/";
  CHECK(penstock_loader_open(&options, &loader) == EINVAL && says("letters"));
  options.cache_keep_s = 604801;
  CHECK(penstock_loader_open(&options, &loader) == EINVAL &&
        says("cache_keep_s: allowed: 0 to 604800"));
  CHECK(remove(cache_path) == 0 && rmdir(cache_user_folder) == 0);
}

static void test_without_a_cache_that_cannot_be_had(void) {
  struct penstock_loader_options options = options_for(records_path);
  options.cache_bytes = 1 << 20;
  CHECK(mkdir(cache_user_folder, 0755) == 0);
  struct penstock_loader* loader = opened(&options);
  CHECK(rmdir(cache_user_folder) == 0);
  struct penstock_loader_batch batch;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(penstock_loader_check_cache(loader) == EACCES);
  CHECK(says("without a cache: ") && says("mode 0700"));
  penstock_loader_close(loader);
  /* The machine may or may not limit the memory cgroup. */
  options.cache_bytes = UINT64_MAX;
  loader = opened(&options);
  const int error = penstock_loader_check_cache(loader);
  CHECK(error == 0 ||
        (error == EIO && says("no memory cgroup limits this job")));
  penstock_loader_close(loader);
}

/* Limits files to the size of the empty cache. */
static void test_a_cache_that_gets_no_memory(void) {
  struct penstock_loader_options options = options_for(records_path);
  options.cache_name = "c_api";
  options.cache_keep_s = 60;
  options.cache_bytes = 1; /* room for none */
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(penstock_loader_check_cache(loader) == 0);
  penstock_loader_close(loader);
  struct stat found;
  CHECK(stat(cache_path, &found) == 0 && remove(cache_path) == 0);

  struct rlimit before;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit low = before;
  low.rlim_cur = (rlim_t)found.st_size;
  signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
  options.cache_bytes = 1 << 20;
  options.cache_keep_s = 0;
  loader = opened(&options);
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  CHECK(batch.size == 4);
  CHECK(penstock_loader_check_cache(loader) == EIO && says("not filled"));
  penstock_loader_close(loader);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

static void test_a_child_is_refused(void) {
  struct penstock_loader_options options = options_for(records_path);
  struct penstock_loader* loader = opened(&options);
  struct penstock_loader_batch batch;
  CHECK(penstock_loader_next(loader, 10 * kSecond, &batch) == 0);
  const pid_t child = fork();
  if (child == 0) {
    struct penstock_loader_state state;
    CHECK(penstock_loader_next(loader, kSecond, &batch) == ECHILD);
    CHECK(says("forked"));
    CHECK(penstock_loader_release(loader, &batch) == ECHILD);
    struct penstock_loader_counters counters;
    CHECK(penstock_loader_get_state(loader, &state) == ECHILD);
    CHECK(penstock_loader_get_counters(loader, &counters) == ECHILD);
    struct penstock_loader_cached cached = {.size = sizeof cached};
    CHECK(penstock_loader_get_cached(loader, &cached) == ECHILD);
    CHECK(penstock_loader_check_cache(loader) == ECHILD);
    CHECK(penstock_loader_check_pinned(loader) == ECHILD);
    penstock_loader_close(loader);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(penstock_loader_release(loader, &batch) == 0);
  penstock_loader_close(loader);
}

static void test_null_pointers(void) {
  struct penstock_loader_options options = options_for(records_path);
  struct penstock_loader* loader = opened(&options);
  CHECK(penstock_loader_next(NULL, 0, NULL) == EINVAL && says("null"));
  CHECK(penstock_loader_next(loader, 0, NULL) == EINVAL);
  CHECK(penstock_loader_release(loader, NULL) == EINVAL);
  CHECK(penstock_loader_get_state(loader, NULL) == EINVAL);
  CHECK(penstock_loader_get_counters(loader, NULL) == EINVAL);
  CHECK(penstock_loader_get_cached(loader, NULL) == EINVAL);
  CHECK(penstock_loader_check_cache(NULL) == EINVAL);
  CHECK(penstock_loader_check_pinned(NULL) == EINVAL);
  penstock_loader_close(loader);
  penstock_loader_close(NULL);
}

int main(void) {
  write_data();
  CHECK(penstock_loader_error()[0] == '\0');
  test_batches();
  test_another_loaders_batch();
  test_without_order_and_page_cache();
  test_pinned_batches();
  test_held_batches_end_in_an_error();
  test_a_state_goes_on();
  test_options_out_of_range();
  test_options_of_other_sizes();
  test_broken_samples();
  test_a_cache();
  test_without_a_cache_that_cannot_be_had();
  test_a_cache_that_gets_no_memory();
  test_a_child_is_refused();
  test_null_pointers();
  CHECK(remove(records_path) == 0 && remove(pictures_path) == 0 &&
        rmdir(folder) == 0 && rmdir(cache_base) == 0);
  return 0;
}
