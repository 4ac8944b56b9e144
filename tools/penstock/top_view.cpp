#include "tools/penstock/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/units.h"
#include "report/text.h"

namespace penstock {
namespace {

using nlohmann::json;

// A column as its view has it, and the field that it is sorted by. Figures come
// with the highest first, texts with "a".
struct SortColumn {
  const char* name;
  const char* field;
};
constexpr SortColumn kJobColumns[] = {
    {"JOB", "job_id"},
    {"NAME", "name"},
    {"USER", "uid"},
    {"RANKS", "ranks"},
    {"RATE/S", "rate_samples_per_s"},
    {"CORES", "loader_cores"},
    {"STORAGE", "storage_bytes_per_s"},
};
constexpr SortColumn kNodeColumns[] = {
    {"NODE", "node"},           {"CPUS", "cpus"},
    {"LOADER", "loader_cores"}, {"PLANNED", "planned_cores"},
    {"JOBS", "jobs"},           {"RANKS", "ranks"},
    {"HEARD", "heard_ago_s"},
};
static_assert(std::size(kJobColumns) == std::size(kNodeColumns));
constexpr size_t kColumns = std::size(kJobColumns);
// Lines of a view besides its rows, and those on its keys.
constexpr int kFrame = 8;

const SortColumn& column_of(bool of_nodes, size_t index) {
  return of_nodes ? kNodeColumns[index] : kJobColumns[index];
}

// Whether a comes before b. Unknown figures come last.
bool is_before(const json& a, const json& b) {
  if (a.is_string() && b.is_string()) return a < b;
  if (a.is_number() != b.is_number()) return a.is_number();
  return a.is_number() && a.get<double>() > b.get<double>();
}

json field_of(const json& row, const char* name) {
  return row.is_object() ? row.value(name, json()) : json();
}

struct KeyBytes {
  const char* bytes;
  Key key;
};
constexpr KeyBytes kKeys[] = {
    {"\033[A", Key::kUp},    {"\033OA", Key::kUp},    {"k", Key::kUp},
    {"\033[B", Key::kDown},  {"\033OB", Key::kDown},  {"j", Key::kDown},
    {"\033[C", Key::kRight}, {"\033OC", Key::kRight}, {">", Key::kRight},
    {"\033[D", Key::kLeft},  {"\033OD", Key::kLeft},  {"<", Key::kLeft},
    {"\r", Key::kOpen},      {"\n", Key::kOpen},      {"\177", Key::kBack},
    {"\b", Key::kBack},      {"r", Key::kReverse},    {"n", Key::kNodes},
    {"J", Key::kJobs},       {"q", Key::kQuit},       {"\033", Key::kBack},
};

// The part of the text that fits, from a line on.
std::string lines_from(const std::string& text, size_t first, int height) {
  size_t at = 0;
  for (size_t i = 0; i < first && at < text.size(); ++i) {
    const size_t end = text.find('\n', at);
    at = end == text.npos ? text.size() : end + 1;
  }
  size_t end = at;
  for (int i = 0; i < height && end < text.size(); ++i) {
    const size_t line = text.find('\n', end);
    end = line == text.npos ? text.size() : line + 1;
  }
  return text.substr(at, end - at);
}

}  // namespace

std::vector<Key> keys_of(std::string_view bytes) {
  std::vector<Key> out;
  while (!bytes.empty()) {
    const auto found = std::find_if(
        std::begin(kKeys), std::end(kKeys),
        [&](const KeyBytes& it) { return bytes.starts_with(it.bytes); });
    // An unknown sequence must not count as the key of its last byte.
    if (bytes[0] == '\033' &&
        (found == std::end(kKeys) ||
         (found->key == Key::kBack && bytes.size() > 1))) {
      break;
    }
    if (found == std::end(kKeys)) {
      bytes.remove_prefix(1);
      continue;
    }
    out.push_back(found->key);
    bytes.remove_prefix(std::string_view(found->bytes).size());
  }
  return out;
}

Status TopView::sort_by(const std::string& column) {
  std::string names;
  for (size_t i = 0; i < kColumns; ++i) {
    const std::string name = kJobColumns[i].name;
    if (lower_case(name) == lower_case(column)) {
      orders_[0].column = i;
      return Done{};
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return invalid("--sort " + penstock::quoted(column) + ": allowed: " + names);
}

const char* TopView::rows_name() const {
  return document_.contains("nodes") ? "nodes" : "jobs";
}

json TopView::id_of(const json& row) const {
  return field_of(row, document_.contains("nodes") ? "node" : "job_id");
}

void TopView::set_rows(json document) {
  document_ = std::move(document);
  trouble_.clear();
  if (!document_[rows_name()].is_array())
    document_[rows_name()] = json::array();
  sort();
}

void TopView::sort() {
  if (!document_.is_object()) return;
  const bool of_nodes = document_.contains("nodes");
  const Order& by = orders_[of_nodes];
  const char* field = column_of(of_nodes, by.column).field;
  json& rows = document_[rows_name()];
  std::stable_sort(rows.begin(), rows.end(), [&](const json& a, const json& b) {
    const json x = field_of(a, field), y = field_of(b, field);
    return by.is_reversed ? is_before(y, x) : is_before(x, y);
  });
}

size_t TopView::selected() const {
  const json& rows = document_.at(rows_name());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (id_of(rows[i]) == selected_id_) return i;
  }
  return 0;
}

void TopView::move(int by) {
  if (shows_ == Shows::kReport) {
    scrolled_ = size_t(std::max<int64_t>(0, int64_t(scrolled_) + by));
    return;
  }
  if (!document_.is_object()) return;
  const json& rows = document_.at(rows_name());
  if (rows.empty()) return;
  const int64_t to = std::clamp<int64_t>(int64_t(selected()) + by, 0,
                                         int64_t(rows.size()) - 1);
  selected_id_ = id_of(rows[size_t(to)]);
}

void TopView::show(Shows what) {
  shows_ = what;
  document_ = json();
  selected_id_ = json();
  trouble_.clear();
}

void TopView::open() {
  if (shows_ == Shows::kReport || !document_.is_object()) return;
  const json& rows = document_.at(rows_name());
  if (rows.empty()) return;
  const json id = id_of(rows[selected()]);
  if (shows_ == Shows::kNodes && id.is_string()) {
    node_ = id.get<std::string>();
    return show(Shows::kJobs);
  }
  if (!id.is_number_unsigned()) return;
  job_ = id.get<uint32_t>();
  scrolled_ = 0;
  report_.clear();
  before_ = shows_;
  shows_ = Shows::kReport;
}

void TopView::back() {
  if (shows_ == Shows::kReport) {
    shows_ = before_;
  } else if (shows_ == Shows::kNodes || !node_.empty()) {
    node_.clear();
    show(Shows::kJobs);
  }
}

bool TopView::press(Key key) {
  const auto turn = [this](size_t by) {
    order().column = (order().column + by) % kColumns;
    sort();
  };
  switch (key) {
    case Key::kUp:
      move(-1);
      break;
    case Key::kDown:
      move(1);
      break;
    case Key::kOpen:
      open();
      break;
    case Key::kBack:
      back();
      break;
    case Key::kLeft:
      turn(kColumns - 1);
      break;
    case Key::kRight:
      turn(1);
      break;
    case Key::kReverse:
      order().is_reversed = !order().is_reversed;
      sort();
      break;
    case Key::kNodes:
      show(Shows::kNodes);
      break;
    case Key::kJobs:
      node_.clear();
      show(Shows::kJobs);
      break;
    case Key::kQuit:
      return false;
  }
  return true;
}

std::string TopView::render_rows(const TextStyle& style, int height) const {
  if (!document_.is_object()) return "asking the controller ...\n";
  json shown = document_;
  json& rows = shown[rows_name()];
  std::optional<size_t> mark;
  if (height > 0 && !rows.empty()) {
    const size_t room = size_t(std::max(1, height - kFrame));
    const size_t at = selected();
    const size_t first = at < room ? 0 : at - room + 1;
    const size_t last = std::min(rows.size(), first + room);
    rows = json(rows.begin() + int64_t(first), rows.begin() + int64_t(last));
    mark = at - first;
  }
  return document_.contains("nodes")
             ? render_nodes(shown, style, mark)
             : render_jobs(shown, user_name_, style, mark);
}

std::string TopView::render(const TextStyle& style, int height) const {
  if (height == 0) return render_rows(style, 0);
  Page page(style);
  if (!trouble_.empty()) page.line(trouble_, 4, Page::Tone::kBad);
  if (shows_ == Shows::kReport) {
    page.line("arrows: scroll  Backspace: jobs  q: quit", 4,
              Page::Tone::kHeading);
    return lines_from(report_, scrolled_, std::max(1, height - 2)) +
           page.take();
  }
  const char* column = column_of(shows_ == Shows::kNodes, order().column).name;
  page.line(
      fmt::format("by {}{}  up, down, Enter: open  < >: sort  r: reverse  {}  "
                  "q: quit",
                  column, order().is_reversed ? ", reversed" : "",
                  shows_ == Shows::kNodes ? "J: jobs"
                  : node_.empty()         ? "n: nodes"
                                          : "Backspace: all nodes"),
      4, Page::Tone::kHeading);
  return render_rows(style, height) + page.take();
}

}  // namespace penstock
