#include "tools/policy/no_mail.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "common/units.h"
#include "tools/doctor/bounded.h"
#include "tools/policy/mail.h"

namespace penstock::policy {
namespace {

constexpr int kLook_ms = 5000;

// errno of lstat(); 0: it is there.
int missing(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? 0 : errno;
}

bool become(const Account& account) {
  return ::initgroups(account.name.c_str(), account.gid) == 0 &&
         ::setresgid(account.gid, account.gid, account.gid) == 0 &&
         ::setresuid(account.uid, account.uid, account.uid) == 0;
}

// Writes "HOME FILE": the errno of each, 0 if it is there.
void look(const Account& account, int out) {
  if (!become(account)) return;
  const int of_home = missing(account.home + "/.");
  const int of_file = missing(account.home + "/" + kNoMailFile);
  const std::string text =
      std::to_string(of_home) + " " + std::to_string(of_file);
  (void)!::write(out, text.data(), text.size());
}

Error unknown(const std::string& home, int error) {
  if (error == ENOENT) {
    return Error{Code::kNotFound, 0,
                 "the home " + printable(home) +
                     " is not here: run penstock policy where homes are"};
  }
  return system_error(error, printable(home));
}

}  // namespace

Result<Account> account_of(uint32_t uid) {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return Error{Code::kNotFound, 0,
                 "user " + std::to_string(uid) + " is not known here"};
  }
  Account out{uid, found->pw_gid, found->pw_name, found->pw_dir};
  if (out.name.empty() || out.name.front() == '-' ||
      printable(out.name) != out.name) {
    return Error{
        Code::kNotFound, 0,
        "user " + std::to_string(uid) + " has a name that no mailer is given"};
  }
  return out;
}

Result<bool> wants_no_mail(const Account& account) {
  const Result<std::string> seen =
      doctor::output_of("the home " + printable(account.home), kLook_ms,
                        [&](int out) { look(account, out); });
  if (!seen) return seen.error();
  const size_t space = seen->find(' ');
  if (space == std::string::npos) {
    return Error{Code::kPermissionDenied, 0,
                 "the home " + printable(account.home) +
                     " could not be looked into as its user"};
  }
  const int of_home = std::stoi(seen->substr(0, space));
  const int of_file = std::stoi(seen->substr(space + 1));
  if (of_home != 0) return unknown(account.home, of_home);
  if (of_file != 0 && of_file != ENOENT) return unknown(account.home, of_file);
  return of_file == 0;
}

}  // namespace penstock::policy
