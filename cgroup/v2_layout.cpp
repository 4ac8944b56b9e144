#include "cgroup/v2_layout.h"

#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

struct Component {
  std::string_view name;
  std::string_view up_to;  // the path with this component as its last
};

std::vector<Component> components_of(std::string_view path) {
  std::vector<Component> out;
  size_t at = 0;
  while (at < path.size()) {
    const size_t end = std::min(path.find('/', at + 1), path.size());
    out.push_back({path.substr(at + 1, end - at - 1), path.substr(0, end)});
    at = end;
  }
  return out;
}

std::optional<uint64_t> number(std::string_view text) {
  const auto value = parse_uint(text, 0, UINT64_MAX);
  if (!value) return std::nullopt;
  return *value;
}

}  // namespace

bool is_slurm_scope(std::string_view name) {
  return name.ends_with("slurmstepd.scope");
}

std::optional<SlurmGroups> slurm_groups_of(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  const std::vector<Component> all = components_of(path);
  size_t i = 0;
  while (i < all.size() && !is_slurm_scope(all[i].name)) {
    if (all[i].name == "..") return std::nullopt;
    ++i;
  }
  if (i + 4 >= all.size()) return std::nullopt;
  const bool is_task = all[i + 2].name.starts_with("step_") &&
                       all[i + 3].name == "user" &&
                       all[i + 4].name.starts_with("task_");
  if (!is_task) return std::nullopt;
  SlurmGroups groups;
  groups.scope = all[i].up_to;
  groups.job = all[i + 1].up_to;
  groups.step = all[i + 2].up_to;
  groups.user = all[i + 3].up_to;
  groups.task = all[i + 4].up_to;
  return groups;
}

std::optional<uint64_t> io_figure(std::string_view text,
                                  std::string_view device,
                                  std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) != device) continue;
    for (std::string_view word = take_word(line); !word.empty();
         word = take_word(line)) {
      const size_t equals = word.find('=');
      if (equals != word.npos && word.substr(0, equals) == key) {
        return number(word.substr(equals + 1));
      }
    }
  }
  return std::nullopt;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=12": has io.stat's syntax.
std::optional<uint64_t> pressure_some_us(std::string_view text) {
  return io_figure(text, "some", "total");
}

std::optional<uint64_t> keyed_figure(std::string_view text,
                                     std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (take_word(line) == key) return number(take_word(line));
  }
  return std::nullopt;
}

}  // namespace penstock
