#include "wire/analysis_messages.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/units.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

constexpr double kLargest = 1e18;
constexpr size_t kMaxTextBytes = 256;
constexpr size_t kMaxBatches = 4096;
constexpr const char* kFeeds[] = {"replay", "memory", "cold"};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Reads one object's keys; keeps the first error.
class Reader {
 public:
  explicit Reader(const Json& in) : in_(in) {}

  void number(const char* key, double& out) {
    const Json* found = find(key);
    if (!found) return;
    const double value = found->is_number() ? found->get<double>() : -1;
    if (!(value >= 0) || value > kLargest) return fail(key, "a number");
    out = value;
  }
  void number(const char* key, std::optional<double>& out) {
    if (is_null(key)) return;
    number(key, out.emplace());
  }
  template <class T>
  void count(const char* key, T& out, uint64_t high) {
    const Json* found = find(key);
    if (!found) return;
    if (!found->is_number_unsigned() || found->get<uint64_t>() > high) {
      return fail(key, "a whole number");
    }
    out = static_cast<T>(found->get<uint64_t>());
  }
  void count(const char* key, std::optional<uint64_t>& out) {
    if (is_null(key)) return;
    count(key, out.emplace(), uint64_t(kLargest));
  }
  void flag(const char* key, bool& out) {
    const Json* found = find(key);
    if (!found) return;
    if (!found->is_boolean()) return fail(key, "true or false");
    out = found->get<bool>();
  }
  void text(const char* key, std::string& out) {
    const Json* found = find(key);
    if (!found) return;
    if (!found->is_string()) return fail(key, "a text");
    out = printable(
        found->get_ref<const std::string&>().substr(0, kMaxTextBytes));
  }
  void optional_text(const char* key, std::string& out) {
    if (!is_null(key)) text(key, out);
  }
  void counts(const char* key, std::vector<uint64_t>& out) {
    const Json* found = find(key);
    if (!found) return;
    if (!found->is_array() || found->size() > kMaxBatches) {
      return fail(key, "a list of up to 4096 whole numbers");
    }
    for (const Json& entry : *found) {
      if (!entry.is_number_unsigned()) return fail(key, "whole numbers");
      out.push_back(entry.get<uint64_t>());
    }
  }
  void feed(const char* key, AnalysisFeed& out) {
    std::string name;
    text(key, name);
    if (error_) return;
    const auto* found = std::find(std::begin(kFeeds), std::end(kFeeds), name);
    if (found == std::end(kFeeds)) {
      return fail(key, "replay, memory or cold");
    }
    out = static_cast<AnalysisFeed>(found - std::begin(kFeeds));
  }
  template <class Read>
  void object(const char* key, Read&& read) {
    const Json* found = find(key);
    if (!found) return;
    if (!found->is_object()) return fail(key, "an object");
    Reader inner(*found);
    read(inner);
    error_ = std::move(inner.error_);
  }
  void fail(const char* key, const char* allowed) {
    if (error_) return;
    error_ = invalid(std::string(key) + ": not valid; allowed: " + allowed);
  }
  std::optional<Error>& error() { return error_; }

 private:
  bool is_null(const char* key) const {
    const auto found = in_.find(key);
    return found == in_.end() || found->is_null();
  }
  const Json* find(const char* key) {
    if (error_) return nullptr;
    const auto found = in_.find(key);
    if (found != in_.end()) return &*found;
    error_ = invalid(std::string(key) + ": missing");
    return nullptr;
  }

  const Json& in_;
  std::optional<Error> error_;
};

Result<Json> parse_object(std::string_view line) {
  if (line.size() > kMaxAnalysisLineBytes) {
    return Error{Code::kLimit, 0, "a line over 64 KiB"};
  }
  constexpr int kDeepest = 4;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    return depth < kDeepest;
  };
  Json json = Json::parse(line, shallow, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return invalid("not an object of JSON");
  }
  return json;
}

template <class Whole, class Part>
Result<Whole> finish(Reader& reader, Part&& part) {
  if (reader.error()) return *std::move(reader.error());
  return Whole(std::forward<Part>(part));
}

