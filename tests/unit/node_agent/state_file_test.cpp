#include "node_agent/state_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

SavedTask sample() {
  SavedTask task;
  task.start.job_id = 12;
  task.start.task_id = 3;
  task.start.uid = 1000;
  task.start.pid = 4711;
  std::memset(task.start.options.match, '\xff', 5);  // any bytes
  std::strcpy(task.start.options.model, "resnet50");
  task.start.options.bw_bytes_per_s = 1ull << 40;
  task.home.task = {4711, 99};
  task.home.cpuset_path = "/slurm_n1/uid_1000/job_12/step_0";
  task.home.cpu_path = "/";
  task.home.affinity = CpuSet({2, 3, 7});
  task.job_started_unix_s = 1.7e9;
  task.loader_cpus = CpuSet({3});
  task.pinned_tids = {4713, 4720};
  task.origin = {"physics\xff", "gpu"};  // any bytes
  task.hanging = {{4712, 1ull << 40}};
  return task;
}

struct TemporaryDir {
  TemporaryDir() {
    char name[] = "/tmp/penstock-state-XXXXXX";
    path = ::mkdtemp(name);
    fd.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY));
  }
  ~TemporaryDir() { (void)!std::system(("rm -r " + path).c_str()); }
  std::string path;
  UniqueFd fd;
};

}  // namespace

TEST_CASE("saved tasks are loaded unchanged") {
  TemporaryDir dir;
  REQUIRE(save_tasks(dir.fd.get(), {sample()}).ok());
  auto loaded = load_tasks(dir.fd.get());
  REQUIRE(loaded.ok());
  REQUIRE(loaded->size() == 1);
  const SavedTask& task = loaded->front();
  CHECK(task.start.job_id == 12);
  CHECK(task.origin == sample().origin);
  const SavedTask expected = sample();
  CHECK(std::memcmp(&task.start.options, &expected.start.options,
                    sizeof task.start.options) == 0);
  CHECK(task.home.task == TaskId{4711, 99});
  CHECK(task.home.affinity == CpuSet({2, 3, 7}));
  CHECK(task.home.cpuset_path == sample().home.cpuset_path);
  CHECK(task.loader_cpus == CpuSet({3}));
  CHECK(task.hanging == sample().hanging);
  CHECK(task.pinned_tids == std::set<pid_t>{4713, 4720});
}

TEST_CASE("if the disk is full, saving fails and the old file stays") {
  TemporaryDir dir;
  REQUIRE(save_tasks(dir.fd.get(), {sample()}).ok());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 1000;  // the first write is short, the second fails
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status saved =
      save_tasks(dir.fd.get(), std::vector<SavedTask>(100, sample()));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(saved);
  CHECK(saved.error().message.find("cannot write tasks.json") !=
        std::string::npos);
  auto loaded = load_tasks(dir.fd.get());
  REQUIRE(loaded.ok());
  CHECK(loaded->size() == 1);
  CHECK(::faccessat(dir.fd.get(), "tasks.json.new", F_OK, 0) != 0);
}

TEST_CASE("a file of an older penstockd, with fewer fields, is loaded") {
  SavedTask task = sample();
  task.origin = {};
  task.hanging.clear();
  std::string text = to_json({task});
  for (const std::string key :
       {R"("account":[],)", R"("partition":[],)", R"("hanging":[],)"}) {
    REQUIRE(text.find(key) != std::string::npos);
    text.erase(text.find(key), key.size());
  }
  auto loaded = parse_saved_tasks(text);
  REQUIRE(loaded.ok());
  CHECK(loaded->front().origin == JobOrigin{});
}

TEST_CASE("a missing file gives no tasks") {
  TemporaryDir dir;
  auto loaded = load_tasks(dir.fd.get());
  REQUIRE(loaded.ok());
  CHECK(loaded->empty());
}

TEST_CASE("malformed, truncated and unknown versions of the file are refused") {
  CHECK_FALSE(parse_saved_tasks("").ok());
  CHECK_FALSE(parse_saved_tasks("[]").ok());
  CHECK_FALSE(parse_saved_tasks(R"({"version": 2, "tasks": []})").ok());
  CHECK_FALSE(parse_saved_tasks(R"({"version": 1, "tasks": [{}]})").ok());
  std::string cut = to_json({sample()});
  cut.resize(cut.size() / 2);
  CHECK_FALSE(parse_saved_tasks(cut).ok());
}

TEST_CASE("a link in the state directory is not followed") {
  TemporaryDir dir;
  REQUIRE(::symlinkat("/etc/passwd", dir.fd.get(), "tasks.json") == 0);
  CHECK_FALSE(load_tasks(dir.fd.get()).ok());
}

TEST_CASE("a failed write leaves the old file intact") {
  TemporaryDir dir;
  REQUIRE(save_tasks(dir.fd.get(), {sample()}).ok());
  // A directory where the new file should be made.
  REQUIRE(::mkdirat(dir.fd.get(), "tasks.json.new", 0700) == 0);
  CHECK_FALSE(save_tasks(dir.fd.get(), {}).ok());
  CHECK(load_tasks(dir.fd.get())->size() == 1);
}
