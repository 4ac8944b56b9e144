// Whom a user's mail goes to, and whether the user wants it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/result.h"

namespace penstock::policy {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  // fit for a mailer's command line
  std::string home;
};

// Errors: kNotFound  this machine does not know the user, or the name begins
//                    with '-' or is not printable
[[nodiscard]] Result<Account> account_of(uint32_t uid);

// Whether the user's home has kNoMailFile. Looks as the user, who may make of
// that file what he likes, and for five seconds at most. The caller is root.
// Errors: kNotFound     the home directory is not here
//         kUnavailable  it does not answer
//         others        it cannot be looked into
[[nodiscard]] Result<bool> wants_no_mail(const Account& account);

}  // namespace penstock::policy
