// What the tests start with mpirun:
//   make DB             writes a database and its sidecar
//   check DB RANKS      reads it in every way, RANKS of a node sharing a buffer
//                       (0: all), and compares with liblmdb's cursor
//   fail DB RANKS KIND TURNS
//                       reads until KIND happens in the fourth step: `kill`
//                       (rank 1 dies), `leader` (rank 0 dies), `truncate`,
//                       `write`, `close` (rank 1 closes its reader); nodes
//                       take turns if TURNS is 1
//   paced DB            reads at 4 MB/s and rank, the first one for all
//   epochs DB           reads 50 epochs, whose memory does not grow
//   cancel DB           has a reading thread whose reads are cancelled
//   refuse DB KIND      tries to create a reader that cannot be
//   differ DB RANK      two read a file larger than the page cache, of whom
//                       RANK cannot past it
//   room DB             reads, without sizes (dm off), what just has room
//   large DB            so a record that has none
// Prints a line per rank: "ok", or the error's code and message.
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "common/checksum.h"
#include "common/clock.h"
#include "loader/lmdb/mpi/lmdb_reader.h"
#include "loader/lmdb/mpi/patient_comm.h"
#include "loader/lmdb/mpi/reading_thread.h"
#include "loader/lmdb/sidecar_file.h"
#include "penstock/loader/epoch_order.h"
#include "tests/unit/lmdb/lmdb_files.h"
#include "tests/unit/lmdb/refused_call.h"
#include "tests/unit/lmdb_mpi/own_memory.h"
#include "tests/unit/lmdb_mpi/sanitized_mpi.h"

using namespace penstock;
using namespace penstock::lmdb;
using namespace penstock::test;

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

[[noreturn]] void end_with(const std::string& text, int code) {
  std::printf("rank %d: %s\n", world_rank(), text.c_str());
  std::fflush(stdout);
  ::_exit(code);
}

[[noreturn]] void end_with(const Error& error) {
  end_with("error " + std::to_string(static_cast<int>(error.code)) + ": " +
               error.message,
           3);
}

void make(const std::string& file) {
  std::mt19937_64 random(5);
  std::vector<size_t> sizes;
  for (int i = 0; i < 1201; ++i) {
    sizes.push_back(i % 3 == 0 ? random() % 1500 : random() % 40000);
    if (i % 20 == 0) sizes.back() = 0;
  }
  write_lmdb(file, sizes, 100);
  const auto database = Database::open(file, {});
  if (!database) end_with(database.error());
  const auto written = write_sidecar(*database);
  if (!written) end_with(written.error());
}

// Options that differ in how they read, by name.
std::map<std::string, ReaderOptions> ways() {
  ReaderOptions lmm;
  lmm.dm = lmm.dio = lmm.prov = lmm.coal = lmm.map_cached = false;
  lmm.batch_records = 3;
  ReaderOptions dm = lmm;
  dm.dm = true;
  ReaderOptions dio = dm;
  dio.dio = true;
  ReaderOptions prov = dio, dm_prov = dm, coal = dio;
  prov.prov = dm_prov.prov = coal.coal = true;
  ReaderOptions stag = coal, direct = coal, all = coal, readers = coal;
  ReaderOptions wide = coal, small = coal, direct_dio = dio;
  stag.stag = true;
  direct.direct = direct_dio.direct = DirectReads::kOn;
  all.prov = all.map_cached = all.stag = true;
  readers.readers_per_node = 2;
  wide.stag = true;
  wide.stagger_width = 2;
  small.buffer_bytes = 7 << 20;
  std::map<std::string, ReaderOptions> all_ways{{"lmm", lmm},
                                                {"dm", dm},
                                                {"dio", dio},
                                                {"prov", prov},
                                                {"coal", coal},
                                                {"dm,prov", dm_prov},
                                                {"stag", stag},
                                                {"direct", direct},
                                                {"all", all},
                                                {"readers", readers},
                                                {"wide", wide},
                                                {"small", small},
                                                {"direct dio", direct_dio}};
  std::map<std::string, ReaderOptions> out = all_ways;
  for (auto [name, options] : all_ways) {
    if (!options.dm) continue;
    options.shuffle = true;
    options.seed = 9;
    out[name + " shuffled"] = options;
  }
  return out;
}

struct Seen {
  uint64_t epoch, step, rank, index, bytes, hash;
};

