// Caches of several nodes with penstock/loader.h.
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tests/unit/link/private_munge.h"
#include "tests/unit/loader/c_loader.h"

using namespace penstock::test;
using Catch::Matchers::ContainsSubstring;
using penstock::PrivateMunge;

namespace {

penstock_loader_cached cached_of(const Loader& loader) {
  penstock_loader_cached cached{};
  cached.size = sizeof cached;
  REQUIRE(penstock_loader_get_cached(loader.get(), &cached) == 0);
  return cached;
}

// Else this thread, and those that it starts, have mounts of their own.
bool is_missing() {
  if (PrivateMunge::installed() && ::unshare(CLONE_NEWNS) == 0) return false;
  WARN("skipped: only root can mount, or there is no munged");
  return true;
}

// Where a munged of the test's own is asked, or none. REQUIRES: !is_missing().
void enter_own_run_folder(const std::string& munge_socket) {
  REQUIRE(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  REQUIRE(::mount("run", "/run", "tmpfs", 0, nullptr) == 0);
  std::filesystem::create_directory("/run/munge");
  std::filesystem::create_symlink(munge_socket, "/run/munge/munge.socket.2");
}

void leave_slurm() {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                           "SLURMD_NODENAME", "PENSTOCK_CACHE_PORTS"}) {
    ::unsetenv(name);
  }
}

}  // namespace

TEST_CASE("the smaller structs of older programs are accepted") {
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.cache_bytes = 1 << 20;
  options.cache_peers = "n[";
  options.share = "/";
  options.size = offsetof(penstock_loader_options, cache_peers);
  const Loader loader = opened(options);
  CHECK(take_epoch(loader) == all_samples());
  penstock_loader_cached cached{};
  cached.peer_samples = cached.peer_bytes = 77;
  cached.size = offsetof(penstock_loader_cached, peer_samples);
  // The loader prepares the next epoch meanwhile.
  const auto before = cached_of(loader).samples;
  REQUIRE(penstock_loader_get_cached(loader.get(), &cached) == 0);
  CHECK(cached.size == offsetof(penstock_loader_cached, peer_samples));
  CHECK(cached.samples >= before);
  CHECK(cached.samples <= cached_of(loader).samples);
  CHECK(cached.peer_samples == 77);
  CHECK(cached.peer_bytes == 77);
  --cached.size;
  CHECK(penstock_loader_get_cached(loader.get(), &cached) == EINVAL);
}

TEST_CASE("invalid lists of nodes are refused") {
  leave_slurm();
  ::setenv("SLURMD_NODENAME", "n1", 1);
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.cache_peers = "n[1-2]";
  check_refused(options, EINVAL, "give cache_bytes");
  options.cache_bytes = 1 << 20;
  options.cache_peers = "";
  check_refused(options, EINVAL, "cache_peers is empty");
  options.cache_peers = "n[1-";
  check_refused(options, EINVAL, "a [ without its ]");
  options.cache_peers = "n[2-3]";
  check_refused(options, EINVAL, "\"n1\", is none of the cache's 2 nodes");
}

TEST_CASE("outside a job the node's cache has no peers") {
  leave_slurm();
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.cache_bytes = 1 << 20;
  options.cache_peers = "auto";
  const Loader loader = opened(options);
  CHECK(penstock_loader_check_cache(loader.get()) == ENOENT);
  CHECK_THAT(penstock_loader_error(),
             ContainsSubstring("without other nodes' caches: no SLURM_JOB"));
  CHECK(take_epoch(loader) == all_samples());
}

TEST_CASE("without munge the node's cache has no peers") {
  if (is_missing()) return;
  leave_slurm();
  enter_own_run_folder("/nowhere");
  ::setenv("SLURMD_NODENAME", "127.0.0.2", 1);
  const Folder folder;
  folder.hold_caches();
  Options options(folder);
  options.cache_bytes = 1 << 20;
  options.cache_peers = "127.0.0.[2-3]";
  const Loader loader = opened(options);
  CHECK(penstock_loader_check_cache(loader.get()) == EIO);
  CHECK_THAT(penstock_loader_error(),
             ContainsSubstring("systemctl start munge"));
  CHECK(take_epoch(loader) == all_samples());
}

TEST_CASE("a sample that one node has read is available to all nodes") {
  if (is_missing()) return;
  leave_slurm();
  const PrivateMunge munge;
  enter_own_run_folder(munge.socket());
  const int port = 20000 + ::getpid() % 500 * 20;
  const std::string ports =
      std::to_string(port) + "-" + std::to_string(port + 19);
  ::setenv("PENSTOCK_CACHE_PORTS", ports.c_str(), 1);
  const Folder folder;
  Options options(folder);
  options.cache_bytes = 1 << 20;
  options.cache_peers = "127.0.0.[2-3]";
  const auto open_both = [&] {
    std::vector<Loader> nodes;
    for (const char* name : {"127.0.0.2", "127.0.0.3"}) {
      ::setenv("SLURMD_NODENAME", name, 1);
      folder.hold_caches(name);
      nodes.push_back(opened(options));
    }
    return nodes;
  };
  const std::vector<Loader> before = open_both();
  for (const Loader& node : before) CHECK(take_epoch(node) == all_samples());
  // A sample reaches its owner shortly after it was read.
  uint64_t read = UINT64_MAX;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  while (read != 0 && std::chrono::steady_clock::now() < end) {
    const std::vector<Loader> nodes = open_both();
    uint64_t peer_samples = 0;
    read = 0;
    for (const Loader& node : nodes) {
      CHECK(take_epoch(node) == all_samples());
      read += counters_of(node).bytes;
      CHECK(cached_of(node).samples >= cached_of(node).peer_samples);
      CHECK(cached_of(node).peer_bytes ==
            cached_of(node).peer_samples * (kRecordBytes - 1));
      peer_samples += cached_of(node).peer_samples;
    }
    if (read == 0) CHECK(peer_samples >= kRecords);
  }
  CHECK(read == 0);
}
