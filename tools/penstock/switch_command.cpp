// `penstock off` and `penstock on`.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <ostream>
#include <thread>

#include "common/account.h"
#include "common/clock.h"
#include "common/state_dir.h"
#include "report/json.h"
#include "report/text.h"
#include "tools/penstock/client.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"

namespace penstock {
namespace {

// Threads on their way home keep a group busy for a moment.
constexpr uint64_t kHomePatience_ns = 5'000'000'000;
constexpr auto kAskAgain = std::chrono::milliseconds(100);

Result<NodeSwitch> ask_agent(bool off, const Config& config) {
  Result<std::string> text = ask_switch(config.socket_path, off);
  if (!text) return std::move(text).error();
  Result<NodeSwitch> done = parse_node_switch(*text);
  if (!done) return std::move(done).error().wrap("penstockd's answer");
  return done;
}

Status write_mark(bool off, const Config& config) {
  Result<UniqueFd> dir =
      open_state_dir(config.state_dir, find_uid(config.agent_user).value_or(0));
  if (!dir) return std::move(dir).error();
  if (!off) return unmark_off(dir->get());
  Result<double> since = mark_off(dir->get());
  if (!since) return std::move(since).error();
  return Done{};
}

// Asks until every job is home; returns penstockd's reply.
Result<NodeSwitch> wait_for_home(NodeSwitch first, const Config& config) {
  const uint64_t deadline_ns = monotonic_ns() + kHomePatience_ns;
  NodeSwitch last = first;
  while (last.not_home > 0) {
    if (monotonic_ns() > deadline_ns) {
      return Error{
          Code::kIo, 0,
          fmt::format(
              "off, but some threads of {} jobs are not home yet: run penstock "
              "off again; see journalctl -u penstockd for the cause",
              last.not_home)};
    }
    std::this_thread::sleep_for(kAskAgain);
    Result<NodeSwitch> again = ask_agent(true, config);
    if (!again) return again;
    last = *again;
  }
  last.jobs = first.jobs;
  return last;
}

// Writes the mark, then asks again. A penstockd that starts meanwhile either
// reads the mark or gets this request.
Result<NodeSwitch> switch_without_agent(bool off, const Config& config) {
  Status marked = write_mark(off, config);
  if (!marked) return std::move(marked).error();
  return ask_agent(off, config);
}

std::string text_of(bool off, const NodeSwitch& done) {
  const char* s = done.jobs == 1 ? "" : "s";
  if (!off) return fmt::format("on: {} managed job{} here\n", done.jobs, s);
  return fmt::format("off since {}: {} job{} brought home\n",
                     date_text(done.off_since_unix_s.value_or(0)), done.jobs,
                     s);
}

// True if no penstockd runs, which is no error. A daemon that does not answer
// is.
bool is_absent(const Error& error) {
  return error.code == Code::kUnavailable &&
         (error.saved_errno == ENOENT || error.saved_errno == ECONNREFUSED);
}

Status without_answer(bool off, const Config& config, Error error,
                      Terminal& terminal) {
  const std::string mark = config.state_dir + "/" + kOffMark;
  if (is_absent(error)) {
    terminal.out << "penstockd does not run; when it starts it is "
                 << (off ? "off, by " + mark : std::string("on")) << "\n";
    return Done{};
  }
  if (error.code == Code::kUnavailable) {
    error.message += fmt::format(
        "; {} is {}, which takes effect when it answers or starts again", mark,
        off ? "there" : "taken away");
  }
  return error;
}

// Disables or enables Penstock on this node. Works without a running penstockd,
// because the next one finds the mark.
Status run_switch(bool off, const Config& config, Terminal& terminal) {
  const char* word = off ? "off" : "on";
  if (::geteuid() != 0) {
    return Error{Code::kPermissionDenied, 0,
                 fmt::format("only root may switch Penstock {}: run sudo "
                             "penstock {}",
                             word, word)};
  }
  Result<NodeSwitch> done = ask_agent(off, config);
  if (!done && done.error().code == Code::kUnavailable) {
    done = switch_without_agent(off, config);
  }
  if (done && off) done = wait_for_home(*done, config);
  if (done) {
    terminal.out << text_of(off, *done);
    return Done{};
  }
  return without_answer(off, config, std::move(done).error(), terminal);
}

Run add_switch(CLI::App* command, bool off) {
  auto site = std::make_shared<Site>();
  add_site(command, *site, true);
  return [site, off](Invocation& invocation) -> Status {
    Result<Config> config = site_config(*site);
    if (config) return run_switch(off, *config, invocation.terminal);
    if (off) {
      config.error().message +=
          "; `systemctl stop penstockd` gives all back to Slurm as well";
    }
    return std::move(config).error();
  };
}

}  // namespace

Run add_off(CLI::App* command) { return add_switch(command, true); }
Run add_on(CLI::App* command) { return add_switch(command, false); }

}  // namespace penstock
