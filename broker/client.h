// penstockd's end of the broker's socket. A lost broker is fatal: the process
// ends at once, and the guardian, which has a broker of its own, restores the
// jobs. Not thread-safe. What the agent asks for directly is virtual, for
// tests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "broker/message.h"
#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class BrokerClient {
 public:
  // socket: of a broker (broker/start.h).
  //   patience_s  after which a broker without an answer is lost; a move may
  //               wait for the kernel. 0: none.
  explicit BrokerClient(UniqueFd socket, int patience_s = kPatience_s);
  virtual ~BrokerClient() = default;

  // Errors: of the verb; kPermissionDenied  the broker refuses.
  [[nodiscard]] Status change(const BrokerRequest& request) const;
  [[nodiscard]] Result<std::string> read_mark(const std::string& path,
                                              const std::string& name) const;
  [[nodiscard]] Result<uint64_t> pid_namespace(pid_t id) const;
  // Errors: as ProcEvents::subscribe().
  [[nodiscard]] virtual Result<UniqueFd> open_proc_events() const;
  // Listens at SocketPath. Errors: as listen_at().
  [[nodiscard]] virtual Result<UniqueFd> listen() const;
  // Removes the socket's file. The broker's end does so too.
  virtual void stop_listening() const;
  // A child of the broker's does these, and answers through the pipe `answer`.
  // Reads a file with the rights of the user, whose process it must be. The
  // answer: broker/user_reader.h.
  [[nodiscard]] virtual Status read_user_file(const std::string& path,
                                              pid_t process, uid_t user,
                                              int answer) const;
  // What processes of the user read, at most kMaxLookedAt. The answer:
  // broker/reads_look.h.
  [[nodiscard]] virtual Status look_at_reads(
      const std::vector<pid_t>& processes, uid_t user, int answer) const;
  // path: a MetricsFile of penstock.conf. The answer: "=", or a message.
  [[nodiscard]] virtual Status write_metrics(const std::string& path,
                                             const std::string& text,
                                             int answer) const;
  [[nodiscard]] virtual Status remove_metrics(const std::string& path,
                                              int answer) const;
  // Returns the number of caches removed; times in seconds, now_s since 1970.
  virtual uint64_t sweep_caches(uint64_t most_keep_s, uint64_t now_s) const;

  // Gives StateDir and ReportDir to AgentUser, if they are root's: at the
  // start, and at each reload, for which systemd takes them back. Errors: as
  // give_state_dir().
  [[nodiscard]] virtual Status give_directories() const;

  static constexpr int kPatience_s = 10;

  // Between requests it hangs up if the broker ends. The process must then end,
  // by give_up(), before it takes on what it cannot do.
  int descriptor() const { return socket_.get(); }
  [[noreturn]] static void give_up(const std::string& why);

 private:
  struct Answer {
    BrokerReply reply;
    UniqueFd fd;
  };
  Answer ask(const BrokerRequest& request, std::span<const int> fds = {}) const;
  Result<UniqueFd> ask_for_descriptor(Verb verb) const;

  UniqueFd socket_;
};

}  // namespace penstock
