#include "node_agent/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "common/listening_socket.h"
#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

void burn_ms(uint64_t duration_ms) {
  const uint64_t end_ns = thread_cpu_ns() + duration_ms * 1'000'000;
  while (thread_cpu_ns() < end_ns) {
  }
}

// A server in a thread of its own; stopped by a byte in a pipe.
class Fixture {
 public:
  Fixture() {
    char name[] = "/tmp/penstock-server-XXXXXX";
    dir_ = ::mkdtemp(name);
    path = dir_ + "/socket";
    loop_.emplace(*EventLoop::create());
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    stop_reader_.reset(ends[0]);
    stop_writer_.reset(ends[1]);
    REQUIRE(loop_->watch(ends[0], [this] { loop_->stop(); }).ok());
    auto socket = listen_at(path);
    REQUIRE(socket);
    auto server = Server::serve(
        *loop_, *std::move(socket), [this](const Message& message, const Peer& peer) {
          last_peer = peer;
          Answer answer;
          // As long as the most expensive user message, for tests of the
          // budget.
          if (std::holds_alternative<penstock_thread>(message)) burn_ms(5);
          // As if other programs had the CPU.
          if (std::holds_alternative<penstock_limit>(message)) ::usleep(5000);
          if (std::holds_alternative<penstock_task_exit>(message)) {
            answer.send = false;
          }
          if (std::holds_alternative<penstock_hello>(message)) {
            answer.fds = {stop_reader_.get(), stop_reader_.get()};
          }
          return answer;
        });
    REQUIRE(server.ok());
    server_ = *std::move(server);
    thread_ = std::thread([this] { (void)loop_->run(); });
  }
  ~Fixture() {
    (void)!::write(stop_writer_.get(), "x", 1);
    thread_.join();
    server_.reset();
    (void)!std::system(("rm -r " + dir_).c_str());
  }

  UniqueFd connect() const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof address) == 0);
    return fd;
  }

  std::string path;
  Peer last_peer;

 private:
  std::string dir_;
  std::optional<EventLoop> loop_;
  UniqueFd stop_reader_, stop_writer_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

template <class T>
T message_of(uint16_t type) {
  T message{};
  message.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION, type,
                    sizeof message, 41};
  return message;
}

// The reply, or nullopt where the server closed or stayed silent for 2 s.
std::optional<penstock_reply> receive(int fd, size_t* fds = nullptr) {
  pollfd wait{fd, POLLIN, 0};
  if (::poll(&wait, 1, 2000) != 1) return std::nullopt;
  penstock_reply reply{};
  iovec part{&reply, sizeof reply};
  char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd, &message, 0) != ssize_t(sizeof reply)) return std::nullopt;
  if (cmsghdr* header = CMSG_FIRSTHDR(&message); header && fds) {
    *fds = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < *fds; ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      ::close(received);
    }
  }
  return reply;
}

// Runs act as an ordinary user in a process of its own.
template <class Act>
pid_t as_user(const Fixture& server, uid_t uid, Act act) {
  REQUIRE(::chmod(server.path.substr(0, server.path.rfind('/')).c_str(),
                  0755) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(uid, uid, uid) != 0) ::_exit(2);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no orphan after a failed test
    ::_exit(act() ? 0 : 1);
  }
  REQUIRE(child > 0);
  return child;
}

bool succeeded(pid_t child) {
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

template <class T>
std::optional<penstock_reply> ask(int fd, const T& message) {
  REQUIRE(::send(fd, &message, sizeof message, MSG_NOSIGNAL) ==
          ssize_t(sizeof message));
  return receive(fd);
}

constexpr double kDelayed_ms = 100;

// The 90th percentile of reply times within a second. Other load of the machine
// may delay the slowest tenth.
double slow_answer_ms(const Fixture& server) {
  std::array<uint64_t, 40> taken_ns;
  for (uint64_t& one_ns : taken_ns) {
    UniqueFd client = server.connect();
    const uint64_t begun_ns = monotonic_ns();
    if (!ask(client.get(), message_of<penstock_status>(PENSTOCK_STATUS))) {
      return 1e9;
    }
    one_ns = monotonic_ns() - begun_ns;
    ::usleep(25'000);
  }
  std::sort(taken_ns.begin(), taken_ns.end());
  return double(taken_ns[35]) * 1e-6;
}

// Floods many connections; writes to `told` whenever one is full.
bool send_without_end(const Fixture& server, int told) {
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 64; ++i) clients.push_back(server.connect());
  const auto thread = message_of<penstock_thread>(PENSTOCK_THREAD);
  for (;;) {
    for (const UniqueFd& client : clients) {
      const ssize_t sent = ::send(client.get(), &thread, sizeof thread,
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) (void)!::write(told, "", 1);
    }
    ::usleep(1000);
  }
}

}  // namespace

TEST_CASE(
    "a reply has the request's id, and the peer's ids come from the kernel") {
  Fixture server;
  UniqueFd client = server.connect();
  auto reply = ask(client.get(), message_of<penstock_status>(PENSTOCK_STATUS));
  REQUIRE(reply.has_value());
  CHECK(reply->status == 0);
  CHECK(reply->header.request_id == 41);
  CHECK(server.last_peer.pid == ::getpid());
  CHECK(server.last_peer.uid == ::getuid());
}

TEST_CASE("a reply carries descriptors") {
  Fixture server;
  UniqueFd client = server.connect();
  auto hello = message_of<penstock_hello>(PENSTOCK_HELLO);
  REQUIRE(::send(client.get(), &hello, sizeof hello, 0) > 0);
  size_t fds = 0;
  REQUIRE(receive(client.get(), &fds).has_value());
  CHECK(fds == 2);
}

