#define _GNU_SOURCE /* struct ucred */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/protocol.h"
#include "libpenstock/handle.h"

enum { MAX_FDS = 8, MAX_DRAINED = 64, OVERFLOW_UID = 65534 };

uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void disconnect(struct penstock_handle* handle) {
  if (handle->socket >= 0) close(handle->socket);
  handle->socket = -1;
  if (handle->state == CONNECTED) drop_pages(handle);
  handle->state = DISCONNECTED;
  for (uint32_t i = 0; i < handle->thread_count; ++i) {
    handle->threads[i].announced = false;
  }
}

static struct penstock_header make_header(uint16_t type, size_t size_bytes) {
  struct penstock_header header = {PENSTOCK_MAGIC, PENSTOCK_PROTOCOL_VERSION,
                                   type, (uint32_t)size_bytes, 0};
  return header;
}

static bool send_message(const struct penstock_handle* handle,
                         const void* message, size_t size_bytes) {
  return send(handle->socket, message, size_bytes,
              MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size_bytes;
}

/* penstockd runs as root, or as the job's user in a test. In a container's user
 * namespace root appears as the overflow uid. */
static bool peer_may_be_penstockd(int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == OVERFLOW_UID || peer.uid == geteuid();
}

static void start_greeting(struct penstock_handle* handle) {
  const int type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;
  handle->socket = socket(AF_UNIX, type, 0);
  if (handle->socket < 0) return;
  struct penstock_hello hello = {make_header(PENSTOCK_HELLO, sizeof hello),
                                 PENSTOCK_PAGE_VERSION, 0};
  if (connect(handle->socket, (const struct sockaddr*)&handle->address,
              sizeof handle->address) != 0 ||
      !peer_may_be_penstockd(handle->socket) ||
      !send_message(handle, &hello, sizeof hello)) {
    disconnect(handle);
    return;
  }
  handle->state = GREETING;
}

static int collect_fds(struct msghdr* message, int fds[MAX_FDS]) {
  int count = 0;
  for (struct cmsghdr* control = CMSG_FIRSTHDR(message); control != NULL;
       control = CMSG_NXTHDR(message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    size_t bytes = control->cmsg_len - CMSG_LEN(0);
    for (size_t i = 0; i < bytes / sizeof(int) && count < MAX_FDS; ++i) {
      memcpy(&fds[count++], CMSG_DATA(control) + i * sizeof(int), sizeof(int));
    }
  }
  return count;
}

static bool reply_is_valid(const struct penstock_reply* reply, ssize_t size,
                           int flags) {
  return size == (ssize_t)sizeof *reply &&
         (flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
         reply->header.magic == PENSTOCK_MAGIC &&
         reply->header.version == PENSTOCK_PROTOCOL_VERSION &&
         reply->header.type == PENSTOCK_REPLY &&
         reply->header.size_bytes == sizeof *reply && reply->status == 0;
}

static void finish_greeting(struct penstock_handle* handle) {
  struct penstock_reply reply;
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
  } control;
  struct iovec data = {&reply, sizeof reply};
  struct msghdr message = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  ssize_t size =
      recvmsg(handle->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;

  int fds[MAX_FDS];
  int count = size < 0 ? 0 : collect_fds(&message, fds);
  bool adopted = reply_is_valid(&reply, size, message.msg_flags) &&
                 count == 2 && adopt_pages(handle, fds[0], fds[1]);
  for (int i = 0; i < count; ++i) close(fds[i]);
  if (adopted) {
    handle->state = CONNECTED;
  } else {
    disconnect(handle);
  }
}

/* Discards the replies to THREAD messages: their text is for people, and a
 * refused thread is simply not moved. The kernel drops any fds in them, because
 * recv() has no buffer for control data. */
static bool drain_replies(const struct penstock_handle* handle) {
  char scratch[PENSTOCK_MESSAGE_MAX_BYTES];
  for (int i = 0; i < MAX_DRAINED; ++i) {
    ssize_t size = recv(handle->socket, scratch, sizeof scratch, MSG_DONTWAIT);
    if (size == 0) return false;
    if (size < 0) return errno == EAGAIN || errno == EINTR;
  }
  return true;
}

bool announce_thread(struct penstock_handle* handle, int32_t tid,
                     bool is_loader) {
  if (handle->state != CONNECTED) return false;
  struct penstock_thread thread = {make_header(PENSTOCK_THREAD, sizeof thread),
                                   tid, is_loader ? 1 : 0};
  return send_message(handle, &thread, sizeof thread);
}

static void announce_threads(struct penstock_handle* handle) {
  for (uint32_t i = 0; i < handle->thread_count; ++i) {
    struct thread_entry* entry = &handle->threads[i];
    if (entry->tid == 0 || entry->announced) continue;
    if (!announce_thread(handle, entry->tid, true)) return;
    entry->announced = true;
  }
}

void connection_step(struct penstock_handle* handle) {
  if (handle->state == CONNECTED && !drain_replies(handle)) disconnect(handle);
  if (handle->state == DISCONNECTED) start_greeting(handle);
  if (handle->state == GREETING) finish_greeting(handle);
  if (handle->state == CONNECTED) announce_threads(handle);
}
