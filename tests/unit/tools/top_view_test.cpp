#include "tools/penstock/top_view.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using nlohmann::json;
using Keys = std::vector<Key>;
using Shows = TopView::Shows;

std::string user_name(uint32_t uid) { return "user" + std::to_string(uid); }

json jobs() {
  return {{"jobs", json::parse(R"([
    {"job_id": 1, "name": "b", "uid": 7, "nodes": ["n1"], "ranks": 1,
     "rate_samples_per_s": 20, "loader_cores": 1},
    {"job_id": 2, "name": "a", "uid": 9, "nodes": ["n1"], "ranks": 4,
     "rate_samples_per_s": null, "loader_cores": 3},
    {"job_id": 3, "name": "c", "uid": 8, "nodes": ["n2"], "ranks": 2,
     "rate_samples_per_s": 90, "loader_cores": 2}])")}};
}

json nodes() {
  return {{"nodes", json::parse(R"([
    {"node": "n1", "cpus": 8, "jobs": 2}, {"node": "n2", "cpus": 16}])")}};
}

TopView view_of(const json& document) {
  TopView view(user_name);
  view.set_rows(document);
  return view;
}

std::string order(const TopView& view) {
  std::string out;
  for (const json& job : view.document().at("jobs")) {
    out += std::to_string(job["job_id"].get<int>());
  }
  return out;
}

// The number of the marked job; 0: none.
int marked(const TopView& view, int height = 24) {
  const std::string text = view.render({}, height);
  const size_t at = text.find("\n>");
  return at == text.npos ? 0 : std::stoi(text.substr(at + 2));
}

}  // namespace

TEST_CASE("a terminal's bytes are keys") {
  CHECK(keys_of("\033[A\033[Bq") == Keys{Key::kUp, Key::kDown, Key::kQuit});
  CHECK(keys_of("\033OC<\r") == Keys{Key::kRight, Key::kLeft, Key::kOpen});
  CHECK(keys_of("\033") == Keys{Key::kBack});
  CHECK(keys_of("\177nJr") ==
        Keys{Key::kBack, Key::kNodes, Key::kJobs, Key::kReverse});
  CHECK(keys_of("xyz\x01").empty());
  // Sequences of other keys, whose last bytes are keys.
  CHECK(keys_of("\033[1;5q").empty());
  CHECK(keys_of("\033[Z").empty());
  CHECK(keys_of("").empty());
}

TEST_CASE("figures are sorted with the highest first, unknown ones last") {
  TopView view(user_name);
  REQUIRE(view.sort_by("rate/s"));
  view.set_rows(jobs());
  CHECK(order(view) == "312");
  view.press(Key::kReverse);
  CHECK(order(view) == "213");
  REQUIRE(view.sort_by("NAME"));
  view.set_rows(jobs());
  CHECK(order(view) == "312");
  const Status wrong = view.sort_by("colour");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message ==
        "--sort \"colour\": allowed: JOB, NAME, USER, RANKS, RATE/S, CORES, "
        "STORAGE");
}

TEST_CASE("the arrows choose the column") {
  TopView view = view_of(jobs());
  CHECK(order(view) == "321");
  view.press(Key::kRight);
  CHECK(order(view) == "213");  // by name
  view.press(Key::kLeft);
  view.press(Key::kLeft);
  CHECK(view.render({}, 24).find("by STORAGE") != std::string::npos);
}

TEST_CASE("the chosen job stays chosen, wherever it moves") {
  TopView view = view_of(jobs());
  CHECK(marked(view) == 3);
  view.press(Key::kDown);
  CHECK(marked(view) == 2);
  view.press(Key::kReverse);
  CHECK(marked(view) == 2);
  view.press(Key::kUp);
  view.press(Key::kUp);
  CHECK(marked(view) == 1);
  json others = jobs();
  others["jobs"].erase(0);
  view.set_rows(others);  // it has ended
  CHECK(marked(view) == 2);
}

TEST_CASE("Enter opens a job's report, and Backspace closes it") {
  TopView view = view_of(jobs());
  view.press(Key::kDown);
  view.press(Key::kOpen);
  CHECK(view.shows() == Shows::kReport);
  CHECK(view.job() == 2);
  view.set_report("line 1\nline 2\nline 3\nline 4\n");
  CHECK(view.render({}, 4).starts_with("line 1\nline 2\narrows"));
  view.press(Key::kDown);
  CHECK(view.render({}, 4).starts_with("line 2\nline 3\narrows"));
  for (int i = 0; i < 9; ++i) view.press(Key::kDown);
  CHECK(view.render({}, 4).starts_with("arrows"));
  view.press(Key::kBack);
  CHECK(view.shows() == Shows::kJobs);
  CHECK(marked(view) == 2);
}

TEST_CASE("a node's jobs are opened from the list of nodes") {
  TopView view = view_of(jobs());
  view.press(Key::kNodes);
  CHECK(view.shows() == Shows::kNodes);
  view.press(Key::kDown);  // nothing is known yet
  view.press(Key::kOpen);
  CHECK(view.shows() == Shows::kNodes);
  view.set_rows(nodes());
  view.press(Key::kReverse);
  CHECK(view.render({}, 24).find("by NODE, reversed") != std::string::npos);
  view.press(Key::kOpen);
  CHECK(view.shows() == Shows::kJobs);
  CHECK(view.node() == "n2");
  view.press(Key::kBack);
  CHECK(view.node().empty());
  view.choose_node("n1");
  view.press(Key::kJobs);
  CHECK(view.node().empty());
  CHECK_FALSE(view.press(Key::kQuit));
}

TEST_CASE("only as many rows are shown as fit, the chosen one among them") {
  json many = {{"jobs", json::array()}};
  for (int id = 1; id <= 100; ++id) many["jobs"].push_back({{"job_id", id}});
  TopView view = view_of(many);
  for (int i = 0; i < 50; ++i) view.press(Key::kDown);
  CHECK(marked(view, 20) == 50);
  const std::string text = view.render({}, 20);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 20);
  CHECK(marked(view, 1) == 50);
  CHECK(view.render({}, 0).find("\n>") == std::string::npos);
}

TEST_CASE("what went wrong is shown until the next answer") {
  TopView view = view_of(jobs());
  view.set_trouble("no controller answers");
  CHECK(view.render({}, 24).find("no controller answers") != std::string::npos);
  view.set_rows(jobs());
  CHECK(view.render({}, 24).find("no controller") == std::string::npos);
}

TEST_CASE("a foreign answer breaks nothing") {
  for (const char* text :
       {R"({"jobs": {"a": 1}})", R"({"jobs": [1, null, {"job_id": -1}]})",
        R"({"jobs": [{"job_id": "\u001b[2J"}]})", R"({"nodes": [[], 3]})"}) {
    TopView view = view_of(json::parse(text));
    for (const Key key : {Key::kDown, Key::kRight, Key::kReverse, Key::kOpen}) {
      CHECK(view.press(key));
      CHECK(view.render({}, 24).find('\033') == std::string::npos);
    }
  }
}

}  // namespace penstock
