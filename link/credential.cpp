#include "link/credential.h"

#include <munge.h>
#include <sys/random.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "common/blocked_thread.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxTtl_s = 3600;

struct Context {
  explicit Context(const std::string& socket_path) : it(munge_ctx_create()) {
    if (it && !socket_path.empty()) {
      munge_ctx_set(it, MUNGE_OPT_SOCKET, socket_path.c_str());
    }
  }
  ~Context() {
    if (it) munge_ctx_destroy(it);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  munge_ctx_t it;
};

CredentialTimes times_of(munge_ctx_t context) {
  time_t encoded = 0, decoded = 0;
  CredentialTimes times;
  munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &encoded);
  munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &decoded);
  munge_ctx_get(context, MUNGE_OPT_TTL, &times.ttl_s);
  times.encoded_unix_s = encoded;
  times.decoded_unix_s = decoded;
  return times;
}

Error refusal(munge_err_t code, munge_ctx_t context) {
  const char* socket = nullptr;
  munge_ctx_get(context, MUNGE_OPT_SOCKET, &socket);
  const char* detail = munge_ctx_strerror(context);
  if (!detail) detail = munge_strerror(code);
  return credential_error(code, times_of(context), socket ? socket : "?",
                          detail);
}

}  // namespace

// One request to munged; the worker thread fills in the result.
struct MungeCredentials::Call {
  std::string socket_path;
  bool opens = false;
  std::string input;
  uid_t restrict_uid = kAnyUid;
  int ttl_s = 0;
  std::optional<Error> error;
  Opened opened;       // result of open()
  std::string sealed;  // result of seal()

  void make();

 private:
  void seal(munge_ctx_t context);
  void open(munge_ctx_t context);
};

void MungeCredentials::Call::seal(munge_ctx_t context) {
  munge_ctx_set(context, MUNGE_OPT_TTL, ttl_s);
  if (restrict_uid != kAnyUid) {
    munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, restrict_uid);
  }
  char* text = nullptr;
  const munge_err_t code =
      munge_encode(&text, context, input.data(), int(input.size()));
  if (code == EMUNGE_SUCCESS) {
    sealed = text;
  } else {
    error = refusal(code, context);
  }
  std::free(text);
}

void MungeCredentials::Call::open(munge_ctx_t context) {
  void* data = nullptr;
  int size = 0;
  const munge_err_t code = munge_decode(input.c_str(), context, &data, &size,
                                        &opened.uid, &opened.gid);
  if (code == EMUNGE_SUCCESS) {
    opened.payload.assign(static_cast<const char*>(data), size_t(size));
    opened.encoded_unix_s = times_of(context).encoded_unix_s;
  } else {
    error = refusal(code, context);
  }
  std::free(data);
}

void MungeCredentials::Call::make() {
  Context context(socket_path);
  if (!context.it) {
    error = Error{Code::kUnavailable, ENOMEM, "no memory for munge"};
  } else if (opens) {
    open(context.it);
  } else {
    seal(context.it);
  }
}

// State shared by the owner and the thread that calls munged.
struct MungeCredentials::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<Call> wanted;   // queued, not begun
  std::shared_ptr<Call> running;  // begun, not done
  Clock::time_point began;
  bool stopping = false;

  void serve();
};

void MungeCredentials::Worker::serve() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || wanted; });
    if (stopping) return;
    running = std::move(wanted);
    const std::shared_ptr<Call> call = running;
    lock.unlock();
    call->make();
    lock.lock();
    running.reset();
    changed.notify_all();
  }
}

MungeCredentials::MungeCredentials(std::string socket_path, int timeout_ms)
    : socket_path_(std::move(socket_path)), timeout_ms_(timeout_ms) {}

MungeCredentials::~MungeCredentials() {
  if (!worker_) return;
  const std::lock_guard lock(worker_->mutex);
  worker_->stopping = true;
  worker_->changed.notify_all();
}

// The error for a munged that does not answer; `how` says since when.
Error MungeCredentials::silent(const std::string& how) const {
  return Error{Code::kUnavailable, ETIMEDOUT,
               "munged" + (socket_path_.empty() ? "" : " at " + socket_path_) +
                   how + "; restart it: systemctl restart munge"};
}

Status MungeCredentials::start_worker() {
  if (worker_) return Done{};
  auto worker = std::make_shared<Worker>();
  Result<std::thread> thread =
      start_blocked_thread([worker] { worker->serve(); });
  if (!thread) return std::move(thread).error().wrap("munge");
  // The thread may hang in libmunge when its owner is destroyed. It then ends
  // by itself after libmunge returns.
  thread->detach();
  worker_ = std::move(worker);
  return Done{};
}

Status MungeCredentials::run(const std::shared_ptr<Call>& call) {
  Status started = start_worker();
  if (!started) return started;
  Worker& worker = *worker_;
  std::unique_lock lock(worker.mutex);
  const auto idle = [&] { return !worker.wanted && !worker.running; };
  if (!idle()) {
    const auto hangs_s = std::chrono::duration_cast<std::chrono::seconds>(
        Clock::now() - worker.began);
    return silent(" has not answered for " + std::to_string(hangs_s.count()) +
                  " s");
  }
  call->socket_path = socket_path_;
  worker.began = Clock::now();
  worker.wanted = call;
  worker.changed.notify_all();
  if (!worker.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms_),
                               idle)) {
    worker.wanted.reset();  // drop a call that has not begun
    return silent(" does not answer within " + std::to_string(timeout_ms_) +
                  " ms");
  }
  if (call->error) return *std::move(call->error);
  return Done{};
}

Result<std::string> MungeCredentials::encode(std::string_view payload,
                                             uid_t restrict_uid, int ttl_s) {
  if (ttl_s < 1 || ttl_s > kMaxTtl_s) {
    return invalid("a credential's ttl_s: " + std::to_string(ttl_s) +
                   "; allowed: 1 to " + std::to_string(kMaxTtl_s));
  }
  if (payload.size() > kMaxPayloadBytes) {
    return Error{Code::kLimit, 0,
                 "a message of " + std::to_string(payload.size()) +
                     " bytes; allowed: " + std::to_string(kMaxPayloadBytes)};
  }
  auto call = std::make_shared<Call>();
  call->input = payload;
  call->restrict_uid = restrict_uid;
  call->ttl_s = ttl_s;
  Status made = run(call);
  if (!made) return std::move(made).error();
  return std::move(call->sealed);
}

Result<Opened> MungeCredentials::decode(const std::string& credential) {
  if (credential.size() > kMaxCredentialBytes) {
    return Error{Code::kLimit, 0,
                 "a credential of " + std::to_string(credential.size()) +
                     " bytes; allowed: " + std::to_string(kMaxCredentialBytes)};
  }
  auto call = std::make_shared<Call>();
  call->opens = true;
  call->input = credential;
  Status made = run(call);
  if (!made) return std::move(made).error();
  return std::move(call->opened);
}

uint64_t random_session() {
  uint64_t session = 0;
  // getrandom() returns 8 bytes whole once the kernel's pool is ready, which is
  // long before any daemon starts.
  while (session == 0) {
    (void)!::getrandom(&session, sizeof session, 0);
  }
  return session;
}

}  // namespace penstock
