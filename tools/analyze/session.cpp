#include "tools/analyze/session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <variant>

#include "common/clock.h"
#include "common/file_limit.h"

namespace penstock {
namespace {

constexpr uint32_t kMostRanks = 4096;
// A rank may have a second process.
constexpr size_t kMostConnections = 2 * size_t{kMostRanks};
constexpr int kLook_ms = 100;
// Ranks send hello at once; a connection without it may be anybody's.
constexpr double kHold_s = 120;  // limit of a batch
constexpr double kGreet_s = 5;
// A rank without an answer by then waits for another rank inside a step.
constexpr double kSilent_s = 0.3;
// Ranks that are further apart do not wait for each other.
constexpr uint64_t kLockstep = 8;

double now_s() { return double(monotonic_ns()) * 1e-9; }

std::string random_secret() {
  uint8_t bytes[kAnalysisSecretDigits / 2];
  if (::getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) return "";
  std::string text;
  for (uint8_t byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool is_same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs |= unsigned(a[i] ^ b[i]);
  return differs == 0;
}

bool is_held(const AnalysisCell& cell, const AnalysisReady& limits) {
  return (!cell.cores || !limits.cores_by.empty()) &&
         (!cell.bytes_per_s || !limits.bytes_per_s_by.empty());
}

Error too_slow(double timeout_s) {
  return {Code::kLimit, 0,
          "no two batches came within " + std::to_string(int(timeout_s)) +
              " s; give it a longer --budget"};
}

}  // namespace

struct Session::Rank {
  UniqueFd fd;
  std::string received;
  bool greeted = false;
  bool is_second = false;  // another process of the same rank
  bool left = false;
  double since_s = now_s();
  uint32_t number = 0;
  std::optional<uint64_t> held;  // nullopt: not holding
  std::optional<AnalysisReady> ready;
  VisitBuilder builder;
};

Session::Session(bool is_local, CommandWatch watch) : watch_(std::move(watch)) {
  char name[256] = "127.0.0.1";
  if (!is_local) (void)::gethostname(name, sizeof name - 1);
  address_.host = name;
}

Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::listen(bool is_local,
                                                 CommandWatch watch) {
  std::unique_ptr<Session> session(new Session(is_local, std::move(watch)));
  Status opened = session->open(is_local);
  if (!opened) return std::move(opened).error();
  return session;
}

Status Session::open(bool is_local) {
  address_.secret = random_secret();
  if (address_.secret.empty()) return system_error(errno, "getrandom");
  socket_.reset(
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(is_local ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof any;
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), size) != 0 ||
      ::listen(socket_.get(), 1024) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &size) !=
          0) {
    return system_error(errno, "listening for the command's ranks");
  }
  address_.port = ntohs(any.sin_port);
  return Done{};
}

bool Session::all(const std::function<bool(const Rank&)>& condition) const {
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
    return condition(*entry.second);
  });
}

