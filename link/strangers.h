// Shares a listener's room among connections whose sender is not known yet.
// Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace penstock {

// Where there is no room, the address that has most gives way with its oldest
// connection. So no address can displace another that needs less, and many
// nodes behind one address may connect at once: a peer proves itself within
// moments.
class Strangers {
 public:
  Strangers(size_t max_connections, size_t max_bytes)
      : max_connections_(max_connections), max_bytes_(max_bytes) {}

  // id: rises from one connection to the next.
  void add(uint64_t id, const std::string& address);
  // The connection now occupies this much memory. Without effect if the
  // connection is none of these.
  void hold(uint64_t id, size_t bytes);
  void remove(uint64_t id);

  // The connection to close next; nullopt: there is room for all.
  std::optional<uint64_t> one_too_many() const;

  size_t size() const { return by_id_.size(); }

 private:
  struct Group {
    std::set<uint64_t> ids;
    size_t bytes = 0;
  };
  struct Stranger {
    std::map<std::string, Group>::iterator group;
    size_t bytes = 0;
  };

  size_t max_connections_;
  size_t max_bytes_;
  size_t bytes_ = 0;                     // of all
  std::map<std::string, Group> groups_;  // by address
  std::map<uint64_t, Stranger> by_id_;
};

}  // namespace penstock