std::string read_all(const std::string& file, const ReaderOptions& options,
                     ReaderFacts* facts = nullptr) {
  auto reader = LmdbReader::create(MPI_COMM_WORLD, file, options);
  if (!reader) end_with(reader.error());
  if (facts != nullptr) *facts = (*reader)->facts();
  std::string out;
  while (true) {
    auto batch = (*reader)->next();
    if (!batch) end_with(batch.error());
    if (!batch->has_value()) return out;
    for (const RecordView& view : (*batch)->records) {
      const Seen seen{
          (*batch)->epoch,
          (*batch)->step,
          static_cast<uint64_t>(world_rank()),
          view.index,
          view.bytes,
          checksum({reinterpret_cast<const char*>(view.data), view.bytes})};
      out.append(reinterpret_cast<const char*>(&seen), sizeof seen);
    }
  }
}

// Checks that the records, by step and rank, are in the epoch's order and equal
// those of the cursor.
void compare(const std::string& name, const std::string& text,
             const std::vector<HashedRecord>& records,
             const ReaderOptions& options) {
  std::vector<Seen> seen(text.size() / sizeof(Seen));
  std::memcpy(seen.data(), text.data(), text.size());
  std::stable_sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
    return std::tie(a.epoch, a.step, a.rank) <
           std::tie(b.epoch, b.step, b.rank);
  });
  // Within a rank's step the records come in the order of delivery.
  if (seen.size() != records.size() * options.epochs) {
    end_with(name + ": " + std::to_string(seen.size()) + " records", 4);
  }
  const EpochOrder order(records.size(), options.seed);
  for (size_t i = 0; i < seen.size(); ++i) {
    const uint64_t epoch = i / records.size(), at = i % records.size();
    const uint64_t index = options.shuffle ? order.sample_at(epoch, at) : at;
    const HashedRecord& record = records[index];
    if (seen[i].epoch != epoch || seen[i].index != index ||
        seen[i].bytes != record.bytes || seen[i].hash != record.hash) {
      end_with(name + ": record " + std::to_string(i) + " differs", 4);
    }
  }
}

PatientComm patient_world() {
  auto world = PatientComm::duplicate(MPI_COMM_WORLD, 60000);
  if (!world) end_with(world.error());
  return *std::move(world);
}

void compare_all(const std::string& name, PatientComm& world,
                 const std::string& file, const ReaderOptions& options,
                 ReaderFacts* facts = nullptr) {
  auto text = world.gather_bytes(read_all(file, options, facts));
  if (!text) end_with(text.error());
  if (world_rank() > 0) return;
  compare(name, *text, records_by_liblmdb(file), options);
}

// Returns all ranks' communicator after the first rank has written the file.
PatientComm write_first(const std::string& file,
                        const std::vector<size_t>& sizes) {
  PatientComm world = patient_world();
  if (world_rank() == 0) write_lmdb(file, sizes);
  if (Status ok = world.barrier(); !ok) end_with(ok.error());
  return world;
}

void differ(const std::string& file, int rank) {
  PatientComm world = write_first(file, std::vector<size_t>(5000, 2000));
  const off_t memory_bytes =
      ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  // All ranks extend the file to the same length.
  if (::truncate(file.c_str(), 2 * memory_bytes) != 0) end_with("truncate", 5);
  if (world_rank() == rank &&
      !refuse_call(SYS_openat, EINVAL, {2, O_DIRECT, O_DIRECT})) {
    end_with("seccomp", 5);
  }
  if (Status ok = world.barrier(); !ok) end_with(ok.error());
  ReaderOptions options;
  options.readers_per_node = 2;
  options.shuffle = true;
  options.coal = options.map_cached = false;
  ReaderFacts facts;
  compare_all("differ", world, file, options, &facts);
  if (facts.is_direct != (rank > 1 && facts.is_reading)) {
    end_with(facts.is_direct ? "direct" : "not direct", 4);
  }
}

// The first records need the largest possible step, the others little.
void read_without_sizes(const std::string& file, std::vector<size_t> sizes,
                        size_t records, uint32_t batch_records) {
  sizes.resize(records, 1);
  PatientComm world = write_first(file, sizes);
  ReaderOptions options;
  options.dm = options.dio = options.prov = options.coal = false;
  options.map_cached = false;
  options.batch_records = batch_records;
  options.buffer_bytes = 1 << 20;
  compare_all(std::to_string(sizes[0]), world, file, options);
}

void check(const std::string& file, uint32_t ranks_per_buffer) {
  PatientComm world = patient_world();
  for (auto [name, options] : ways()) {
    options.epochs = 2;
    options.ranks_per_buffer = ranks_per_buffer;
    options.peer_timeout_ms = 60000;
    compare_all(name, world, file, options);
  }
}

