#include "tools/policy/mail_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/units.h"
#include "common/whole_file.h"

namespace penstock::policy {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kLongestLine = 21;  // "4294967295 4294967295"

// "1780000000 1000": the time and the user.
std::optional<std::pair<uint32_t, uint32_t>> parse(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto time = parse_uint(line.substr(0, space), 0, UINT32_MAX);
  const auto uid = parse_uint(line.substr(space + 1), 0, UINT32_MAX);
  if (!time || !uid) return std::nullopt;
  return std::pair(uint32_t(*time), uint32_t(*uid));
}

// What a crash may have left of a line.
bool is_cut_line(std::string_view text) {
  return text.size() <= kLongestLine &&
         std::count(text.begin(), text.end(), ' ') <= 1 &&
         text.find_first_not_of("0123456789 ") == std::string_view::npos;
}

Status bad_line(size_t number) {
  return invalid(fmt::format(
      "line {}: not a time and a user; move the file away", number));
}

Status check(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return system_error(errno, "fstat");
  if (S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return Done{};
  }
  return Error{Code::kPermissionDenied, 0,
               fmt::format("must be a file of user {} that nobody else may "
                           "write",
                           ::geteuid())};
}

}  // namespace

Result<MailRecord> MailRecord::open(const std::string& path) {
  MailRecord record;
  record.path_ = path;
  record.file_.reset(::open(
      path.c_str(),
      O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!record.file_) return system_error(errno, path);
  if (::flock(record.file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_error(errno, path);
    return Error{Code::kUnavailable, 0,
                 path + ": another penstock policy sends mails now"};
  }
  if (Status loaded = record.load(); !loaded) {
    return std::move(loaded).error().wrap(path);
  }
  if (::ftruncate(record.file_.get(), off_t(record.bytes_)) != 0) {
    return system_error(errno, path);
  }
  return record;
}

Result<MailRecord> MailRecord::read(const std::string& path) {
  MailRecord record;
  record.path_ = path;
  record.file_.reset(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!record.file_ && errno == ENOENT) return record;
  if (!record.file_) return system_error(errno, path);
  if (Status loaded = record.load(); !loaded) {
    return std::move(loaded).error().wrap(path);
  }
  return record;
}

Status MailRecord::load() {
  if (Status fits = check(file_.get()); !fits) return fits;
  std::string text;
  if (const int error = read_whole(file_.get(), kMostBytes, text); error != 0) {
    return system_error(error, "read");
  }
  bytes_ = text.rfind('\n') + 1;  // 0: no line
  size_t number = 1;
  for (size_t begin = 0; begin < bytes_; ++number) {
    const size_t end = text.find('\n', begin);
    const auto line = parse(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (!line) return bad_line(number);
    double& last = last_[line->second];
    last = std::max(last, double(line->first));
  }
  return is_cut_line(text.substr(bytes_)) ? Done{} : bad_line(number);
}

std::optional<double> MailRecord::last_unix_s(uint32_t uid) const {
  const auto found = last_.find(uid);
  if (found == last_.end()) return std::nullopt;
  return found->second;
}

Status MailRecord::add(uint32_t uid, double now_unix_s) {
  const std::string line = fmt::format("{} {}\n", uint64_t(now_unix_s), uid);
  int error = write_whole(file_.get(), line);
  if (error == 0 && ::fdatasync(file_.get()) != 0) error = errno;
  if (error != 0) {
    (void)::ftruncate(file_.get(), off_t(bytes_));
    return system_error(error, path_);
  }
  bytes_ += line.size();
  last_[uid] = now_unix_s;
  return Done{};
}

}  // namespace penstock::policy
