#include "tests/unit/libpenstock/fake_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

namespace penstock::test {
namespace {

constexpr size_t kPage = PENSTOCK_PAGE_BYTES;

size_t page_bytes(Reply reply) {
  if (reply == Reply::kSmallPages) return 100;
  if (reply == Reply::kLargePages) return 2 * kPage;
  return kPage;
}

}  // namespace

Page::Page(size_t size_bytes, bool sealed)
    : fd(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      size_bytes_(size_bytes) {
  if (ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) std::abort();
  memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                fd.get(), 0);
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (sealed && fcntl(fd.get(), F_ADD_SEALS, seals) != 0) std::abort();
}

Page::~Page() { munmap(memory, size_bytes_); }

FakeDaemon::FakeDaemon(std::string path, Reply reply)
    : path_(std::move(path)),
      reply_(reply),
      listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  unlink(path_.c_str());
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
           sizeof address) != 0 ||
      listen(listener_.get(), 8) != 0) {
    std::abort();
  }
  thread_ = std::thread([this] { run(); });
}

FakeDaemon::~FakeDaemon() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
  unlink(path_.c_str());
}

penstock_progress_page* FakeDaemon::progress() {
  const std::lock_guard lock(mutex_);
  return static_cast<penstock_progress_page*>(progress_->memory);
}

penstock_hint_page* FakeDaemon::hint() {
  const std::lock_guard lock(mutex_);
  return static_cast<penstock_hint_page*>(hint_->memory);
}

std::map<int32_t, bool> FakeDaemon::threads() {
  const std::lock_guard lock(mutex_);
  return threads_;
}

void FakeDaemon::run() {
  for (;;) {
    std::vector<pollfd> fds{{wake_.get(), POLLIN, 0},
                            {listener_.get(), POLLIN, 0}};
    for (const UniqueFd& client : clients_) {
      fds.push_back({client.get(), POLLIN, 0});
    }
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) return;
    for (size_t i = 2; i < fds.size(); ++i) {
      if (fds[i].revents != 0 && !serve(fds[i].fd)) clients_[i - 2].reset();
    }
    std::erase_if(clients_, [](const UniqueFd& fd) { return !fd; });
    if (fds[1].revents != 0) accept_client();
  }
}

void FakeDaemon::accept_client() {
  UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ++connections_;
  if (reply_ != Reply::kHangsUp) clients_.push_back(std::move(client));
}

bool FakeDaemon::serve(int client) {
  char bytes[PENSTOCK_MESSAGE_MAX_BYTES];
  const ssize_t size = recv(client, bytes, sizeof bytes, 0);
  if (size < static_cast<ssize_t>(sizeof(penstock_header))) return false;
  penstock_header header;
  std::memcpy(&header, bytes, sizeof header);
  if (header.type == PENSTOCK_HELLO) answer_hello(client);
  if (header.type == PENSTOCK_THREAD) {
    penstock_thread thread;
    std::memcpy(&thread, bytes, sizeof thread);
    const std::lock_guard lock(mutex_);
    threads_[thread.tid] = thread.is_loader == 1;
    send_reply(client, 0, {});
  }
  return true;
}

void FakeDaemon::answer_hello(int client) {
  if (reply_ == Reply::kSilent) return;
  const size_t bytes = page_bytes(reply_);
  const bool sealed = reply_ != Reply::kUnsealedPages;
  const std::lock_guard lock(mutex_);
  const bool first = !progress_;
  if (first) {
    progress_ = std::make_unique<Page>(bytes, sealed);
    hint_ = std::make_unique<Page>(bytes, sealed);
  }
  if (first && bytes >= sizeof(penstock_hint_page)) {
    *static_cast<penstock_hint_page*>(hint_->memory) = {
        reply_ == Reply::kWrongMagic ? 7u : PENSTOCK_HINT_MAGIC,
        reply_ == Reply::kWrongVersion ? 2u : PENSTOCK_PAGE_VERSION,
        2,
        3,
        4,
        1500,
        600,
        0};
  }
  const int progress = progress_->fd.get();
  const int hint = hint_->fd.get();
  std::vector<int> fds{progress, hint};
  if (reply_ == Reply::kNoPages) fds.clear();
  if (reply_ == Reply::kOnePage) fds = {progress};
  if (reply_ == Reply::kThreePages) fds = {progress, hint, hint};
  if (reply_ == Reply::kSwappedPages) fds = {hint, progress};
  if (reply_ == Reply::kPipes) fds = {wake_.get(), wake_.get()};
  send_reply(client, reply_ == Reply::kErrorStatus ? EPERM : 0, fds);
}

void FakeDaemon::send_reply(int client, int32_t status,
                            const std::vector<int>& fds) {
  penstock_reply reply{{PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                        PENSTOCK_REPLY, sizeof reply, 0},
                       status,
                       0,
                       ""};
  if (reply_ == Reply::kGarbage) std::memset(&reply, 0x5a, sizeof reply);
  iovec data{&reply, reply_ == Reply::kShort ? sizeof reply / 2 : sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  sendmsg(client, &message, MSG_NOSIGNAL);
}

SocketFolder::SocketFolder() {
  char folder[] = "/tmp/penstock-test-XXXXXX";
  if (mkdtemp(folder) == nullptr) std::abort();
  folder_ = folder;
}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace penstock::test