Result<AnalysisOrder> read_cell(Reader& reader) {
  AnalysisCell cell;
  reader.count("cell", cell.cell, UINT32_MAX);
  reader.feed("data", cell.data);
  reader.flag("train", cell.train);
  reader.number("cores", cell.cores);
  reader.number("bytes_per_s", cell.bytes_per_s);
  reader.count("subset_samples", cell.subset_samples, uint64_t{1} << 40);
  if (cell.subset_samples == 0) reader.fail("subset_samples", "1 and up");
  if (cell.cores && *cell.cores < 0.1) reader.fail("cores", "0.1 and up");
  if (cell.bytes_per_s && *cell.bytes_per_s < 1) {
    reader.fail("bytes_per_s", "1 and up");
  }
  return finish<AnalysisOrder>(reader, cell);
}

Result<AnalysisAnswer> read_hello(Reader& reader) {
  AnalysisHello hello;
  reader.text("secret", hello.secret);
  reader.count("rank", hello.rank, kMaxAnalysisRanks - 1);
  reader.count("ranks", hello.ranks, kMaxAnalysisRanks);
  reader.text("node", hello.node);
  reader.text("source", hello.source);
  reader.count("batch_samples", hello.batch_samples);
  reader.count("workers", hello.workers);
  reader.count("dataset_samples", hello.dataset_samples);
  reader.number("dataset_bytes", hello.dataset_bytes);
  reader.number("cache_bytes", hello.cache_bytes);
  reader.count("cpus", hello.cpus, 1 << 20);
  reader.object("can", [&hello](Reader& can) {
    can.flag("memory", hello.can_memory);
    can.text("cold", hello.cold);
    can.optional_text("why", hello.why);
  });
  reader.optional_text("filesystem", hello.filesystem);
  if (hello.rank >= hello.ranks) reader.fail("rank", "less than ranks");
  if (hello.cpus == 0) reader.fail("cpus", "1 and up");
  return finish<AnalysisAnswer>(reader, hello);
}

Result<AnalysisAnswer> read_ready(Reader& reader) {
  AnalysisReady ready;
  reader.count("cell", ready.cell, UINT32_MAX);
  reader.object("limits", [&ready](Reader& limits) {
    limits.text("cores", ready.cores_by);
    limits.text("bytes_per_s", ready.bytes_per_s_by);
    limits.optional_text("why", ready.why);
  });
  return finish<AnalysisAnswer>(reader, ready);
}

Result<AnalysisAnswer> read_batches(Reader& reader) {
  AnalysisBatches batches;
  reader.count("cell", batches.cell, UINT32_MAX);
  reader.counts("end_ns", batches.end_ns);
  reader.counts("samples", batches.samples);
  reader.counts("wait_ns", batches.wait_ns);
  reader.number("cpu_s", batches.cpu_s);
  reader.number("read_bytes", batches.read_bytes);
  reader.number("consumed_bytes", batches.consumed_bytes);
  reader.number("memory_bytes_per_s", batches.memory_bytes_per_s);
  if (batches.samples.size() != batches.end_ns.size() ||
      batches.wait_ns.size() != batches.end_ns.size()) {
    reader.fail("samples", "as many entries as end_ns and wait_ns have");
  }
  if (!std::is_sorted(batches.end_ns.begin(), batches.end_ns.end())) {
    reader.fail("end_ns", "ascending times");
  }
  return finish<AnalysisAnswer>(reader, std::move(batches));
}

Json json_of(const AnalysisCell& it) {
  return {{"cell", it.cell},
          {"data", feed_name(it.data)},
          {"train", it.train},
          {"cores", or_null(it.cores)},
          {"bytes_per_s", or_null(it.bytes_per_s)},
          {"subset_samples", it.subset_samples}};
}
Json json_of(const AnalysisHold&) { return {{"hold", true}}; }
Json json_of(const AnalysisAdvance&) { return {{"advance", 1}}; }
Json json_of(const AnalysisEnd&) { return {{"end", true}}; }

