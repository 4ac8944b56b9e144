// Messages between agents and controllers, sealed, numbered and checked. One
// thread owns the sockets and calls munge, both of which may hang; whoever
// uses a Link never waits.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"
#include "select_ext/ctld/credential.h"
#include "select_ext/ctld/envelope.h"
#include "select_ext/ctld/messages.h"
#include "select_ext/ctld/zmq_socket.h"

namespace penstock {

// How long a message can be believed; also how far clocks may differ.
inline constexpr int kMessageLife_s = 60;

// What has come in: a message, or that a connection stands.
struct Arrived {
  bool is_connection = false;
  size_t controller = 0;  // by the order of Link::Settings::connect
  Envelope envelope;
  uint64_t missed = 0;
  uid_t uid = kAnyUid;  // who sealed it
  std::string route;    // of a question: where its answer goes
};

class Link {
 public:
  struct Settings {
    std::string node;                  // who we are
    std::string bind;                  // a controller's, "tcp://*:6830"
    std::vector<std::string> connect;  // an agent's, one for each controller
    std::function<std::unique_ptr<Credentials>()> make_credentials;
    std::vector<uid_t> trusted = {0};  // whose messages are believed
    Guard::Limits limits{double(kMessageLife_s), double(kMessageLife_s)};
  };

  // Errors: kUnavailable  a socket, or a thread, cannot be had
  static Result<std::unique_ptr<Link>> start(Settings settings);
  // Waits for the thread: as long as one call of the credentials takes.
  ~Link();

  // To one agent, by its name. False: the queue is full, nothing is sent.
  // A message for a peer that is not there is lost; the next one then shows
  // the receiver that one is missing.
  bool send(const std::string& node, TypedBody body);
  // To each controller.
  bool send_all(const TypedBody& body);

  // To whoever asked, who alone can open it. Questions are what a bound link
  // takes from everybody: messages of kQueryType. False as of send().
  bool answer(const Arrived& question, TypedBody body);

  // Readable while take() has something.
  int ready_fd() const { return ready_.get(); }
  std::vector<Arrived> take();
  // Why messages were left out or not sent, for the log: not all of them.
  std::vector<std::string> take_complaints();

  int bound_port() const { return bound_port_; }

  static constexpr size_t kMaxQueued = 65536;

 private:
  // NOLINTNEXTLINE(bugprone-exception-escape): see TypedBody.
  struct Outgoing {
    std::string node;
    size_t controller = 0;
    TypedBody body;
    std::string route;            // of an answer
    uid_t reader = 0;             // of an answer
    uint32_t newest_version = 0;  // that its reader knows
  };

  explicit Link(Settings settings);
  Status open();
  void serve();
  bool wait();
  void read(size_t index);
  void open_message(size_t index, const ZmqSocket::Message& message);
  void write();
  Status seal_and_send(Outgoing& out);
  Status seal_answer(Outgoing& out);
  bool queue(Outgoing out);
  bool is_trusted(uid_t uid) const;
  bool is_full() const;
  void arrive(Arrived arrived);
  void complain(const std::string& text);
  void wake();

  Settings settings_;
  ZmqContext context_;
  std::vector<ZmqSocket> sockets_;
  int bound_port_ = 0;
  UniqueFd ready_;
  UniqueFd wake_;

  // Of the thread alone.
  std::unique_ptr<Credentials> credentials_;
  Guard guard_;
  std::map<std::string, Sender> senders_;      // by peer
  std::map<std::string, std::string> routes_;  // by node, where bound
  uint64_t complained_ns_ = 0;
  uint64_t not_complained_ = 0;

  mutable std::mutex mutex_;
  std::deque<Arrived> arrived_;
  std::deque<Outgoing> outgoing_;
  std::vector<std::string> complaints_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace penstock
