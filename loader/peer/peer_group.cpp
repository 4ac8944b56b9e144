#include "loader/peer/peer_group.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/host_name.h"
#include "common/node_list.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMostNameBytes = 255;
constexpr uint64_t kMostWait_ms = 60000;
constexpr uint64_t kMs_ns = 1000000;

Status check_nodes(const CachePeersOptions& options) {
  std::vector<std::string> sorted = options.nodes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return invalid("the cache's nodes: " + *twice + " comes twice");
  }
  for (const std::string& node : sorted) {
    if (!node.empty() && node.size() <= kMostNameBytes) continue;
    return invalid("the cache's nodes: \"" + node.substr(0, 300) +
                   "\" is not a name of 1 to 255 bytes");
  }
  if (!std::binary_search(sorted.begin(), sorted.end(), options.self)) {
    return invalid("this node, \"" + options.self +
                   "\", is none of the cache's " +
                   std::to_string(sorted.size()) + " nodes");
  }
  return Done{};
}

Status check(const CachePeersOptions& options) {
  if (Status good = check_nodes(options); !good) return good;
  if (options.first_port == 0 || options.last_port < options.first_port) {
    return invalid("ports " + std::to_string(options.first_port) + " to " +
                   std::to_string(options.last_port) +
                   "; allowed: 1 to 65535, at least one");
  }
  for (const uint64_t wait_ms : {options.connect_ms, options.answer_ms}) {
    if (wait_ms >= 1 && wait_ms <= kMostWait_ms) continue;
    return invalid("a node's time to answer: " + std::to_string(wait_ms) +
                   " ms; allowed: 1 to 60000");
  }
  return Done{};
}

// The cache's folder and file name, which are equal on all nodes.
std::string served_name(const std::string& path) {
  const size_t file = path.rfind('/');
  const size_t folder = file == path.npos ? file : path.rfind('/', file - 1);
  return folder == path.npos ? path : path.substr(folder + 1);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

// text: FIRST-LAST or a single port.
Status set_ports(const std::string& text, CachePeersOptions& options) {
  const size_t dash = text.find('-');
  const auto first = parse_uint(text.substr(0, dash), 1, UINT16_MAX);
  const auto last = dash == text.npos
                        ? first
                        : parse_uint(text.substr(dash + 1), 1, UINT16_MAX);
  if (!first || !last || *last < *first) {
    return invalid("PENSTOCK_CACHE_PORTS is \"" + text +
                   "\"; allowed: FIRST-LAST, each 1 to 65535");
  }
  options.first_port = static_cast<uint16_t>(*first);
  options.last_port = static_cast<uint16_t>(*last);
  return Done{};
}

}  // namespace

PeerGroup::PeerGroup(const CachePeersOptions& options, size_t self)
    : placement_(options.nodes), self_(self), pid_(::getpid()) {}

Result<std::shared_ptr<PeerGroup>> PeerGroup::open(
    const std::shared_ptr<SampleCache>& cache, const CachePeersOptions& options,
    const std::shared_ptr<PeerAuthority>& authority) {
  if (Status good = check(options); !good) return std::move(good).error();
  if (Status there = check_authority(authority); !there) {
    return std::move(there).error();
  }
  const auto self =
      std::find(options.nodes.begin(), options.nodes.end(), options.self);
  std::shared_ptr<PeerGroup> group(
      new PeerGroup(options, size_t(self - options.nodes.begin())));
  const uint64_t fingerprint = cache->core().file().header().fingerprint;
  PeerLinkOptions links;
  links.ports = candidate_ports(served_name(cache->path()), fingerprint,
                                options.first_port, options.last_port);
  links.connect_ns = options.connect_ms * kMs_ns;
  links.answer_ns = options.answer_ms * kMs_ns;
  links.fingerprint = fingerprint;
  links.samples = cache->samples();
  links.sample_bytes = options.sample_bytes;
  links.authority = authority;
  auto server = PeerServer::start(
      cache, authority,
      {options.self, options.address, links.ports, options.warn});
  if (!server) return std::move(server).error();
  group->server_ = *std::move(server);
  auto client = PeerClient::start(options.nodes, links, options.warn);
  if (!client) return std::move(client).error();
  group->client_ = *std::move(client);
  return group;
}

// A forked process does not have the threads: joining them would never end.
PeerGroup::~PeerGroup() {
  if (::getpid() == pid_) return;
  (void)server_.release();
  (void)client_.release();
}

bool PeerGroup::get(uint64_t index, std::vector<uint8_t>& out, int64_t& label) {
  return ::getpid() == pid_ &&
         client_->get(placement_.owner(index), index, out, label);
}

void PeerGroup::put(uint64_t index, std::span<const uint8_t> sample,
                    int64_t label) {
  if (::getpid() != pid_) return;
  client_->put(placement_.owner(index), index, sample, label);
}

CachePeersCounters PeerGroup::counters() const { return client_->counters(); }

Result<CachePeersOptions> slurm_cache_peers() {
  std::string list = variable("SLURM_STEP_NODELIST");
  if (list.empty()) list = variable("SLURM_JOB_NODELIST");
  if (list.empty() || variable("SLURMD_NODENAME").empty()) {
    return Error{Code::kNotFound, 0,
                 "no SLURM_JOB_NODELIST and SLURMD_NODENAME, as Slurm sets in "
                 "a job"};
  }
  return listed_cache_peers(list);
}

Result<CachePeersOptions> listed_cache_peers(const std::string& list) {
  CachePeersOptions options;
  options.self = variable("SLURMD_NODENAME");
  if (options.self.empty()) options.self = host_name();
  auto nodes = expand_node_list(list);
  if (!nodes) return std::move(nodes).error();
  options.nodes = *std::move(nodes);
  const std::string ports = variable("PENSTOCK_CACHE_PORTS");
  if (!ports.empty()) {
    if (Status set = set_ports(ports, options); !set) {
      return std::move(set).error();
    }
  }
  return options;
}

Result<std::shared_ptr<CachePeers>> open_cache_peers(
    const std::shared_ptr<SampleCache>& cache,
    const CachePeersOptions& options) {
  auto group = PeerGroup::open(cache, options, munge_authority(options.group));
  if (!group) return std::move(group).error().wrap("between nodes");
  return std::shared_ptr<CachePeers>(*std::move(group));
}

}  // namespace penstock
