#include "loader/lmdb/mpi/peer_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "common/text_scan.h"
#include "common/unique_fd.h"

namespace penstock::lmdb {
namespace {

// The command's name may contain blanks and brackets, so fields are counted
// after the last bracket. The first there is the state, field 3 (proc(5)).
std::optional<PeerProcess> parse_stat(uint64_t pid, std::string_view text) {
  const size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(bracket + 1);
  for (int field = 3; field <= 22; ++field) {
    const std::string_view word = take_word(rest);
    if (word.empty() || (field == 3 && (word[0] == 'Z' || word[0] == 'X'))) {
      return std::nullopt;
    }
    if (field == 22) {
      PeerProcess out{pid, 0};
      (void)to_number(word, out.start_ticks);
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<PeerProcess> process_of(uint64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t got =
      file.get() < 0 ? -1 : ::read(file.get(), text, sizeof text);
  if (got <= 0) return std::nullopt;
  return parse_stat(pid, std::string_view(text, static_cast<size_t>(got)));
}

PeerWatch::PeerWatch(const std::vector<PeerProcess>& peers) {
  for (const PeerProcess& peer : peers) {
    const std::optional<PeerProcess> seen = process_of(peer.pid);
    watched_.push_back(seen == peer ? seen : std::nullopt);
  }
}

std::optional<size_t> PeerWatch::find_ended() const {
  for (size_t i = 0; i < watched_.size(); ++i) {
    if (watched_[i] && process_of(watched_[i]->pid) != watched_[i]) return i;
  }
  return std::nullopt;
}

}  // namespace penstock::lmdb