TEST_CASE(
    "malformed and oversized messages are refused, later ones are answered") {
  Fixture server;
  UniqueFd client = server.connect();
  const std::string junk(PENSTOCK_MESSAGE_MAX_BYTES * 4, 'x');
  for (size_t size : {size_t(1), sizeof(penstock_header), size_t(500),
                      size_t(PENSTOCK_MESSAGE_MAX_BYTES), junk.size()}) {
    REQUIRE(::send(client.get(), junk.data(), size, MSG_NOSIGNAL) > 0);
    auto reply = receive(client.get());
    REQUIRE(reply.has_value());
    CHECK(reply->status == EINVAL);
    CHECK(std::strlen(reply->text) > 0);
  }
  auto reply = ask(client.get(), message_of<penstock_status>(PENSTOCK_STATUS));
  REQUIRE(reply.has_value());
  CHECK(reply->status == 0);
}

TEST_CASE("Slurm's messages are accepted only from root") {
  if (::getuid() != 0) {
    WARN("skipped: needs root to become somebody else");
    return;
  }
  Fixture server;
  CHECK(succeeded(as_user(server, 65534, [&] {
    UniqueFd client = server.connect();
    auto end = message_of<penstock_job_end>(PENSTOCK_JOB_END);
    (void)!::send(client.get(), &end, sizeof end, 0);
    auto reply = receive(client.get());
    return reply && reply->status == EPERM;
  })));
  CHECK(succeeded(as_user(server, 65534, [&] {
    UniqueFd client = server.connect();
    auto off = message_of<penstock_switch>(PENSTOCK_SWITCH);
    off.off = 1;
    (void)!::send(client.get(), &off, sizeof off, 0);
    auto reply = receive(client.get());
    return reply && reply->status == EPERM &&
           std::string(reply->text) == "only root may send this";
  })));
}

TEST_CASE("a user's flood of messages does not delay other users") {
  if (::getuid() != 0) {
    WARN("skipped: needs root to become somebody else");
    return;
  }
  Fixture server;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd heard(ends[0]), told(ends[1]);
  REQUIRE(::fcntl(told.get(), F_SETFL, O_NONBLOCK) == 0);
  const pid_t flood = as_user(
      server, 65534, [&] { return send_without_end(server, told.get()); });
  pollfd full{heard.get(), POLLIN, 0};
  REQUIRE(::poll(&full, 1, 10'000) == 1);  // faster than the server reads
  const pid_t other = as_user(
      server, 65533, [&] { return slow_answer_ms(server) < kDelayed_ms; });
  CHECK(slow_answer_ms(server) < kDelayed_ms);
  CHECK(succeeded(other));
  CHECK(::waitpid(flood, nullptr, WNOHANG) == 0);  // the flood continues
  ::kill(flood, SIGKILL);
  CHECK_FALSE(succeeded(flood));
  CHECK(slow_answer_ms(server) < kDelayed_ms);
}

double cpu_s() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return double(used.tv_sec) + double(used.tv_nsec) * 1e-9;
}

TEST_CASE("without free descriptors a connection waits, and none is spun for") {
  Fixture fixture;
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{rlim_t(fd.get()), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, fixture.path.c_str());
  const int connected = ::connect(
      fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const auto hello = message_of<penstock_hello>(PENSTOCK_HELLO);
  const ssize_t sent = ::send(fd.get(), &hello, sizeof hello, 0);
  const double begun_s = cpu_s();
  ::poll(nullptr, 0, 500);
  const double used_s = cpu_s() - begun_s;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(connected == 0);
  CHECK(sent == ssize_t(sizeof hello));
  CHECK(used_s < 0.1);
  CHECK(receive(fd.get()));
}

TEST_CASE("messages beyond a user's budget are answered later, not dropped") {
  if (::getuid() != 0) {
    WARN("skipped: needs root to become somebody else");
    return;
  }
  Fixture server;
  CHECK(succeeded(as_user(server, 65534, [&] {
    UniqueFd client = server.connect();
    const auto thread = message_of<penstock_thread>(PENSTOCK_THREAD);
    const uint64_t begun_ns = monotonic_ns();
    for (int i = 0; i < 30; ++i) {
      if (::send(client.get(), &thread, sizeof thread, 0) < 0) return false;
    }
    for (int i = 0; i < 30; ++i) {
      if (!receive(client.get())) return false;
    }
    // 150 ms of work; the part beyond the burst is delayed.
    return monotonic_ns() - begun_ns > 500'000'000;
  })));
}

TEST_CASE("a user pays for penstockd's CPU time, not for its wait for a CPU") {
  if (::getuid() != 0) {
    WARN("skipped: needs root to become somebody else");
    return;
  }
  Fixture server;
  CHECK(succeeded(as_user(server, 65534, [&] {
    UniqueFd client = server.connect();
    const auto limit = message_of<penstock_limit>(PENSTOCK_LIMIT);
    const uint64_t begun_ns = monotonic_ns();
    for (int i = 0; i < 60; ++i) {
      if (!ask(client.get(), limit)) return false;
    }
    // 300 ms without CPU. As the user's time they would take 2.6 s.
    return monotonic_ns() - begun_ns < 2'000'000'000;
  })));
}

TEST_CASE(
    "connections are limited for users, each and in total, but not for root") {
  constexpr size_t kAll = Server::kMaxConnections, kOne = Server::kMaxPerUser;
  CHECK(Server::may_connect(1000, kAll - 1, kOne - 1));
  CHECK_FALSE(Server::may_connect(1000, kAll, 0));
  CHECK_FALSE(Server::may_connect(1000, 0, kOne));
  CHECK(Server::may_connect(0, kAll, kOne));
}