void happen(const std::string& kind, const std::string& file,
            std::unique_ptr<LmdbReader>& reader) {
  const int rank = world_rank();
  if ((kind == "kill" && rank == 1) || (kind == "leader" && rank == 0)) {
    ::kill(::getpid(), SIGKILL);
  }
  if (kind == "truncate" && rank == 0 && ::truncate(file.c_str(), 8192) != 0) {
    end_with("truncate", 5);
  }
  if (kind == "write" && rank == 0) {
    LmdbWriter writer(file);
    for (int i = 0; i < 3; ++i) {
      writer.begin();
      writer.put("new", std::to_string(i));
      writer.commit();
    }
  }
  if (kind == "close" && rank == 1) {
    // Other ranks may still be in next(): this rank ends alone.
    reader.reset();
    end_with("closed", 0);
  }
}

void fail(const std::string& file, uint32_t ranks_per_buffer,
          const std::string& kind, bool takes_turns) {
  ReaderOptions options;
  options.epochs = 0;
  options.batch_records = 2;
  options.ranks_per_buffer = ranks_per_buffer;
  options.buffer_bytes = 8 << 20;
  options.map_cached = kind == "write";
  options.stag = takes_turns;
  options.peer_timeout_ms = 5000;
  auto reader = LmdbReader::create(MPI_COMM_WORLD, file, options);
  if (!reader) end_with(reader.error());
  for (int step = 0; step < 100000; ++step) {
    if (step == 3) happen(kind, file, *reader);
    auto batch = (*reader)->next();
    if (!batch) {
      if ((*reader)->next()) end_with("it goes on after an error", 4);
      end_with(batch.error());
    }
    // The chunk continues, and the writer may have overwritten its pages.
    if (kind == "write" && step == 3 && world_rank() == 0) {
      end_with("a batch of what is overwritten", 4);
    }
  }
  end_with("nothing happened", 4);
}

// Makes every thread fail to start: its stack is too large.
void refuse_threads() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, size_t{1} << 47);
  ::pthread_setattr_default_np(&attributes);
}

