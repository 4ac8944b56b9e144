// Sealed, numbered and checked messages between agents and controllers. A
// message can be opened only by its receiver's user: the one who sealed the
// last message from there, at first Trust::expected(). A controller who cannot
// open a message answers with a Resync, which has nothing to hide. One thread
// owns the sockets and calls munge, as both may hang. Callers of a Link never
// wait.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/result.h"
#include "common/waker.h"
#include "link/credential.h"
#include "link/listener.h"
#include "link/trust.h"
#include "link/zmq_socket.h"
#include "wire/envelope.h"
#include "wire/messages.h"

namespace penstock {

// Lifetime of a message; also the largest clock skew accepted.
inline constexpr int kMessageLife_s = 60;

// A received message, or notice of a new connection.
struct Arrived {
  bool is_connection = false;
  bool is_question = false;
  size_t controller = 0;  // index into Link::Settings::connect
  Envelope envelope;
  uint64_t missed = 0;
  uid_t uid = kAnyUid;  // user who sealed it
  uint64_t route = 0;   // of a question: its connection; else 0
};

class Link {
 public:
  struct Settings {
    std::string node;                     // our name in envelopes
    std::optional<ListenAddress> listen;  // controllers
    std::vector<std::string> connect;     // agents: one address per controller
    std::function<std::unique_ptr<Credentials>()> make_credentials;
    Trust trust;  // whose messages are accepted, besides questions
    Guard::Limits limits{double(kMessageLife_s), double(kMessageLife_s)};
  };

  // Errors: kUnavailable  no socket or no thread available
  static Result<std::unique_ptr<Link>> start(Settings settings);
  // Waits for the thread, at most as long as one call of the credentials takes.
  ~Link();

  // Queues a message to one agent, by name. False: the queue is full, nothing
  // is sent. A message to an absent peer is lost; the receiver sees the gap in
  // the sequence of the next one.
  bool send(const std::string& node, TypedBody body);
  // Queues a message to each controller. False as of send().
  bool send_all(const TypedBody& body);
  // Queues a message to one, by its index into Settings::connect.
  bool send_to(size_t controller, TypedBody body);

  // Queues the answer to a question, sealed for the asking user alone.
  // Questions are messages of kQueryType; a listening link takes them from
  // every user. Sent after all other messages; thread-safe. False: too many
  // answers wait, nothing is sent.
  bool answer(const Arrived& question, TypedBody body);

  // Readable while take() has something to return.
  int ready_fd() const { return ready_.fd(); }
  // Questions come last. While nobody takes them, further ones are dropped.
  std::vector<Arrived> take();
  // Reasons for dropped and unsent messages, for the log; rate-limited.
  std::vector<std::string> take_complaints();

  int port() const { return port_; }  // of a listening link

  static constexpr size_t kMaxQueued = 65536;
  static constexpr size_t kMaxQuestions = 256;  // waiting for take()
  static constexpr size_t kMaxAnswers = 64;     // waiting to be sent

 private:
  // NOLINTNEXTLINE(bugprone-exception-escape): see TypedBody.
  struct Outgoing {
    std::string node;
    size_t controller = 0;
    TypedBody body;
    uint64_t route = 0;           // of an answer
    uid_t reader = 0;             // of an answer
    uint32_t newest_version = 0;  // newest version that the reader knows
  };

  explicit Link(Settings settings);
  Status open();
  void serve();
  bool wait();
  void note_connection(size_t index);
  template <class End, class Take>
  void read(End& end, Take take);
  [[nodiscard]] Result<Arrived> open_message(const std::string& text);
  [[nodiscard]] Status admit(Arrived& arrived);
  void refuse(const Arrived& question);
  void take_from_controller(size_t index, const std::string& text);
  void take_from_peer(const Listener::Message& message);
  void introduce(uint64_t route);
  void heard(const std::string& peer, const Arrived& arrived);
  void write();
  Status seal_and_send(Outgoing& out);
  Status seal_answer(Outgoing& out);
  std::optional<Outgoing> next_outgoing();
  uid_t user_of(const std::string& peer) const;
  bool is_full() const;
  void arrive(Arrived arrived);
  void complain(const std::string& text);

  Settings settings_;
  ZmqContext context_;
  std::vector<ZmqSocket> sockets_;    // one per controller
  std::optional<Listener> listener_;  // of a controller
  int port_ = 0;
  Waker ready_;
  Waker waker_;

  // Used by the thread alone.
  std::unique_ptr<Credentials> credentials_;
  Guard guard_;
  std::map<std::string, Sender> senders_;   // by peer
  std::map<std::string, uid_t> users_;      // by peer that has been heard
  std::map<std::string, uint64_t> routes_;  // by node, of a listening link
  uint64_t complained_ns_ = 0;
  uint64_t not_complained_ = 0;

  mutable std::mutex mutex_;
  std::deque<Arrived> arrived_;
  std::deque<Arrived> questions_;
  std::deque<Outgoing> outgoing_;
  std::deque<Outgoing> answers_;
  std::vector<std::string> complaints_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace penstock
