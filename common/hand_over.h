// Gives a directory of root's to the user whom a daemon becomes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// Changes the owner of the directory, of root's plain files in it, and of
// root's directories in it with their files. Does nothing if the directory is
// not root's, or is missing. `what` begins error messages.
//   is_ours  whether a file of this name is the daemon's. With any other file
//            in it the directory is another program's too, and stays as it is.
// Errors: kPermissionDenied  such a file, or others may write to the directory;
//         the message has the remedy;  kIo.
[[nodiscard]] Status hand_over(
    const std::string& path, const std::string& what, uid_t owner,
    const std::function<bool(std::string_view name)>& is_ours);

}  // namespace penstock
