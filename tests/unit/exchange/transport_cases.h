// Cases for every transport, run on each rank. Each returns the error, or "".
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "exchange/transport/transport.h"

namespace penstock::exchange::test {

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
std::span<std::byte> room_of(T& values) {
  return std::as_writable_bytes(std::span(values));
}

// Waits for the end of an operation; false: it failed, or took 10 s.
inline bool wait_for(Transport& transport,
                     const Result<Transport::Request>& request,
                     size_t* received = nullptr) {
  if (!request) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    const Result<bool> done = transport.test(*request, received);
    if (!done) return false;
    if (*done) return true;
    std::this_thread::yield();
  }
  return false;
}

// Messages of a sender and tag arrive in order and complete.
inline std::string messages_arrive(Transport& transport) {
  const int ranks = transport.size();
  const int to = (transport.rank() + 1) % ranks;
  const int from = (transport.rank() + ranks - 1) % ranks;
  const uint64_t finished = transport.finished();
  for (int i = 0; i < 100; ++i) {
    const std::array<int, 2> one{transport.rank(), i}, two{i, -i};
    std::array<int, 3> got{}, other{};
    size_t received = 0;
    const auto second = transport.receive(from, 2, room_of(other));
    const auto sends_two = transport.send(to, 2, bytes_of(two));
    const auto sends_one = transport.send(to, 1, bytes_of(one));
    const auto first = transport.receive(from, 1, room_of(got));
    const bool are_done =
        wait_for(transport, first, &received) && wait_for(transport, second) &&
        wait_for(transport, sends_one) && wait_for(transport, sends_two);
    if (!are_done) return "a message did not arrive";
    if (received != sizeof one) return "a message has another length";
    if (got != std::array{from, i, 0} || other != std::array{i, -i, 0}) {
      return "a message is another one";
    }
  }
  if (transport.finished() != finished + 400) return "some are not counted";
  return "";
}

// All ranks get every rank's values; the later operation is waited for first.
inline std::string all_have_all(Transport& transport) {
  const int ranks = transport.size();
  for (int i = 0; i < 50; ++i) {
    const std::array<int, 1> mine{transport.rank() * 1000 + i};
    const std::array<int, 2> next{i, transport.rank()};
    std::vector<int> all(static_cast<size_t>(ranks)), later(all.size() * 2);
    const auto gather = transport.allgather(bytes_of(mine), room_of(all));
    const auto second = transport.allgather(bytes_of(next), room_of(later));
    if (!wait_for(transport, second)) return "the later one is not there";
    if (!wait_for(transport, gather)) return "what others gave is not there";
    for (int rank = 0; rank < ranks; ++rank) {
      if (all[size_t(rank)] != rank * 1000 + i) return "it is another's";
      if (later[2 * size_t(rank)] != i || later[2 * size_t(rank) + 1] != rank) {
        return "the later one is another's";
      }
    }
  }
  return "";
}

// A message longer than the receiver's room is an error there.
inline std::string too_long_is_an_error(Transport& transport) {
  std::array<int, 2> values{};
  if (transport.rank() == 0) {
    return wait_for(transport, transport.send(1, 1, bytes_of(values)))
               ? ""
               : "it was not sent";
  }
  if (transport.rank() > 1) return "";
  const auto request =
      transport.receive(0, 1, room_of(values).first(sizeof(int)));
  return wait_for(transport, request) ? "it was taken" : "";
}

// Operations without their counterpart stay incomplete and block no call. A
// rank sends only after the receiver has found no message.
inline std::string nothing_waits(Transport& transport) {
  const int ranks = transport.size();
  const int next = (transport.rank() + 1) % ranks;
  const int before = (transport.rank() + ranks - 1) % ranks;
  std::array<int, 1> value{}, looked{}, has_looked{};
  const auto request = transport.receive(next, 3, room_of(value));
  if (!request) return "it was refused";
  for (int i = 0; i < 10; ++i) {
    const auto done = transport.test(*request);
    if (!done || *done) return "it was done by nobody";
  }
  const auto tells = transport.send(next, 4, bytes_of(looked));
  const bool may_send =
      wait_for(transport, transport.receive(before, 4, room_of(has_looked)));
  const auto sends = transport.send(before, 3, bytes_of(value));
  return may_send && wait_for(transport, tells) && wait_for(transport, sends) &&
                 wait_for(transport, request)
             ? ""
             : "it did not come";
}

}  // namespace penstock::exchange::test
