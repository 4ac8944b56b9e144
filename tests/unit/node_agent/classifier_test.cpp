#include "node_agent/plan/classifier.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

struct Described {
  ProcessView view;
  std::string command_line;
};

Described process(int pid, int parent, std::string comm,
                  std::string command_line,
                  std::vector<ThreadView> threads = {}) {
  if (threads.empty()) threads = {{pid, comm}};
  return {{pid, parent, 0, std::move(comm), {}, std::move(threads)},
          std::move(command_line)};
}

TaskView task_of(std::vector<Described> processes, std::string match = "") {
  TaskView task;
  task.root_pid = processes.front().view.pid;
  task.match = std::move(match);
  for (Described& process : processes) {
    process.view.command = facts_of(process.command_line, task.match);
    task.processes.push_back(std::move(process.view));
  }
  return task;
}

std::vector<int> ids(const Classification& found) {
  std::vector<int> list;
  for (const LoaderUnit& unit : found.units) list.push_back(unit.tids.front());
  return list;
}

}  // namespace

TEST_CASE("a trainer alone has no loader") {
  auto found = classify(task_of({process(10, 1, "python3", "python3 t.py")}));
  CHECK(found.source == LoaderEvidence::kNone);
  CHECK(found.units.empty());
}

TEST_CASE("registered threads are exact and take precedence over names") {
  TaskView task = task_of(
      {process(10, 1, "train", "train",
               {{10, "train"}, {11, "pst_loader_0"}, {12, "[DALI][TP0]"}})});
  task.registered_tids = {11};
  auto found = classify(task);
  CHECK(found.source == LoaderEvidence::kRegistered);
  CHECK(ids(found) == std::vector{11});
  CHECK_FALSE(found.units[0].whole_process);
}

TEST_CASE(
    "--loader-match selects a trainer's main thread only without other "
    "matches") {
  TaskView task = task_of({process(10, 1, "python3", "python3 t.py"),
                           process(20, 10, "python3", "python3 t.py"),
                           process(30, 1, "python3", "python3 t.py")},
                          "python3*");
  task.greeting_pids = {30};
  CHECK(ids(classify(task)) == std::vector{20});
}

TEST_CASE("a registered worker process moves with all its threads") {
  TaskView task = task_of({process(10, 1, "python3", "python3 t.py"),
                           process(20, 10, "python3", "python3 t.py",
                                   {{20, "python3"}, {21, "python3"}})});
  task.registered_tids = {20};
  auto found = classify(task);
  REQUIRE(found.units.size() == 1);
  CHECK(found.units[0].whole_process);
  CHECK(found.units[0].tids == std::vector{20, 21});
}

TEST_CASE("forked workers of Debian's PyTorch are found by their parent") {
  auto found = classify(task_of({
      process(5, 1, "slurm_script", "/bin/bash script"),
      process(10, 5, "python3", "python3 train.py"),
      process(20, 10, "python3", "python3 train.py"),
      process(21, 10, "python3", "python3 train.py"),
      process(30, 10, "nvidia-smi", "nvidia-smi"),
  }));
  CHECK(found.source == LoaderEvidence::kParentage);
  CHECK(ids(found) == std::vector{20, 21});
}

TEST_CASE("forked trainers do not count as loaders") {
  TaskView task = task_of({
      process(10, 1, "python3", "python3 train.py"),
      process(11, 10, "python3", "python3 train.py"),  // rank 0
      process(20, 11, "python3", "python3 train.py"),  // its worker
      process(12, 10, "python3", "python3 train.py"),  // rank 1: greets
  });
  task.greeting_pids = {12};
  CHECK(ids(classify(task)) == std::vector{20});
}

namespace {

const char* const kSpawned =
    "python3 -c from multiprocessing.spawn import spawn_main; x";
const char* const kForkServer =
    "python3 -c from multiprocessing.forkserver import main; main(5)";

}  // namespace

TEST_CASE("workers of spawned trainers are loaders, the trainers are not") {
  // torch.multiprocessing.spawn: the first process only waits for its trainers.
  const std::string worker = GENERATE("python3", "pt_data_worker");
  const bool forked = GENERATE(true, false);
  const std::string line = forked ? kSpawned : std::string(kSpawned) + "2";
  auto found = classify(task_of({
      process(10, 1, "python3", "python3 main.py"),
      process(11, 10, "python3", "python3 -c resource_tracker"),
      process(20, 10, "python3", kSpawned),
      process(21, 10, "python3", kSpawned),
      process(30, 20, worker, line),
      process(31, 20, worker, line),
      process(32, 21, worker, line),
  }));
  CHECK(ids(found) == std::vector{30, 31, 32});
}

TEST_CASE("a spawned trainer with a fork server does not count as a loader") {
  auto found = classify(task_of({
      process(10, 1, "python3", "python3 main.py"),
      process(20, 10, "python3", kSpawned),
      process(25, 20, "python3", kForkServer),
      process(30, 25, "python3", kForkServer),
      process(31, 25, "python3", kForkServer),
  }));
  CHECK(ids(found) == std::vector{30, 31});
}

