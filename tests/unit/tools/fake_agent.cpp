#include "fake_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

std::vector<UniqueFd> documents(const FakeAnswer& answer) {
  std::vector<UniqueFd> out;
  if (answer.document.empty()) return out;
  for (int i = 0; i < answer.documents; ++i) {
    UniqueFd fd(::memfd_create("document", MFD_CLOEXEC));
    const std::string& text = answer.document;
    if (::write(fd.get(), text.data(), text.size()) < 0) return out;
    out.push_back(std::move(fd));
  }
  return out;
}

void send_answer(int fd, FakeAnswer& answer) {
  std::vector<UniqueFd> owned = documents(answer);
  std::vector<int> fds;
  for (const UniqueFd& each : owned) fds.push_back(each.get());
  iovec data{&answer.reply, answer.reply_bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size() * sizeof(int));
  }
  ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

ScratchDirectory::ScratchDirectory() {
  char name[] = "/tmp/penstock-tools-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  path = name;
}

ScratchDirectory::~ScratchDirectory() { std::filesystem::remove_all(path); }

void ScratchDirectory::make(const std::string& name) const {
  std::filesystem::create_directory(file(name));
}

void ScratchDirectory::write(const std::string& name,
                             const std::string& text) const {
  std::ofstream(file(name)) << text;
}

FakeAgent::FakeAgent(const std::string& path, Handler handler)
    : handler_(std::move(handler)) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  stop_read_.reset(ends[0]);
  stop_write_.reset(ends[1]);
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
                 sizeof(address)) == 0);
  REQUIRE(::listen(listener_.get(), 8) == 0);
  thread_ = std::thread([this] { serve(); });
}

FakeAgent::~FakeAgent() {
  stop_write_.reset();
  thread_.join();
}

void FakeAgent::serve() {
  while (true) {
    pollfd waits[] = {{listener_.get(), POLLIN, 0},
                      {stop_read_.get(), POLLIN, 0}};
    // A test that changes its user interrupts all its threads.
    if (::poll(waits, 2, -1) < 0) continue;
    if (waits[1].revents) return;
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (fd) answer_one(fd.get());
  }
}

void FakeAgent::answer_one(int fd) {
  penstock_status request{};
  if (::recv(fd, &request, sizeof(request), 0) != sizeof(request)) return;
  FakeAnswer answer;
  answer.reply.header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                         PENSTOCK_REPLY, sizeof(penstock_reply),
                         request.header.request_id};
  handler_(request, answer);
  if (answer.hang_up) return;
  if (!answer.silent) return send_answer(fd, answer);
  pollfd waits[] = {{fd, POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
  ::poll(waits, 2, -1);  // until the client gives up
}

}  // namespace penstock
