// Which users have had a mail, and when: a file with a line for each mail.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock::policy {

class MailRecord {
 public:
  // Opens the file to add to it, and creates it if it is missing. One process
  // at a time can have it open so.
  // Errors: kUnavailable      another process has it open
  //         kInvalidArgument  it is not such a file: names the line
  //         kPermissionDenied it is not the caller's, or others may write it;
  //                           kIo and others: name the path
  [[nodiscard]] static Result<MailRecord> open(const std::string& path);
  // Only reads it; a missing file has no mails. Errors: likewise
  [[nodiscard]] static Result<MailRecord> read(const std::string& path);

  // The time of the user's last mail; nullopt: none.
  std::optional<double> last_unix_s(uint32_t uid) const;
  // Returns when it is on disk. After an error the file is as before.
  // REQUIRES: open() made it.
  [[nodiscard]] Status add(uint32_t uid, double now_unix_s);

 private:
  MailRecord() = default;
  [[nodiscard]] Status load();

  std::string path_;
  UniqueFd file_;
  size_t bytes_ = 0;
  std::map<uint32_t, double> last_;
};

}  // namespace penstock::policy