void refuse(const std::string& file, const std::string& kind) {
  ReaderOptions options;
  std::string path = file;
  if (kind == "buffer") options.buffer_bytes = 100000;
  if (kind == "memory") {
    options.buffer_bytes = 4 << 20;
    options.batch_records = 2;
    const rlimit limit{65536,
                       65536};  // limits files, and thereby MPI's shared memory
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (kind == "options" && world_rank() == 1) options.seed = 1;
  if (kind == "missing" && world_rank() == 1) path += ".missing";
  if (kind == "other" && world_rank() == 1) path += ".other";
  if (kind == "switches") options.dm = false;
  if (kind == "buffers" && world_rank() == 1) options.ranks_per_buffer = 1;
  if (kind == "threads" && world_rank() == 0) refuse_threads();
  if (kind == "descriptors") {
    options.readers_per_node = 2;
    constexpr RefusedArgument kDuplicate{1, UINT32_MAX, F_DUPFD_CLOEXEC};
    if (world_rank() == 1) refuse_call(SYS_fcntl, EMFILE, kDuplicate);
  }
  if (kind == "absent") {
    options.peer_timeout_ms = 1000;
    if (world_rank() == 1) {
      ::sleep(3);
      end_with("absent", 0);
    }
  }
  auto reader = LmdbReader::create(MPI_COMM_WORLD, path, options);
  if (!reader) end_with(reader.error());
  end_with("was not refused", 4);
}

void paced(const std::string& file) {
  PipelineLink link;
  link.hint = [] { return std::optional<PipelineHint>({1, 4000000}); };
  ReaderOptions options;
  options.direct = DirectReads::kOn;
  options.map_cached = false;
  options.batch_records = 2;
  options.buffer_bytes = 4 << 20;
  const uint64_t begin_ns = monotonic_ns();
  auto reader = LmdbReader::create(MPI_COMM_WORLD, file, options, link);
  if (!reader) end_with(reader.error());
  while (true) {
    auto batch = (*reader)->next();
    if (!batch) end_with(batch.error());
    if (!batch->has_value()) break;
  }
  if (world_rank() != 0) return;
  const double seconds = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  const ReadCounts counts = (*reader)->counts();
  // Less the burst of 0.1 s and the debt of two threads.
  const double owed = 1.6e6 + 2.0 * (4 << 20);
  const double least = (static_cast<double>(counts.read_bytes) - owed) / 16e6;
  const double fetch = static_cast<double>(counts.fetch_ns) * 1e-9;
  if (seconds < least || least < 0.3 || fetch < seconds / 2) {
    end_with(std::to_string(counts.read_bytes) + " bytes in " +
                 std::to_string(seconds) + " s, of which " +
                 std::to_string(fetch) + " fetched",
             4);
  }
}

void keep_to(const char* what, uint64_t bytes, uint64_t bound_bytes) {
  if (bytes <= bound_bytes) return;
  end_with(std::string(what) + " of " + std::to_string(bytes) +
               " bytes, more than " + std::to_string(bound_bytes),
           4);
}

void read_epochs(const std::string& file, const ReaderOptions& options) {
  const uint64_t shared_before = memory_bytes("RssShmem");
  uint64_t early = 0;
  auto reader = LmdbReader::create(MPI_COMM_WORLD, file, options);
  if (!reader) end_with(reader.error());
  while (true) {
    auto batch = (*reader)->next();
    if (!batch) end_with(batch.error());
    if (!batch->has_value()) break;
    if ((*batch)->epoch == 2 && early == 0) early = memory_bytes("RssAnon");
  }
  if (kMemoryIsOurs) {
    keep_to("memory after 50 epochs", memory_bytes("RssAnon"),
            early + (1 << 20));
  }
  // MPI allocates a few MB of shared memory when needed.
  keep_to("shared memory", memory_bytes("RssShmem"),
          shared_before + (*reader)->facts().buffer_bytes + (8 << 20));
}

void epochs(const std::string& file) {
  ReaderOptions options;
  options.epochs = 50;
  options.shuffle = true;
  options.buffer_bytes = 24 << 20;
  read_epochs(file, options);
  options.direct = DirectReads::kOn;
  options.map_cached = false;
  read_epochs(file, options);
}

class CancelledSource : public ChunkSource {
 public:
  Result<bool> fill(const StepChunk&, std::span<SlotEntry>,
                    const Room&) override {
    return Error{Code::kIo, ECANCELED, "the read was cancelled"};
  }
};

// Makes a reading thread's read return ECANCELED.
void cancel() {
  auto world = ReaderWorld::make(MPI_COMM_WORLD, 60000);
  if (!world) end_with(world.error());
  if (Status ok = world->find_node(0); !ok) end_with(ok.error());
  world->place_nodes({world->leader()});
  const RingShape shape{1, 2, 2, 1, RingShape::kDataAlignment};
  std::vector<uint8_t> memory(shape.window_bytes() + RingShape::kDataAlignment);
  void* aligned = memory.data();
  size_t room = memory.size();
  std::align(RingShape::kDataAlignment, shape.window_bytes(), aligned, room);
  NodeShare share(*world, NodeRing(static_cast<uint8_t*>(aligned), shape), {});
  const RunPlan plan{{10, 1, 1, 1}, {}, false, EpochOrder(10, 0)};
  ReadPacer pacer({}, 1);
  ReadingThread thread(share, plan, pacer, std::make_unique<CancelledSource>(),
                       {.chunks = {0, 1, 10}, .tokens = {}});
  thread.begin();
  int looks = 0;
  const Status full = share.ring().wait_full(0, [&]() -> Status {
    if (++looks < 20) return Done{};
    return Error{Code::kUnavailable, 0, "nobody was told"};
  });
  if (!share.is_failed()) end_with("taken for a reader that closes", 4);
  if (!full) end_with(full.error());
}

void run(const std::vector<std::string>& words) {
  const std::string& mode = words[0];
  if (mode == "cancel") {
    cancel();
  } else if (mode == "make") {
    make(words[1]);
  } else if (mode == "check") {
    check(words[1], static_cast<uint32_t>(std::stoul(words.at(2))));
  } else if (mode == "fail") {
    fail(words[1], static_cast<uint32_t>(std::stoul(words.at(2))), words.at(3),
         words.at(4) == "1");
  } else if (mode == "paced") {
    paced(words[1]);
  } else if (mode == "epochs") {
    epochs(words[1]);
  } else if (mode == "refuse") {
    refuse(words[1], words.at(2));
  } else if (mode == "differ") {
    differ(words[1] + ".differ" + words.at(2), std::stoi(words.at(2)));
  } else if (mode == "room") {
    read_without_sizes(words[1] + ".4k", std::vector<size_t>(120, 4000), 1200,
                       8);
    read_without_sizes(words[1] + ".150k", std::vector<size_t>(50, 150000), 100,
                       1);
  } else if (mode == "large") {
    read_without_sizes(words[1] + ".large", {400000}, 100, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int level = 0;
  init_mpi(argc, argv, level);
  run({argv + 1, argv + argc});
  // Before the end of MPI: once its modules are unloaded, the pointers to their
  // memory are gone.
  std::printf("rank %d of %d: %s\n", world_rank(), world_size(),
              has_leaks() ? "memory leaks" : "ok");
  std::fflush(stdout);
  MPI_Finalize();
  ::_exit(0);
}
