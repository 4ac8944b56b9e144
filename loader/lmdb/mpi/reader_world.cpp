#include "loader/lmdb/mpi/reader_world.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace penstock::lmdb {
namespace {

constexpr int kFailureTag = 1;
constexpr int kTokenTag = 2;
constexpr size_t kFailureBytes = 1000;

// The message of post_failure(). It must exist until MPI has sent it, which may
// be never.
struct PostedFailure {
  int32_t code;
  int32_t saved_errno;
  std::array<char, kFailureBytes> message;
};

// Numbers in `all` of the ranks of `part`.
std::vector<uint64_t> ranks_in(MPI_Comm part, MPI_Comm all) {
  MPI_Group part_group = MPI_GROUP_NULL, all_group = MPI_GROUP_NULL;
  MPI_Comm_group(part, &part_group);
  MPI_Comm_group(all, &all_group);
  int size = 0;
  MPI_Group_size(part_group, &size);
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> numbers(ranks.size());
  MPI_Group_translate_ranks(part_group, size, ranks.data(), all_group,
                            numbers.data());
  MPI_Group_free(&part_group);
  MPI_Group_free(&all_group);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

Result<ReaderWorld> ReaderWorld::make(MPI_Comm comm, uint32_t timeout_ms) {
  ReaderWorld world;
  Result<PatientComm> all = PatientComm::duplicate(comm, timeout_ms);
  if (!all) return std::move(all).error();
  world.all_ = *std::move(all);
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  world.has_threads_ = level == MPI_THREAD_MULTIPLE;
  return world;
}

Status ReaderWorld::find_node(uint32_t ranks_per_buffer) {
  Result<PatientComm> node = all_.split_nodes();
  if (!node) return std::move(node).error();
  node_ = *std::move(node);
  if (ranks_per_buffer > 0) {
    buffers_ = (static_cast<uint32_t>(node_.size()) - 1) / ranks_per_buffer + 1;
    Result<PatientComm> part = node_.split(
        node_.rank() / static_cast<int>(ranks_per_buffer), node_.rank());
    if (!part) return std::move(part).error();
    node_ = *std::move(part);
  }
  members_ = ranks_in(node_.get(), all_.get());
  return Done{};
}

void ReaderWorld::place_nodes(const std::vector<uint64_t>& leader_of) {
  leaders_ = leader_of;
  std::sort(leaders_.begin(), leaders_.end());
  // Ranks on nodes with lower leaders come first.
  const auto first =
      std::lower_bound(leaders_.begin(), leaders_.end(), leader());
  ranks_ = {static_cast<uint32_t>(first - leaders_.begin()),
            static_cast<uint32_t>(node_.size())};
  leaders_.erase(std::unique(leaders_.begin(), leaders_.end()), leaders_.end());
  nodes_ = static_cast<uint32_t>(leaders_.size());
  node_number_ = static_cast<uint32_t>(
      std::lower_bound(leaders_.begin(), leaders_.end(), leader()) -
      leaders_.begin());
}

// Requests are freed instead of awaited: the receivers may have ended.
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks)
void ReaderWorld::post_failure(const Error& error) {
  if (!has_threads_) return;
  // Never freed: the send to a dead node may stay pending.
  auto* post = new PostedFailure{
      static_cast<int32_t>(error.code), error.saved_errno, {}};
  error.message.copy(post->message.data(), kFailureBytes - 1);
  for (uint32_t node = 0; node < nodes_; ++node) {
    if (node == node_number_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(post, sizeof *post, MPI_BYTE, static_cast<int>(leaders_[node]),
              kFailureTag, all_.get(), &request);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

// NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)

std::optional<Error> ReaderWorld::find_posted() {
  int is_there = 0;
  if (!has_threads_ || nodes_ == 1) return std::nullopt;
  MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, all_.get(), &is_there,
             MPI_STATUS_IGNORE);
  if (is_there == 0) return std::nullopt;
  PostedFailure post{};
  MPI_Recv(&post, sizeof post, MPI_BYTE, MPI_ANY_SOURCE, kFailureTag,
           all_.get(), MPI_STATUS_IGNORE);
  return Error{static_cast<Code>(post.code), post.saved_errno,
               std::string("on another node: ") + post.message.data()};
}

// A token's tag has the turn's low bits, so that it cannot be confused with
// that of the turn before.
bool ReaderWorld::has_token(uint32_t from, uint64_t turn) {
  const int tag = kTokenTag + static_cast<int>(turn % 1024);
  const int source = static_cast<int>(leaders_[from]);
  int is_there = 0;
  MPI_Iprobe(source, tag, all_.get(), &is_there, MPI_STATUS_IGNORE);
  if (is_there == 0) return false;
  MPI_Recv(nullptr, 0, MPI_BYTE, source, tag, all_.get(), MPI_STATUS_IGNORE);
  return true;
}

void ReaderWorld::send_token(uint32_t to, uint64_t turn) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(leaders_[to]),
            kTokenTag + static_cast<int>(turn % 1024), all_.get(), &request);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

void ReaderWorld::abandon() {
  for (PatientComm* comm : {&all_, &node_}) {
    comm->abandon();
  }
}

}  // namespace penstock::lmdb
