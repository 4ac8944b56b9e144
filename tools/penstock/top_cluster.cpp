#include "tools/penstock/top_cluster.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "common/clock.h"
#include "tools/penstock/controller_client.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/live_view.h"
#include "tools/penstock/progress_line.h"
#include "tools/penstock/report_job.h"
#include "tools/penstock/top_view.h"
#include "tools/penstock/user_names.h"

namespace penstock {
namespace {

constexpr size_t kAllRows = 1'000'000;
constexpr int kDefaultHeight = 24;
constexpr int kEscape_ms = 50;
constexpr uint64_t kMs_ns = 1'000'000;

// While it exists, keys come at once and are not shown.
class KeysAtOnce {
 public:
  KeysAtOnce() : is_set_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_set_) return;
    termios now = before_;
    now.c_lflag &= ~tcflag_t(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  ~KeysAtOnce() {
    if (is_set_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  KeysAtOnce(const KeysAtOnce&) = delete;
  KeysAtOnce& operator=(const KeysAtOnce&) = delete;

 private:
  termios before_{};
  const bool is_set_;
};

// What has been typed within this time; returns at once then.
std::vector<Key> typed_within(int milliseconds) {
  pollfd waited{STDIN_FILENO, POLLIN, 0};
  if (::poll(&waited, 1, milliseconds) <= 0) return {};
  char bytes[256];
  ssize_t size = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (size <= 0) return {Key::kQuit};  // the terminal is gone
  // The rest of an arrow key may be on its way.
  if (bytes[size - 1] == '\033' && size_t(size) < sizeof bytes &&
      ::poll(&waited, 1, kEscape_ms) > 0) {
    size += std::max<ssize_t>(
        0, ::read(STDIN_FILENO, bytes + size, sizeof bytes - size_t(size)));
  }
  return keys_of({bytes, size_t(size)});
}

int terminal_height() {
  winsize size{};
  const bool is_known =
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return is_known ? size.ws_row : kDefaultHeight;
}

Result<nlohmann::json> rows_for(const TopView& view, const Config& config) {
  Result<Controllers> controllers = chosen_controllers("", config);
  if (!controllers) return std::move(controllers).error();
  MungeCredentials credentials(config.munge_socket);
  const bool of_nodes = view.shows() == TopView::Shows::kNodes;
  ControllerQuery query;
  query.what =
      of_nodes ? ControllerQuery::What::kNodes : ControllerQuery::What::kJobs;
  if (!of_nodes) query.node = view.node();
  return ask_for_all(*controllers, std::move(query),
                     of_nodes ? "nodes" : "jobs", kAllRows, credentials);
}

Status refresh(TopView& view, const Config& config, const TextStyle& style) {
  if (view.shows() == TopView::Shows::kReport) {
    const JobNumber number{std::to_string(view.job()), view.job()};
    const Result<JobReport> report = find_report(number, config);
    if (!report) return report.error();
    view.set_report(render_text(*report, style));
    return Done{};
  }
  Result<nlohmann::json> rows = rows_for(view, config);
  if (!rows) return std::move(rows).error();
  view.set_rows(*std::move(rows));
  return Done{};
}

// Obeys keys until the next refresh is due, or what is shown changes. False:
// the user quits.
bool obey_keys(TopView& view, Terminal& terminal) {
  // A report comes from the job's nodes once a minute.
  const uint64_t pace = view.shows() == TopView::Shows::kReport ? 10 : 1;
  const uint64_t until_ns =
      monotonic_ns() + pace * terminal.refresh_ms * kMs_ns;
  const auto shown = [&view] {
    return std::tuple(view.shows(), view.node(), view.job());
  };
  const auto before = shown();
  while (!InterruptAsRequest::is_requested()) {
    start_view(terminal);
    terminal.out << view.render(terminal.style, terminal_height());
    terminal.out.flush();
    const uint64_t now_ns = monotonic_ns();
    if (now_ns >= until_ns || shown() != before) return bool(terminal.out);
    for (const Key key : typed_within(int((until_ns - now_ns) / kMs_ns) + 1)) {
      if (!view.press(key)) return false;
    }
  }
  return false;
}

}  // namespace

Status run_top_cluster(const TopClusterOptions& options, const Config& config,
                       Terminal& terminal) {
  TopView view(name_of_user);
  if (!options.sort.empty()) {
    if (Status sorted = view.sort_by(options.sort); !sorted) return sorted;
  }
  view.choose_node(options.node);
  if (Status asked = refresh(view, config, terminal.style); !asked) {
    return asked;
  }
  const bool is_live = terminal.interactive && !options.once && !options.json &&
                       ::isatty(STDIN_FILENO) == 1;
  if (!is_live) {
    terminal.out << (options.json ? json_text(view.document())
                                  : view.render(terminal.style, 0));
    return Done{};
  }
  const InterruptAsRequest interrupts;
  const KeysAtOnce keys;
  while (obey_keys(view, terminal)) {
    if (Status asked = refresh(view, config, terminal.style); !asked) {
      view.set_trouble(asked.error().message);
    }
  }
  return Done{};
}

}  // namespace penstock
