#include "select_ext/job_submit/table_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "common/units.h"

namespace penstock::job_submit {
namespace {

uint64_t scaled(double value, double scale, uint64_t most) {
  const double figure = std::round(value * scale);
  return figure >= static_cast<double>(most) ? most
                                             : static_cast<uint64_t>(figure);
}

Range range_of(const Figure& figure, double scale, uint64_t most) {
  const bool fits = figure.known() && figure.low >= 0 &&
                    figure.low <= figure.value && figure.value <= figure.high &&
                    figure.value * scale <= static_cast<double>(most);
  if (!fits) return {};
  // The upper end may exceed `most`, but must not become kUnknown.
  return {scaled(figure.value, scale, most), scaled(figure.low, scale, most),
          scaled(figure.high, scale, most)};
}

Status check_file(int fd, const std::string& path) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return system_error(errno, path);
  if (!S_ISREG(file.st_mode))
    return invalid(path + ": not a regular file; remove it");
  if (file.st_uid != ::geteuid())
    return Error{Code::kPermissionDenied, 0,
                 path + ": owned by user " + std::to_string(file.st_uid) +
                     "; run: chown " + std::to_string(::geteuid()) + " " +
                     path};
  if (file.st_mode & (S_IWGRP | S_IWOTH))
    return Error{
        Code::kPermissionDenied, 0,
        path + ": writable by its group or by others; run: chmod go-w " + path};
  return Done{};
}

// Sets the size and allocates the blocks. Without blocks, a full disk would
// later kill the writer with SIGBUS.
Status make_room(int fd, const std::string& path) {
  if (::ftruncate(fd, sizeof(TableImage)) != 0)
    return system_error(errno, path);
  const int error = ::posix_fallocate(fd, 0, sizeof(TableImage));
  if (error != 0) return system_error(error, path);
  return Done{};
}

bool by_name(const ModelDemand& a, const ModelDemand& b) {
  return model_name(a) < model_name(b);
}

bool by_id(const JobDemand& a, const JobDemand& b) {
  return a.job_id < b.job_id;
}

Result<std::unique_ptr<TableImage>> make_image(std::vector<ModelDemand> models,
                                               std::vector<JobDemand> jobs) {
  if (models.size() > kMaxModels || jobs.size() > kMaxJobs)
    return Error{Code::kLimit, 0,
                 std::to_string(models.size()) + " models and " +
                     std::to_string(jobs.size()) +
                     " jobs; allowed: " + std::to_string(kMaxModels) + " and " +
                     std::to_string(kMaxJobs)};
  std::sort(models.begin(), models.end(), by_name);
  std::sort(jobs.begin(), jobs.end(), by_id);
  auto image = std::make_unique<TableImage>();
  image->header.magic = kTableMagic;
  image->header.version = kTableVersion;
  image->header.size_bytes = sizeof(TableImage);
  image->header.model_count = static_cast<uint32_t>(models.size());
  image->header.job_count = static_cast<uint32_t>(jobs.size());
  std::copy(models.begin(), models.end(), image->models);
  std::copy(jobs.begin(), jobs.end(), image->jobs);
  if (const char* fault = table_fault(*image); fault != nullptr)
    return invalid(std::string("demand table: ") + fault);
  return image;
}

}  // namespace

Result<ModelDemand> model_demand(const std::string& model,
                                 const Prediction& prediction) {
  ModelDemand entry{};
  if (model.size() > sizeof entry.model || printable(model) != model)
    return invalid("model " + quoted(model) +
                   ": not valid; allowed: at most 64 printable characters");
  std::memcpy(entry.model, model.data(), model.size());
  entry.millicores = range_of(prediction.demand_cores, 1000, kMaxMillicores);
  entry.bytes_per_s = range_of(prediction.demand_bytes_per_s, 1, kMaxBytesPerS);
  entry.ceiling_milli_samples_per_s =
      range_of(prediction.ceiling_samples_per_s, 1000, kMaxMilliSamplesPerS);
  return entry;
}

Result<TableWriter> TableWriter::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(),
                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                     0644));
  if (!fd) return system_error(errno, path);
  if (Status status = check_file(fd.get(), path); !status)
    return std::move(status).error();
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Code::kUnavailable, errno,
                 path + ": another writer has it; allowed: one penstockctld"};
  if (Status status = make_room(fd.get(), path); !status)
    return std::move(status).error();
  // SlurmUser must read it, whatever our umask is.
  if (::fchmod(fd.get(), 0644) != 0) return system_error(errno, path);
  void* mapped = ::mmap(nullptr, sizeof(TableImage), PROT_READ | PROT_WRITE,
                        MAP_SHARED, fd.get(), 0);
  if (mapped == MAP_FAILED) return system_error(errno, path);
  TableWriter writer(std::move(fd), static_cast<TableImage*>(mapped));
  if (table_fault(*writer.mapped_) != nullptr)
    if (Status status = writer.publish({}, {}, 0); !status)
      return std::move(status).error();
  return writer;
}

TableWriter::TableWriter(UniqueFd fd, TableImage* mapped)
    : fd_(std::move(fd)), mapped_(mapped) {}

TableWriter::TableWriter(TableWriter&& other) noexcept
    : fd_(std::move(other.fd_)),
      mapped_(std::exchange(other.mapped_, nullptr)) {}

TableWriter& TableWriter::operator=(TableWriter&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

TableWriter::~TableWriter() {
  if (mapped_ != nullptr) ::munmap(mapped_, sizeof(TableImage));
}

Status TableWriter::publish(std::vector<ModelDemand> models,
                            std::vector<JobDemand> jobs, uint64_t published_s) {
  auto image = make_image(std::move(models), std::move(jobs));
  if (!image) return std::move(image).error();
  (*image)->header.published_s = published_s;
  std::atomic_ref<uint32_t> sequence(mapped_->header.sequence);
  // A writer that died during a write has left an odd sequence.
  const uint32_t writing = sequence.load() | 1;
  sequence.store(writing);
  (*image)->header.sequence = writing;
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(mapped_, image->get(), sizeof(TableImage));
  std::atomic_thread_fence(std::memory_order_release);
  sequence.store(writing + 1);
  return Done{};
}

}  // namespace penstock::job_submit
