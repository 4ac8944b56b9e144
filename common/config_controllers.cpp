// Parses the value of Controller=.
#include <algorithm>

#include "common/config.h"
#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

constexpr size_t kMaxControllers = 8;
constexpr size_t kMaxHostBytes = 253;

bool valid_host(std::string_view host) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == ':';
  };
  return !host.empty() && host.size() <= kMaxHostBytes &&
         std::all_of(host.begin(), host.end(), allowed);
}

Result<ControllerAddress> parse_controller(std::string_view text) {
  ControllerAddress address;
  size_t port_at = text.find(':');
  if (!text.empty() && text.front() == '[') {
    const size_t close = text.find(']');
    if (close == text.npos) return invalid("a '[' without ']'");
    address.host = text.substr(1, close - 1);
    port_at = close + 1 < text.size() ? close + 1 : text.npos;
    if (port_at != text.npos && text[port_at] != ':') {
      return invalid("text after ']'");
    }
  } else {
    address.host = text.substr(0, port_at);
  }
  if (!valid_host(address.host)) return invalid("no host name");
  if (port_at == text.npos) return address;
  const auto port = parse_uint(text.substr(port_at + 1), 1, 65535);
  if (!port) return invalid("the port " + port.error().message);
  address.port = int(*port);
  return address;
}

}  // namespace

std::string ControllerAddress::to_string() const {
  const bool is_ipv6 = host.find(':') != host.npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::vector<ControllerAddress>> parse_controllers(
    std::string_view text) {
  std::vector<ControllerAddress> controllers;
  for (const std::string_view part : split(text, ',')) {
    Result<ControllerAddress> one = parse_controller(part);
    if (!one) return std::move(one).error();
    if (std::find(controllers.begin(), controllers.end(), *one) !=
        controllers.end()) {
      return invalid(one->to_string() + " given twice");
    }
    controllers.push_back(*std::move(one));
  }
  if (controllers.size() > kMaxControllers) {
    return invalid("more than " + std::to_string(kMaxControllers));
  }
  return controllers;
}

}  // namespace penstock
