#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "bench/lmdb/bench_options.h"
#include "bench/lmdb/rank_result.h"
#include "bench/lmdb/stock_reader.h"
#include "common/clock.h"
#include "common/unique_fd.h"
#include "loader/lmdb/lmdb_database.h"
#include "loader/lmdb/mpi/lmdb_reader.h"
#include "loader/lmdb/mpi/patient_comm.h"

namespace penstock::lmdb {
namespace {

constexpr uint32_t kStart_ms = 600000;

// fsync() first: POSIX_FADV_DONTNEED keeps dirty pages.
Status drop_cached(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return Done{};
  if (!fd) return system_error(errno, path);
  if (::fsync(fd.get()) != 0) return system_error(errno, path);
  const int code = ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (code != 0) return system_error(code, path);
  return Done{};
}

double seconds_since(uint64_t begin_ns) {
  return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
}

Status read_ours(const BenchOptions& options, uint64_t begin_ns,
                 RankResult& result) {
  auto reader =
      LmdbReader::create(MPI_COMM_WORLD, options.path, options.reader);
  if (!reader) return std::move(reader).error();
  result.open_s = seconds_since(begin_ns);
  while (true) {
    Result<std::optional<RecordBatch>> batch = (*reader)->next();
    if (!batch) return std::move(batch).error();
    if (!batch->has_value()) break;
    for (const RecordView& view : (*batch)->records) {
      result.add({view.data, view.bytes});
    }
  }
  result.seconds = seconds_since(begin_ns);
  result.counts = (*reader)->counts();
  result.facts = (*reader)->facts();
  return Done{};
}

Status run(const BenchOptions& options, PatientComm& world,
           RankResult& result) {
  Result<DataFile> file = open_data_file(options.path);
  if (!file) return std::move(file).error();
  std::vector<std::string> keys;
  if (options.is_stock && options.reader.shuffle) {
    Result<std::vector<std::string>> listed = list_keys(file->path);
    if (!listed) return std::move(listed).error();
    keys = *std::move(listed);
  }
  if (Status ok = world.barrier(); !ok) return ok;
  if (options.is_cold && world.rank() == 0) {
    for (const std::string& path : {file->path, sidecar_path(file->path)}) {
      if (Status ok = drop_cached(path); !ok) return ok;
    }
  }
  if (Status ok = world.barrier(); !ok) return ok;
  const uint64_t begin_ns = monotonic_ns(), cpu_ns = process_cpu_ns();
  StockTime time{begin_ns};
  if (options.stock_limit_s > 0) {
    time.end_ns = begin_ns + static_cast<uint64_t>(options.stock_limit_s * 1e9);
  }
  Status read = options.is_stock
                    ? read_stock(file->path, options.reader, time, world.rank(),
                                 world.size(), keys, result)
                    : read_ours(options, begin_ns, result);
  result.cpu_s = static_cast<double>(process_cpu_ns() - cpu_ns) * 1e-9;
  return read;
}

// Exits without MPI_Finalize(), which would wait for ranks that are dead or
// waiting.
[[noreturn]] void end_with(int rank, const Error& error) {
  std::fputs(error_line(rank, error).c_str(), stdout);
  std::fflush(stdout);
  ::_exit(1);
}

int bench(int argc, char** argv) {
  Result<std::optional<BenchOptions>> options = parse_bench_options(argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!options) end_with(rank, options.error());
  if (!options->has_value()) return 0;
  Result<PatientComm> world = PatientComm::duplicate(MPI_COMM_WORLD, kStart_ms);
  if (!world) end_with(rank, world.error());
  RankResult result;
  Status done = run(**options, *world, result);
  if (!done) end_with(rank, done.error());
  // Prints only after all ranks have finished: printing takes CPU time too.
  if (Status all = world->barrier(); !all) end_with(rank, all.error());
  std::fputs(result_line(rank, result).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace penstock::lmdb

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int code = penstock::lmdb::bench(argc, argv);
  MPI_Finalize();
  return code;
}
