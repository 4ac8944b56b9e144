// Load of an ordinary user on a controller at 127.0.0.1:
//
//   controller_load flood --port P --clients N --seconds S [--frames]
//
// sends texts of the largest size that are no credentials over N connections,
// or with --frames as one endless message of each, and reconnects;
//
//   controller_load ask --port P --clients N --seconds S --munge SOCKET
//
// N clients ask for the history, each again after its answer. The output has a
// JSON line: {"answered", "refused", "reason" of the last refusal}.
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/unique_fd.h"
#include "tools/penstock/controller_client.h"
#include "wire/zmtp.h"

namespace penstock {
namespace {

struct Settings {
  int port = 0;
  int clients = 1;
  double seconds = 1;
  bool frames = false;
  std::string munge;
};

class Flood {
 public:
  explicit Flood(const Settings& settings) : port_(settings.port) {
    std::string header = zmtp_header(kMaxCredentialBytes);
    if (settings.frames) header[0] |= 1;
    text_ = header + std::string(kMaxCredentialBytes, 'x');
    peers_.resize(size_t(settings.clients));
  }

  void run(uint64_t end_ns) {
    while (monotonic_ns() < end_ns) {
      std::vector<pollfd> items;
      for (Peer& peer : peers_) {
        if (!peer.fd) connect(peer);
        items.push_back({peer.fd.get(), POLLOUT, 0});
      }
      ::poll(items.data(), items.size(), 100);
      for (size_t i = 0; i < items.size(); ++i) {
        if (items[i].revents != 0) say(peers_[i]);
      }
    }
  }

 private:
  struct Peer {
    UniqueFd fd;
    size_t said = 0;  // of text_
  };

  void connect(Peer& peer) {
    peer.fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    peer.said = 0;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(uint16_t(port_));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string opening = zmtp_opening();
    if (::connect(peer.fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) !=
            0 ||
        ::send(peer.fd.get(), opening.data(), opening.size(), 0) < 0) {
      peer.fd.reset();
    }
  }

  void say(Peer& peer) {
    const ssize_t sent = ::send(peer.fd.get(), text_.data() + peer.said,
                                text_.size() - peer.said, MSG_DONTWAIT);
    if (sent > 0) {
      peer.said = (peer.said + size_t(sent)) % text_.size();
    } else if (errno != EAGAIN) {
      peer.fd.reset();
    }
  }

  int port_;
  std::string text_;
  std::vector<Peer> peers_;
};

struct Counts {
  std::mutex mutex;
  int answered = 0;
  int refused = 0;
  std::string reason;
};

void ask(const Settings& settings, uint64_t end_ns, Counts& counts) {
  MungeCredentials credentials(settings.munge);
  ControllerQuery query;
  query.what = ControllerQuery::What::kHistory;
  while (monotonic_ns() < end_ns) {
    const auto answer = ask_controllers({{{"127.0.0.1", settings.port}}}, query,
                                        credentials, 20'000);
    const std::lock_guard lock(counts.mutex);
    ++(answer ? counts.answered : counts.refused);
    if (!answer) counts.reason = answer.error().message;
  }
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"load on a controller"};
  CLI::App* flood = app.add_subcommand("flood", "send rubbish");
  CLI::App* asking = app.add_subcommand("ask", "ask for the history");
  for (CLI::App* command : {flood, asking}) {
    command->add_option("--port", settings.port)->required();
    command->add_option("--clients", settings.clients)->required();
    command->add_option("--seconds", settings.seconds)->required();
  }
  flood->add_flag("--frames", settings.frames);
  asking->add_option("--munge", settings.munge)->required();
  CLI11_PARSE(app, argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  const uint64_t end_ns = monotonic_ns() + uint64_t(settings.seconds * 1e9);
  if (flood->parsed()) {
    Flood(settings).run(end_ns);
    return 0;
  }
  (void)::nice(19);  // the controller's CPUs are not what is tested
  Counts counts;
  std::vector<std::jthread> clients;
  for (int i = 0; i < settings.clients; ++i) {
    clients.emplace_back([&] { ask(settings, end_ns, counts); });
  }
  clients.clear();  // waits for them
  std::puts(nlohmann::json{{"answered", counts.answered},
                           {"refused", counts.refused},
                           {"reason", counts.reason}}
                .dump()
                .c_str());
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::run(argc, argv); }
