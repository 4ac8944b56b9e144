// One end of a connection between nodes, which sends single messages.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "loader/peer/peer_socket.h"
#include "tests/unit/loader_peer/peer_case.h"

namespace penstock::test {

class RawPeer {
 public:
  struct Said {
    PeerHead head;
    std::vector<uint8_t> body;
  };

  explicit RawPeer(UniqueFd fd) : fd_(std::move(fd)) {}
  static RawPeer connect(const std::string& address, uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    REQUIRE(::inet_pton(AF_INET, address.c_str(), &to.sin_addr) == 1);
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to),
                      sizeof to) == 0);
    set_peer_options(fd.get());
    return RawPeer(std::move(fd));
  }

  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }
  bool say_bytes(const void* bytes, size_t count) {
    const auto* rest = static_cast<const uint8_t*>(bytes);
    while (count > 0) {  // a process that is stopped has sent a part
      const ssize_t sent = ::send(fd_.get(), rest, count, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      rest += sent;
      count -= size_t(sent);
    }
    return true;
  }
  bool say(PeerHead head, const std::vector<uint8_t>& body = {}) {
    head.bytes = uint32_t(body.size());
    const PeerHeadBytes bytes = encode_peer_head(head);
    return say_bytes(bytes.data(), bytes.size()) &&
           say_bytes(body.data(), body.size());
  }
  bool say_sample(PeerKind kind, uint64_t index,
                  const std::vector<uint8_t>& sample, int64_t label) {
    return say({kind, 0, index, label, peer_checksum(sample, label)}, sample);
  }
  // Sends only a sample's head.
  bool begin_sample(uint64_t index, uint32_t bytes) {
    const PeerHeadBytes head =
        encode_peer_head({PeerKind::kSample, bytes, index});
    return say_bytes(head.data(), head.size());
  }
  // The next message; nullopt: none in time, or the connection was closed.
  std::optional<Said> hear(int timeout_ms = 10000) {
    while (true) {
      auto frame = input_.next();
      if (!frame) return std::nullopt;
      if (*frame) {
        return Said{(*frame)->head,
                    {(*frame)->body.begin(), (*frame)->body.end()}};
      }
      pollfd readable{fd_.get(), POLLIN, 0};
      if (::poll(&readable, 1, timeout_ms) <= 0) return std::nullopt;
      if (receive(fd_.get(), input_) == PeerReceived::kEnd) return std::nullopt;
    }
  }
  // Whether the other end closes the connection in time.
  bool is_closed(int timeout_ms = 10000) {
    while (true) {
      pollfd readable{fd_.get(), POLLIN, 0};
      if (::poll(&readable, 1, timeout_ms) <= 0) return false;
      char bytes[4096];
      if (::recv(fd_.get(), bytes, sizeof bytes, 0) <= 0) return true;
    }
  }

  // As a client: sends a hello and returns the server's answer.
  std::optional<Said> greet(PeerClaim& claim) {
    claim.client_nonce = random_nonce();
    if (!say({PeerKind::kHello},
             {claim.client_nonce.begin(), claim.client_nonce.end()})) {
      return std::nullopt;
    }
    auto said = hear();
    if (!said || said->head.kind != PeerKind::kChallenge) return std::nullopt;
    std::copy_n(said->body.begin(), kPeerNonceBytes,
                claim.server_nonce.begin());
    return said;
  }
  bool prove(const std::string& credential) {
    return say({PeerKind::kProof}, {credential.begin(), credential.end()});
  }
  // As a server: receives the hello.
  bool hear_hello(PeerClaim& claim) {
    const auto said = hear();
    if (!said || said->head.kind != PeerKind::kHello) return false;
    std::copy_n(said->body.begin(), kPeerNonceBytes,
                claim.client_nonce.begin());
    claim.server_nonce = random_nonce();
    return true;
  }
  bool challenge(const PeerClaim& claim, const std::string& credential) {
    std::vector<uint8_t> body(claim.server_nonce.begin(),
                              claim.server_nonce.end());
    body.insert(body.end(), credential.begin(), credential.end());
    return say({PeerKind::kChallenge}, body);
  }

 private:
  UniqueFd fd_;
  PeerInput input_;
};

}  // namespace penstock::test
