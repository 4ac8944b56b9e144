#include "loader/peer/peer_wire.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>

#include "common/unique_fd.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

std::vector<uint8_t> bytes_of(size_t count, uint8_t seed = 1) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = uint8_t(seed + i * 7);
  return bytes;
}

void append(std::vector<uint8_t>& stream, PeerHead head,
            const std::vector<uint8_t>& body) {
  head.bytes = uint32_t(body.size());
  const PeerHeadBytes bytes = encode_peer_head(head);
  stream.insert(stream.end(), bytes.begin(), bytes.end());
  stream.insert(stream.end(), body.begin(), body.end());
}

// Feeds at most `most` bytes at once.
void feed(PeerInput& input, std::span<const uint8_t>& stream, size_t most) {
  const auto room = input.room();
  REQUIRE_FALSE(room.empty());
  const size_t count = std::min({room.size(), stream.size(), most});
  std::copy_n(stream.begin(), count, room.begin());
  input.add(count);
  stream = stream.subspan(count);
}

struct Pair {
  UniqueFd near, far;
  Pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    near.reset(fds[0]);
    far.reset(fds[1]);
  }
};

}  // namespace

TEST_CASE("a parsed head equals the encoded one") {
  const PeerHead head{PeerKind::kSample, 0x01020304, 0x1122334455667788, -3,
                      0xfedcba9876543210};
  const PeerHeadBytes bytes =
      encode_peer_head({PeerKind::kSample, 300, head.index, -3, head.sum});
  const auto read = parse_peer_head(bytes);
  REQUIRE(read);
  CHECK(read->kind == PeerKind::kSample);
  CHECK(read->bytes == 300);
  CHECK(read->index == head.index);
  CHECK(read->label == -3);
  CHECK(read->sum == head.sum);
  // The byte order does not depend on the machine.
  CHECK(encode_peer_head(head)[4] == 4);
  CHECK(encode_peer_head(head)[8] == 0x88);
}

TEST_CASE("invalid heads are refused") {
  const PeerHeadBytes good = encode_peer_head({PeerKind::kGet});
  REQUIRE(parse_peer_head(good));
  for (const size_t place : {0U, 1U, 2U}) {
    auto bad = good;
    ++bad[place];
    CHECK_FALSE(parse_peer_head(bad));
  }
  for (const uint8_t kind : {0, 8, 9, 255}) {
    for (const uint8_t length : {0, 1}) {
      auto bad = good;
      bad[3] = kind;
      bad[4] = length;
      CHECK_FALSE(parse_peer_head(bad));
    }
  }
}

TEST_CASE("each kind of message has its range of lengths") {
  struct Row {
    PeerKind kind;
    uint32_t least, most;
  };
  for (const Row& row : {Row{PeerKind::kHello, 16, 16},
                         {PeerKind::kChallenge, 17, 16 + 8192},
                         {PeerKind::kProof, 1, 8192},
                         {PeerKind::kGet, 0, 0},
                         {PeerKind::kMiss, 0, 0},
                         {PeerKind::kSample, 1, 64 << 20},
                         {PeerKind::kPut, 1, 64 << 20}}) {
    INFO(int(row.kind));
    CHECK(parse_peer_head(encode_peer_head({row.kind, row.least})));
    CHECK(parse_peer_head(encode_peer_head({row.kind, row.most})));
    CHECK_FALSE(parse_peer_head(encode_peer_head({row.kind, row.most + 1})));
    CHECK_FALSE(parse_peer_head(encode_peer_head({row.kind, row.least - 1})));
  }
}

TEST_CASE("a checksum covers the label too") {
  const auto body = bytes_of(100);
  CHECK(peer_checksum(body, 1) == peer_checksum(body, 1));
  CHECK(peer_checksum(body, 1) != peer_checksum(body, 2));
  CHECK(peer_checksum(body, 1) != peer_checksum(bytes_of(100, 2), 1));
}

TEST_CASE("frames are found in a stream divided anywhere") {
  std::vector<uint8_t> stream;
  const std::vector<size_t> sizes{0, 1, 5000, 300000, 31, 2500000, 64};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto kind = sizes[i] == 0 ? PeerKind::kGet : PeerKind::kPut;
    append(stream, {kind, 0, i}, bytes_of(sizes[i], uint8_t(i)));
  }
  for (const size_t most : {7U, 33U, 4096U, 100000U, 10000000U}) {
    PeerInput input;
    std::span<const uint8_t> left(stream);
    size_t found = 0;
    while (!left.empty()) {
      feed(input, left, most);
      while (true) {
        auto frame = input.next();
        REQUIRE(frame);
        if (!*frame) break;
        REQUIRE(found < sizes.size());
        CHECK((*frame)->head.index == found);
        const auto body = bytes_of(sizes[found], uint8_t(found));
        CHECK(std::equal(body.begin(), body.end(), (*frame)->body.begin(),
                         (*frame)->body.end()));
        ++found;
      }
    }
    CHECK(found == sizes.size());
    CHECK_FALSE(input.is_within());
  }
}

