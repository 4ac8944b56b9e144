#include "exchange/transport/mpi_transport.h"

#include <climits>
#include <string>
#include <vector>

namespace penstock::exchange {
namespace {

Error mpi_error(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {Code::kIo, 0, std::string(what) + ": " + text};
}

bool is_initialised() {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised != 0 && finalised == 0;
}

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~MpiTransport() override {
    // MPI_Comm_free() is collective. After unfinished operations, ranks may be
    // gone and would never call it.
    if (is_initialised() && is_idle()) MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void reserve(size_t requests) override {
    requests_.assign(requests, MPI_REQUEST_NULL);
    is_used_.assign(requests, false);
  }

  Result<Request> send(int to, int tag,
                       std::span<const std::byte> message) override {
    return begin(message.size(), "MPI_Isend", [&](MPI_Request* request) {
      return MPI_Isend(message.data(), static_cast<int>(message.size()),
                       MPI_BYTE, to, tag, comm_, request);
    });
  }
  Result<Request> receive(int from, int tag,
                          std::span<std::byte> room) override {
    return begin(room.size(), "MPI_Irecv", [&](MPI_Request* request) {
      return MPI_Irecv(room.data(), static_cast<int>(room.size()), MPI_BYTE,
                       from, tag, comm_, request);
    });
  }
  Result<bool> has_message(int from, int tag) override {
    int is_there = 0;
    const int code = MPI_Iprobe(from, tag, comm_, &is_there, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Iprobe");
    return is_there != 0;
  }
  Result<Request> allgather(std::span<const std::byte> mine,
                            std::span<std::byte> all) override {
    const auto bytes = static_cast<int>(mine.size());
    return begin(all.size(), "MPI_Iallgather", [&](MPI_Request* request) {
      return MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes,
                            MPI_BYTE, comm_, request);
    });
  }

  Result<bool> test(Request request, size_t* received) override {
    int done = 0;
    MPI_Status status{};
    const int code = MPI_Test(&requests_[request.slot], &done, &status);
    if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Test");
    if (done == 0) return false;
    ++finished_;
    is_used_[request.slot] = false;
    int bytes = 0;
    if (received != nullptr) {
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      *received = static_cast<size_t>(bytes);
    }
    return true;
  }

 private:
  template <class Post>
  Result<Request> begin(size_t count, const char* what, const Post& post) {
    if (count > INT_MAX) {
      return Error{Code::kLimit, 0,
                   std::string(what) + ": " + std::to_string(count) +
                       " is more than MPI counts to: split the layer"};
    }
    for (size_t slot = 0; slot < requests_.size(); ++slot) {
      if (is_used_[slot]) continue;
      const int code = post(&requests_[slot]);
      if (code != MPI_SUCCESS) return mpi_error(code, what);
      is_used_[slot] = true;
      return Request{slot};
    }
    return Error{Code::kLimit, 0,
                 "more than " + std::to_string(requests_.size()) +
                     " operations of a rank at once"};
  }

  bool is_idle() const {
    for (const bool is_used : is_used_) {
      if (is_used) return false;
    }
    return true;
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
  std::vector<bool> is_used_;
};

}  // namespace

Result<std::unique_ptr<Transport>> mpi_transport(MPI_Comm comm) {
  if (!is_initialised()) {
    return Error{Code::kUnavailable, 0,
                 "MPI is not initialised: call MPI_Init_thread() before"};
  }
  MPI_Comm own = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(comm, &own);
  if (code != MPI_SUCCESS) return mpi_error(code, "MPI_Comm_dup");
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  return std::unique_ptr<Transport>(std::make_unique<MpiTransport>(own));
}

}  // namespace penstock::exchange