// If there is no room, the oldest connection without a hello is closed.
void Session::accept_one() {
  UniqueFd fd(
      ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool is_full = connections_.size() >= kMostConnections;
  if (is_full || (!fd && (errno == EMFILE || errno == ENFILE))) {
    const auto silent =
        std::find_if(connections_.begin(), connections_.end(),
                     [](const auto& it) { return !it->greeted; });
    if (silent == connections_.end()) return;
    connections_.erase(silent);
  }
  if (!fd) return;
  const int at_once = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  connections_.push_back(std::make_unique<Rank>());
  connections_.back()->fd = std::move(fd);
}

Result<bool> Session::wait(const std::function<bool()>& done,
                           double timeout_s) {
  const double until_s = now_s() + timeout_s;
  while (!done()) {
    const double left_s = until_s - now_s();
    if (left_s <= 0) return false;
    std::vector<pollfd> polled = {{socket_.get(), POLLIN, 0}};
    for (const auto& rank : connections_) {
      polled.push_back({rank->fd.get(), POLLIN, 0});
    }
    for (int fd : watch_.fds()) polled.push_back({fd, POLLIN, 0});
    const int wait_ms = std::min(kLook_ms, int(left_s * 1000) + 1);
    const int count = ::poll(polled.data(), polled.size(), wait_ms);
    if (count < 0 && errno != EINTR) return system_error(errno, "poll");
    Status alive = watch_.look();
    if (!alive) return std::move(alive).error();
    std::vector<int> ready;
    for (const pollfd& it : polled) {
      if (count > 0 && it.revents != 0) ready.push_back(it.fd);
    }
    Status taken = take_ready(ready);
    if (!taken) return std::move(taken).error();
  }
  return true;
}

Status Session::take_ready(const std::vector<int>& ready) {
  for (int fd : ready) {
    if (fd == socket_.get()) {
      accept_one();
      continue;
    }
    const auto rank =
        std::find_if(connections_.begin(), connections_.end(),
                     [fd](const auto& it) { return it->fd.get() == fd; });
    if (rank == connections_.end()) continue;
    Status read = read_from(**rank);
    if (!read) return read;
  }
  // Drop connections that never sent a valid hello.
  std::erase_if(connections_, [](const auto& it) {
    const bool is_late = !it->is_second && now_s() - it->since_s > kGreet_s;
    return !it->greeted && (it->left || is_late);
  });
  return Done{};
}

Status Session::read_from(Rank& rank) {
  char bytes[65536];
  const ssize_t got = ::recv(rank.fd.get(), bytes, sizeof bytes, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Done{};
  if (got <= 0) {
    rank.left = true;
    rank.fd.reset();
    if (!rank.greeted) return Done{};
    return Error{Code::kUnavailable, 0,
                 "rank " + std::to_string(rank.number) +
                     " ended before the analysis did"};
  }
  rank.received.append(bytes, size_t(got));
  for (;;) {
    const size_t end = rank.received.find('\n');
    if (end == std::string::npos) break;
    const std::string line = rank.received.substr(0, end);
    rank.received.erase(0, end + 1);
    Status taken = take_line(rank, line);
    if (!taken || rank.left) return taken;
  }
  if (rank.received.size() > kMaxAnalysisLineBytes) {
    rank.left = true;
    rank.fd.reset();
  }
  return Done{};
}

// A connection whose first line is not a hello with the secret is closed.
Status Session::take_line(Rank& rank, std::string_view line) {
  auto answer = parse_answer(line);
  const bool is_hello =
      answer && std::holds_alternative<AnalysisHello>(*answer);
  if (rank.greeted) {
    if (answer && !is_hello) return take(rank, *answer);
    return Error{Code::kInvalidArgument, 0,
                 "rank " + std::to_string(rank.number) + ": " +
                     (answer ? "a second hello" : answer.error().message) +
                     "; install one release of Penstock everywhere"};
  }
  if (is_hello && is_same_secret(std::get<AnalysisHello>(*answer).secret,
                                 address_.secret)) {
    greet(rank, std::get<AnalysisHello>(*answer));
  } else {
    rank.left = true;
    rank.fd.reset();
  }
  return Done{};
}

// A second process of a rank, such as one that evaluates, gets no orders and
// waits. Its end does not end the analysis.
void Session::greet(Rank& rank, const AnalysisHello& hello) {
  if (ranks_.contains(hello.rank)) {
    rank.is_second = true;
    return;
  }
  rank.greeted = true;
  rank.number = hello.rank;
  ranks_[hello.rank] = &rank;
  expected_ = std::max(expected_, hello.ranks);
  hellos_.push_back(hello);
  std::sort(hellos_.begin(), hellos_.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
}

Status Session::take(Rank& rank, const AnalysisAnswer& answer) {
  if (const auto* held = std::get_if<AnalysisHeld>(&answer)) {
    rank.held = held->steps;
  } else if (const auto* ready = std::get_if<AnalysisReady>(&answer)) {
    if (ready->cell == cell_) rank.ready = *ready;
  } else if (const auto* batches = std::get_if<AnalysisBatches>(&answer)) {
    if (batches->cell == cell_ && rank.ready) rank.builder.add(*batches);
  }
  return Done{};
}

Status Session::tell(Rank& rank, const AnalysisOrder& order) {
  const std::string line = to_line(order);
  // Orders are short and rare, so a full socket buffer means that the rank does
  // not read.
  if (::send(rank.fd.get(), line.data(), line.size(), MSG_NOSIGNAL) ==
      ssize_t(line.size())) {
    return Done{};
  }
  return Error{Code::kUnavailable, errno,
               "rank " + std::to_string(rank.number) + " cannot be told"};
}

Status Session::tell_all(const AnalysisOrder& order) {
  for (auto& [number, rank] : ranks_) {
    Status told = tell(*rank, order);
    if (!told) return told;
  }
  return Done{};
}

Status Session::wait_for_ranks(double timeout_s) {
  // Each rank needs a file descriptor. Not before the command has been started,
  // which would inherit the limit and pass it on to the job.
  (void)raise_file_limit();
  const auto all_here = [this] {
    return expected_ > kMostRanks ||
           (expected_ > 0 && ranks_.size() >= expected_);
  };
  auto here = wait(all_here, timeout_s);
  if (!here) return std::move(here).error();
  if (expected_ > kMostRanks) {
    return Error{Code::kInvalidArgument, 0,
                 "the command has " + std::to_string(expected_) +
                     " ranks, and up to " + std::to_string(kMostRanks) +
                     " can be analysed: run it with fewer"};
  }
  if (*here) return Done{};
  if (expected_ == 0) {
    return Error{Code::kUnavailable, 0,
                 "the command has not asked for data within " +
                     std::to_string(int(timeout_s)) +
                     " s: it has to train on batches of a PyTorch DataLoader, "
                     "of penstock.watch(loader) or of Penstock's loader; where "
                     "it is queued or starts slowly, --start 10m waits "
                     "longer"};
  }
  return Error{Code::kUnavailable, 0,
               std::to_string(ranks_.size()) + " of " +
                   std::to_string(expected_) +
                   " ranks have asked for data within " +
                   std::to_string(int(timeout_s)) +
                   " s: the others do not train on a DataLoader or iterate "
                   "over penstock.watch(loader), or do not reach this host; "
                   "--start 10m waits longer"};
}

// Data-parallel ranks wait for each other inside a step, so a rank that holds
// may keep another from reaching its own hold. The holding ranks then advance
// by one step at a time until all hold. Ranks in lockstep are advanced to the
// same step.
Status Session::hold_all(double timeout_s) {
  for (auto& [number, rank] : ranks_) rank->held.reset();
  Status told = tell_all(AnalysisHold{});
  if (!told) return told;
  const double until_s = now_s() + timeout_s;
  const auto all_hold = [this] {
    return all([](const Rank& rank) { return rank.held.has_value(); });
  };
  while (now_s() < until_s) {
    auto held = wait(all_hold, kSilent_s);
    if (!held) return std::move(held).error();
    uint64_t least = UINT64_MAX, most = 0;
    for (const auto& [number, rank] : ranks_) {
      if (!rank->held) continue;
      least = std::min(least, *rank->held);
      most = std::max(most, *rank->held);
    }
    const bool keeps_step = most - std::min(least, most) <= kLockstep;
    if (*held && (least == most || !keeps_step)) return Done{};
    for (auto& [number, rank] : ranks_) {
      if (!rank->held || (*held && *rank->held == most)) continue;
      rank->held.reset();
      told = tell(*rank, AnalysisAdvance{});
      if (!told) return told;
    }
  }
  return Error{Code::kUnavailable, 0,
               "the ranks do not come to the end of a batch within " +
                   std::to_string(int(timeout_s)) +
                   " s: the loader that is watched has to be the one that is "
                   "trained with, and each rank has to know its number (RANK "
                   "and WORLD_SIZE, or Slurm's)"};
}

Result<Visit> Session::run(const AnalysisCell& cell, double measure_s,
                           double timeout_s) {
  // A batch may take longer than the time of a cell.
  Status held = cell_ == 0 ? Status(Done{}) : hold_all(kHold_s);
  if (!held) return std::move(held).error();
  cell_ = cell.cell;
  for (auto& [number, rank] : ranks_) {
    rank->held.reset();
    rank->ready.reset();
    rank->builder = VisitBuilder();
  }
  Status told = tell_all(cell);
  if (!told) return std::move(told).error();
  const double until_s = now_s() + timeout_s;
  const auto all_ready = [this] {
    return all([](const Rank& rank) { return rank.ready.has_value(); });
  };
  auto ready = wait(all_ready, timeout_s);
  if (!ready) return std::move(ready).error();
  Visit visit{cell, {}, {}};
  if (!*ready) return too_slow(timeout_s);
  visit.limits = limits_of(cell);
  if (!is_held(cell, visit.limits)) return visit;
  const auto is_measured = [&](const Rank& rank) {
    const auto seen = rank.builder.visit();
    return seen && seen->seconds() >= measure_s &&
           seen->batches >= kLeastBatches;
  };
  auto measured = wait([&] { return all(is_measured); }, until_s - now_s());
  if (!measured) return std::move(measured).error();
  for (const auto& [number, rank] : ranks_) {
    const auto seen = rank->builder.visit();
    // A slow rank is measured by its few batches.
    if (!seen) return too_slow(timeout_s);
    visit.ranks[number] = *seen;
  }
  return visit;
}

// The ranks' report on the limits, from a rank that could not keep one if there
// is such a rank.
AnalysisReady Session::limits_of(const AnalysisCell& cell) const {
  AnalysisReady limits;
  for (const auto& [number, rank] : ranks_) {
    limits = *rank->ready;
    if (!is_held(cell, limits)) break;
  }
  return limits;
}

void Session::end() {
  (void)hold_all(kEnd_s);
  for (auto& [number, rank] : ranks_) (void)tell(*rank, AnalysisEnd{});
}

}  // namespace penstock
