#include "loader/lmdb/mpi/node_share.h"

#include <cerrno>
#include <optional>
#include <string>

namespace penstock::lmdb {
namespace {

// Whether it is close()'s error. The code is checked too: a cancelled read has
// the same errno, but is kIo.
bool is_closing(const Error& error) {
  return error.code == Code::kUnavailable && error.saved_errno == ECANCELED;
}

}  // namespace

void NodeShare::fail(const Error& error) {
  // Notifies the other nodes first: once this process's trainer sees the error,
  // it may exit before another thread can post it.
  ring_.fail(error, [&] { world_.post_failure(error); });
}

void NodeShare::close() {
  ring_.fail(Error{
      Code::kUnavailable, ECANCELED,
      "rank " + std::to_string(world_.rank()) + " has closed its reader"});
}

bool NodeShare::is_failed() const {
  const Status state = ring_.state();
  return !state && !is_closing(state.error());
}

Status NodeShare::find_dead() const {
  const std::optional<size_t> ended = watch_.find_ended();
  if (!ended) return Done{};
  return Error{Code::kUnavailable, 0,
               "rank " + std::to_string(world_.ranks().first + *ended) +
                   " has died in mid-epoch"};
}

Status NodeShare::look() {
  if (Status state = ring_.state(); !state) return state;
  Status dead = find_dead();
  if (dead) return dead;
  // The rank may have ended because of an earlier failure: return that then.
  fail(dead.error());
  Status first = ring_.state();
  return first ? dead : first;
}

void NodeShare::listen() {
  // Not forwarded: its sender posts to all nodes.
  if (const std::optional<Error> posted = world_.find_posted()) {
    ring_.fail(*posted);
  }
}

}  // namespace penstock::lmdb
