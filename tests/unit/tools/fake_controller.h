// Answers queries like penstockctld, or with invalid answers.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "common/config.h"
#include "link/credential.h"
#include "link/listener.h"
#include "wire/query.h"

namespace penstock {

// Seals by writing sealer and reader before the payload.
class PlainCredentials final : public Credentials {
 public:
  explicit PlainCredentials(uid_t uid) : uid_(uid) {}

  Result<std::string> encode(std::string_view payload, uid_t restrict_uid,
                             int ttl_s) override;
  Result<Opened> decode(const std::string& credential) override;

 private:
  uid_t uid_;
};

// A received query, and its answer.
struct Asked {
  Opened opened;
  Envelope envelope;
  ControllerQuery query;
};
// nullopt: no answer at all.
using Answer = std::function<std::optional<std::string>(const Asked&)>;

// The sealed answer that penstockctld would send.
std::string sealed_answer(const Asked& asked,
                          const Result<nlohmann::json>& document,
                          uid_t sealer = 0);

// What penstockctld sends to a peer who sealed for another user.
std::string sealed_resync(uid_t sealer);

// Listens on a free port until it is destroyed.
class FakeController {
 public:
  // user  who opens queries
  explicit FakeController(Answer answer, uid_t user = 0);
  ~FakeController();

  ControllerAddress address() const { return address_; }

 private:
  void serve();
  void answer_one(const Listener::Message& message);

  Answer answer_;
  uid_t user_;
  Listener listener_;
  ControllerAddress address_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace penstock