TEST_CASE("a head with a large length allocates no memory") {
  std::vector<uint8_t> stream;
  const PeerHeadBytes head =
      encode_peer_head({PeerKind::kPut, kMostPeerSampleBytes});
  stream.assign(head.begin(), head.end());
  PeerInput input;
  std::span<const uint8_t> left(stream);
  feed(input, left, 100);
  auto frame = input.next();
  REQUIRE(frame);
  CHECK_FALSE(*frame);
  REQUIRE(input.begun());
  CHECK(input.begun()->bytes == kMostPeerSampleBytes);
  CHECK(input.is_within());
  CHECK(input.room().size() < (1 << 20));
}

TEST_CASE("a body can be skipped") {
  for (const size_t size : {100U, 200000U}) {
    std::vector<uint8_t> stream;
    append(stream, {PeerKind::kPut, 0, 1}, bytes_of(size));
    append(stream, {PeerKind::kGet, 0, 2}, {});
    for (const size_t most : {40U, 1000U}) {
      PeerInput input;
      std::span<const uint8_t> left(stream);
      uint64_t found = 0;
      bool is_skipped = false;
      while (!left.empty()) {
        feed(input, left, most);
        auto frame = input.next();
        REQUIRE(frame);
        if (*frame) found = (*frame)->head.index;
        if (!*frame && input.begun() && !is_skipped) {
          input.skip_begun();
          is_skipped = true;
        }
      }
      auto frame = input.next();
      REQUIRE(frame);
      if (*frame) found = (*frame)->head.index;
      CHECK(found == 2);
      CHECK(is_skipped == (most < size));
    }
  }
}

TEST_CASE("garbage is a permanent error") {
  PeerInput input;
  const std::vector<uint8_t> garbage(64, 'x');
  std::span<const uint8_t> left(garbage);
  feed(input, left, 64);
  CHECK_FALSE(input.next());
  CHECK_FALSE(input.next());
}

TEST_CASE("frames are sent in order, also a few bytes at a time") {
  const Pair pair;
  const int small = 4096;
  REQUIRE(::setsockopt(pair.near.get(), SOL_SOCKET, SO_SNDBUF, &small,
                       sizeof small) == 0);
  PeerOutput output;
  std::vector<uint8_t> expected;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto body = bytes_of(i % 5 == 0 ? 0 : i * 50, uint8_t(i));
    const auto kind = body.empty() ? PeerKind::kGet : PeerKind::kPut;
    append(expected, {kind, 0, i}, body);
    output.add({kind, 0, i}, body);
  }
  CHECK(output.bytes() == expected.size());
  CHECK(output.puts() == 160);
  std::vector<uint8_t> got;
  auto sent = PeerOutput::Sent::kSome;
  while (got.size() < expected.size()) {
    if (sent == PeerOutput::Sent::kSome) sent = output.send(pair.near.get());
    REQUIRE(sent != PeerOutput::Sent::kBroken);
    uint8_t part[1000];
    const ssize_t count = ::recv(pair.far.get(), part, sizeof part, 0);
    REQUIRE(count > 0);
    got.insert(got.end(), part, part + count);
  }
  CHECK(got == expected);
  CHECK(output.bytes() == 0);
  CHECK(output.puts() == 0);
  CHECK(output.put_bytes() == 0);
}

TEST_CASE("a closed connection is reported") {
  Pair pair;
  pair.far.reset();
  PeerOutput output;
  output.add({PeerKind::kGet});
  CHECK(output.send(pair.near.get()) == PeerOutput::Sent::kBroken);
}

TEST_CASE("each field of a claim changes its text") {
  const PeerClaim claim{{1}, {2}, 3, 4, "node", 5};
  CHECK(server_claim_text(claim) == server_claim_text(claim));
  CHECK(server_claim_text(claim) != client_claim_text(claim));
  std::vector<PeerClaim> others(6, claim);
  others[0].client_nonce[15] = 1;
  others[1].server_nonce[15] = 1;
  others[2].fingerprint = 9;
  others[3].samples = 9;
  others[4].node = "other";
  others[5].port = 9;
  for (const PeerClaim& other : others) {
    CHECK(client_claim_text(other) != client_claim_text(claim));
  }
}