Json json_of(const AnalysisHello& it) {
  return {
      {"hello", 1},
      {"secret", it.secret},
      {"rank", it.rank},
      {"ranks", it.ranks},
      {"node", it.node},
      {"source", it.source},
      {"batch_samples", or_null(it.batch_samples)},
      {"workers", or_null(it.workers)},
      {"dataset_samples", or_null(it.dataset_samples)},
      {"dataset_bytes", or_null(it.dataset_bytes)},
      {"cache_bytes", or_null(it.cache_bytes)},
      {"cpus", it.cpus},
      {"can", {{"memory", it.can_memory}, {"cold", it.cold}, {"why", it.why}}},
      {"filesystem", it.filesystem}};
}
Json json_of(const AnalysisHeld& it) { return {{"held", it.steps}}; }
Json json_of(const AnalysisReady& it) {
  return {{"cell", it.cell},
          {"ready", true},
          {"limits",
           {{"cores", it.cores_by},
            {"bytes_per_s", it.bytes_per_s_by},
            {"why", it.why}}}};
}
Json json_of(const AnalysisBatches& it) {
  return {{"cell", it.cell},
          {"end_ns", it.end_ns},
          {"samples", it.samples},
          {"wait_ns", it.wait_ns},
          {"cpu_s", it.cpu_s},
          {"read_bytes", it.read_bytes},
          {"consumed_bytes", it.consumed_bytes},
          {"memory_bytes_per_s", or_null(it.memory_bytes_per_s)}};
}

}  // namespace

const char* feed_name(AnalysisFeed feed) {
  return kFeeds[static_cast<int>(feed)];
}

std::string to_text(const AnalysisAddress& address) {
  return address.host + ":" + std::to_string(address.port) + ":" +
         address.secret;
}

Result<AnalysisAddress> parse_analysis_address(std::string_view text) {
  const auto bad = [] {
    return invalid(std::string(kAnalysisVariable) +
                   ": not valid; allowed: HOST:PORT:SECRET, as penstock "
                   "analyze sets it");
  };
  const size_t last = text.rfind(':');
  if (last == std::string_view::npos || last == 0) return bad();
  const size_t middle = text.rfind(':', last - 1);
  if (middle == std::string_view::npos || middle == 0) return bad();
  AnalysisAddress address;
  address.host = text.substr(0, middle);
  address.secret = text.substr(last + 1);
  const auto port =
      parse_uint(text.substr(middle + 1, last - middle - 1), 1, UINT16_MAX);
  if (!port || address.secret.size() != kAnalysisSecretDigits) return bad();
  address.port = uint16_t(*port);
  return address;
}

std::string to_line(const AnalysisOrder& order) {
  return dump(std::visit([](const auto& it) { return json_of(it); }, order));
}

std::string to_line(const AnalysisAnswer& answer) {
  return dump(std::visit([](const auto& it) { return json_of(it); }, answer));
}

Result<AnalysisOrder> parse_order(std::string_view line) try {
  Result<Json> json = parse_object(line);
  if (!json) return std::move(json).error();
  if (json->contains("end")) return AnalysisOrder(AnalysisEnd{});
  if (json->contains("hold")) return AnalysisOrder(AnalysisHold{});
  if (json->contains("advance")) return AnalysisOrder(AnalysisAdvance{});
  Reader reader(*json);
  return read_cell(reader);
} catch (const std::exception& error) {  // from nlohmann-json or an allocation
  return invalid(error.what());
}

Result<AnalysisAnswer> parse_answer(std::string_view line) try {
  Result<Json> json = parse_object(line);
  if (!json) return std::move(json).error();
  Reader reader(*json);
  if (json->contains("hello")) return read_hello(reader);
  if (json->contains("ready")) return read_ready(reader);
  if (!json->contains("held")) return read_batches(reader);
  AnalysisHeld held;
  reader.count("held", held.steps, UINT64_MAX);
  return finish<AnalysisAnswer>(reader, held);
} catch (const std::exception& error) {  // as above
  return invalid(error.what());
}

}  // namespace penstock