TEST_CASE("a loader stays one while its new child may still exec a program") {
  const std::string line =
      GENERATE(as<std::string>{}, kSpawned, "python3 main.py");
  TaskView task = task_of({
      process(10, 1, "python3", "python3 main.py"),
      process(20, 10, "python3", line),
      process(21, 20, "python3", line),  // about to exec ffmpeg
  });
  task.loader_pids = task.seen_pids = {20};
  auto found = classify(task);
  CHECK(ids(found).front() == 20);
  CHECK(found.undecided);
  CHECK_FALSE(found.trainer_pids.contains(20));
  task.seen_pids = {10, 20, 21};  // it never did: a worker
  found = classify(task);
  CHECK(ids(found) == std::vector{21});
  CHECK(found.trainer_pids.contains(20));
  CHECK_FALSE(found.undecided);
}

TEST_CASE("--loader-match makes a process a loader even if it has workers") {
  TaskView task = task_of({process(10, 1, "train", "train"),
                           process(20, 10, "python3", "python3 serve.py"),
                           process(30, 20, "python3", "python3 serve.py")},
                          "python3 serve.py");
  task.trainer_pids = {20};
  CHECK(ids(classify(task)) == std::vector{20, 30});
}

TEST_CASE("a trainer without workers between two epochs stays a trainer") {
  TaskView task = task_of({
      process(10, 1, "python3", "python3 main.py"),
      process(20, 10, "python3", kSpawned),
      process(21, 10, "python3", kSpawned),
      process(30, 21, "python3", kSpawned),
  });
  task.trainer_pids = {20};
  CHECK(ids(classify(task)) == std::vector{30});
  task.processes.pop_back();
  task.trainer_pids = {20, 21};
  CHECK(classify(task).units.empty());
}

TEST_CASE(
    "threads named by PyTorch or DALI and spawned workers are recognized") {
  auto found = classify(task_of({
      process(10, 1, "python3", "python3 t.py",
              {{10, "python3"},
               {11, "pt_data_pin"},
               {12, "pt_nccl_gil_chk"},
               {13, "[DALI][NT0]"}}),
      process(20, 10, "pt_data_worker", "python3 t.py"),
      process(21, 10, "pt_multiprocess", "python3 t.py"),
      process(22, 10, "python3",
              "python3 -c from multiprocessing.spawn import spawn_main; x"),
      process(23, 10, "pt_elastic", "python3 t.py"),
  }));
  CHECK(found.source == LoaderEvidence::kNames);
  CHECK(ids(found) == std::vector{11, 13, 20, 21, 22});
}

TEST_CASE(
    "threads and tasks named by DALI, grain and Ray Data are recognized") {
  // Named as in runs of DALI 2.4, Ray 2.60; grain's as cut by the kernel.
  auto found = classify(task_of({
      process(10, 1, "python3", "python3 t.py",
              {{10, "python3"},
               {11, "[DALI] Executor"},
               {12, "[DALI][WT]Input"},
               {13, "[DALI][TP0]Exec"},
               {14, "grain-prefetch_"},
               {15, "grain-thread-pr"},
               {16, "tf_Compute"}}),
      process(20, 10, "raylet", "raylet"),
      process(21, 20, "ray::ReadRange", "ray::ReadRange"),
      process(22, 20, "ray::MapWorker(", "ray::MapWorker(MapBatches(f))"),
      process(23, 20, "ray::Filter(<la", "ray::Filter(<lambda>)->FlatMap(f)"),
      process(24, 20, "ray::IDLE", "ray::IDLE"),
      process(25, 20, "ray::RayTrainWo", "ray::RayTrainWorker.execute"),
  }));
  CHECK(found.source == LoaderEvidence::kNames);
  CHECK(ids(found) == std::vector{11, 12, 13, 14, 15, 21, 22, 23});
}

TEST_CASE("--loader-match matches thread names and command lines") {
  const auto matching = [](const char* pattern) {
    return classify(task_of(
        {process(10, 1, "app", "app --feed", {{10, "app"}, {11, "reader-1"}}),
         process(20, 10, "feeder", "feeder --cache 3")},
        pattern));
  };
  CHECK(ids(matching("reader-*")) == std::vector{11});
  CHECK(ids(matching("feeder --cache ?")) == std::vector{20});
  // Never the whole first process: the trainer is in it.
  auto found = matching("app*");
  CHECK(ids(found) == std::vector{10});
  CHECK_FALSE(found.units[0].whole_process);
}

TEST_CASE("a command line is compared by its arguments") {
  const std::string_view with_nul("python3\0t.py\0", 14);
  const CommandFacts facts = facts_of(std::string(with_nul), "python3 t.*");
  CHECK(facts.matches);
  CHECK(facts.hash == facts_of("python3 t.py", "").hash);
  CHECK(facts.hash != facts_of("python3 u.py", "").hash);
}

TEST_CASE("an unknown command line is like no other") {
  CHECK(facts_of("", "*").hash == 0);
  CHECK_FALSE(facts_of("", "*").matches);
  const auto found = classify(
      task_of({process(10, 1, "python3", ""), process(20, 10, "python3", "")}));
  CHECK(found.units.empty());
}

TEST_CASE("each process of a guest is one unit") {
  const TaskView task =
      task_of({process(10, 1, "sh", "sh"),
               process(11, 10, "make", "make", {{11, "make"}, {12, "make"}})});
  const Classification found = all_processes(task);
  CHECK(found.source == LoaderEvidence::kGuest);
  CHECK(ids(found) == std::vector{10, 11});
  CHECK(found.units[0].whole_process);
  CHECK(found.units[1].tids == std::vector{11, 12});
  CHECK(found.trainer_pids.empty());
}
