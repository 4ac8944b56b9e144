#include "loader/lmdb/mpi/reader_world.h"

#include <algorithm>
#include <array>

namespace penstock::lmdb {
namespace {

constexpr int kFailureTag = 1;
constexpr int kTokenTag = 2;
constexpr size_t kFailureBytes = 1000;

// What a post has to hold until MPI has sent it, which may be never.
struct PostedFailure {
  int32_t code;
  int32_t saved_errno;
  std::array<char, kFailureBytes> message;
};

}  // namespace

Result<ReaderWorld> ReaderWorld::make(MPI_Comm comm, uint32_t timeout_ms) {
  ReaderWorld world;
  Result<PatientComm> all = PatientComm::duplicate(comm, timeout_ms);
  if (!all) return std::move(all).error();
  world.all_ = *std::move(all);
  Result<PatientComm> posts =
      PatientComm::duplicate(world.all_.get(), timeout_ms);
  if (!posts) {
    world.abandon();
    return std::move(posts).error();
  }
  world.posts_ = *std::move(posts);
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  world.has_threads_ = level == MPI_THREAD_MULTIPLE;
  return world;
}

Status ReaderWorld::find_nodes(uint32_t ranks_per_buffer) {
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
  Result<PatientComm> leaders =
      all_.split(is_leader() ? 0 : MPI_UNDEFINED, all_.rank());
  if (!leaders) return std::move(leaders).error();
  leaders_ = *std::move(leaders);
  std::array<uint64_t, 3> facts{};  // number, first rank, nodes
  if (is_leader()) {
    Result<std::vector<uint64_t>> sizes =
        leaders_.gather(static_cast<uint64_t>(node_.size()));
    Result<std::vector<uint64_t>> ranks =
        leaders_.gather(static_cast<uint64_t>(all_.rank()));
    if (!sizes) return std::move(sizes).error();
    if (!ranks) return std::move(ranks).error();
    leader_ranks_ = *ranks;
    facts = {static_cast<uint64_t>(leaders_.rank()), 0, sizes->size()};
    for (size_t i = 0; i < facts[0]; ++i) facts[1] += (*sizes)[i];
  }
  if (Status sent = node_.broadcast(facts.data(), sizeof facts, 0); !sent) {
    return sent;
  }
  node_number_ = static_cast<uint32_t>(facts[0]);
  nodes_ = static_cast<uint32_t>(facts[2]);
  leader_ranks_.resize(nodes_);
  ranks_ = {static_cast<uint32_t>(facts[1]),
            static_cast<uint32_t>(node_.size())};
  return node_.broadcast(leader_ranks_.data(), nodes_ * sizeof(uint64_t), 0);
}

// Requests are freed, not waited for: nobody may be there to receive.
// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks)
void ReaderWorld::post_failure(const Error& error) {
  if (!has_threads_) return;
  // Never freed: nobody knows whether a dead node's post is still on its way.
  auto* post = new PostedFailure{
      static_cast<int32_t>(error.code), error.saved_errno, {}};
  error.message.copy(post->message.data(), kFailureBytes - 1);
  for (uint32_t node = 0; node < nodes_; ++node) {
    if (node == node_number_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(post, sizeof *post, MPI_BYTE,
              static_cast<int>(leader_ranks_[node]), kFailureTag, posts_.get(),
              &request);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

// NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)

std::optional<Error> ReaderWorld::find_posted() {
  int is_there = 0;
  if (!has_threads_ || nodes_ == 1) return std::nullopt;
  MPI_Iprobe(MPI_ANY_SOURCE, kFailureTag, posts_.get(), &is_there,
             MPI_STATUS_IGNORE);
  if (is_there == 0) return std::nullopt;
  PostedFailure post{};
  MPI_Recv(&post, sizeof post, MPI_BYTE, MPI_ANY_SOURCE, kFailureTag,
           posts_.get(), MPI_STATUS_IGNORE);
  return Error{static_cast<Code>(post.code), post.saved_errno,
               std::string("on another node: ") + post.message.data()};
}

// A token's tag is its turn's last bits: one of the turn before cannot be
// taken for it.
bool ReaderWorld::has_token(uint32_t from, uint64_t turn) {
  const int tag = kTokenTag + static_cast<int>(turn % 1024);
  const int source = static_cast<int>(leader_ranks_[from]);
  int is_there = 0;
  MPI_Iprobe(source, tag, posts_.get(), &is_there, MPI_STATUS_IGNORE);
  if (is_there == 0) return false;
  MPI_Recv(nullptr, 0, MPI_BYTE, source, tag, posts_.get(), MPI_STATUS_IGNORE);
  return true;
}

void ReaderWorld::send_token(uint32_t to, uint64_t turn) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(leader_ranks_[to]),
            kTokenTag + static_cast<int>(turn % 1024), posts_.get(), &request);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

void ReaderWorld::abandon() {
  for (PatientComm* comm : {&all_, &node_, &leaders_, &posts_}) {
    comm->abandon();
  }
}

}  // namespace penstock::lmdb
