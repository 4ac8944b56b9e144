// Guard: admits or refuses messages.
#include <fmt/format.h>

#include <algorithm>

#include "common/units.h"
#include "wire/envelope.h"

namespace penstock {
namespace {

constexpr double kMinSweepInterval_s = 1;

Error denied(std::string message) {
  return Error{Code::kPermissionDenied, 0, std::move(message)};
}

}  // namespace

Status Guard::check_age(const Envelope& envelope, double now_unix_s) const {
  const double age_s = now_unix_s - envelope.sent_unix_s;
  if (age_s > limits_.max_age_s) {
    return denied(fmt::format(
        "a message of {} is {:.0f} s old, allowed are {:.0f} s: it was held "
        "up, or that machine's clock is behind this one's; synchronise the "
        "clocks (chrony or NTP)",
        printable(envelope.node), age_s, limits_.max_age_s));
  }
  if (-age_s > limits_.max_ahead_s) {
    return denied(fmt::format(
        "a message of {} is from the future: that machine's clock is {:.0f} s "
        "ahead of this one's, allowed are {:.0f} s; synchronise the clocks "
        "(chrony or NTP)",
        printable(envelope.node), -age_s, limits_.max_ahead_s));
  }
  return Done{};
}

void Guard::forget_old(double now_unix_s) {
  swept_unix_s_ = now_unix_s;
  for (auto it = last_.begin(); it != last_.end();) {
    if (now_unix_s - it->second.sent_unix_s <= limits_.max_age_s) {
      ++it;
      continue;
    }
    const auto user = sessions_of_user_.find(std::get<0>(it->first));
    if (--user->second == 0) sessions_of_user_.erase(user);
    it = last_.erase(it);
  }
}

size_t Guard::sessions_of(uid_t uid) const {
  const auto user = sessions_of_user_.find(uid);
  return user == sessions_of_user_.end() ? 0 : user->second;
}

bool Guard::is_daemon(uid_t uid) const {
  const auto& daemons = limits_.daemons;
  return std::find(daemons.begin(), daemons.end(), uid) != daemons.end();
}

size_t Guard::sessions_of_daemons() const {
  size_t sessions = 0;
  for (const uid_t uid : limits_.daemons) sessions += sessions_of(uid);
  return sessions;
}

Status Guard::make_room(uid_t uid, double now_unix_s) {
  const auto full = [&] {
    const size_t of_daemons = sessions_of_daemons();
    if (is_daemon(uid)) return of_daemons >= limits_.max_sessions_of_daemons;
    return last_.size() - of_daemons >= limits_.max_sessions_of_users ||
           sessions_of(uid) >= limits_.max_sessions_of_user;
  };
  // A sweep visits every session, so a flood of messages must not trigger one
  // per message. A clock set back must not delay the next sweep.
  const double since_s = now_unix_s - swept_unix_s_;
  const double interval_s =
      full() ? kMinSweepInterval_s : std::max(limits_.max_age_s, 1.0);
  if (since_s >= interval_s || since_s < 0) forget_old(now_unix_s);
  if (!full()) return Done{};
  return Error{
      Code::kLimit, 0,
      fmt::format("too many sessions at once ({} of user {}, {} in "
                  "all); wait {:.0f} s",
                  sessions_of(uid), uid, last_.size(), limits_.max_age_s)};
}

Result<uint64_t> Guard::admit(const Envelope& envelope, uid_t uid,
                              double now_unix_s) {
  if (Status fresh = check_age(envelope, now_unix_s); !fresh) {
    return std::move(fresh).error();
  }
  const Key key{uid, envelope.node, envelope.session};
  const auto known = last_.find(key);
  if (known != last_.end()) {
    Last& last = known->second;
    if (envelope.sequence <= last.sequence) {
      return denied(fmt::format(
          "message {} of {} came after its message {}: a replay, or out of "
          "order; it is left out",
          envelope.sequence, printable(envelope.node), last.sequence));
    }
    const uint64_t missed = envelope.sequence - last.sequence - 1;
    last = {envelope.sequence,
            std::max(last.sent_unix_s, envelope.sent_unix_s)};
    return missed;
  }
  if (Status room = make_room(uid, now_unix_s); !room) {
    return std::move(room).error();
  }
  last_[key] = {envelope.sequence, envelope.sent_unix_s};
  ++sessions_of_user_[uid];
  // Of a session that was forgotten, any number may be lost.
  return std::max(envelope.sequence, uint64_t{1}) - 1;
}

}  // namespace penstock
