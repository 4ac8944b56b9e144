// What `penstock advise` reads: a script, sbatch's words, the output of sinfo
// and of sacct.
#include "tests/fuzz/fuzz.h"
#include "tools/advise/accounting.h"
#include "tools/advise/nodes.h"
#include "tools/advise/request.h"

using namespace penstock;
using namespace penstock::advise;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty() && out.size() < 64) {
    const size_t end = text.find('\n');
    // As in argv: up to a NUL.
    const std::string word(text.substr(0, end));
    out.emplace_back(word.c_str());
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

void check_request(const SbatchLine& line, const std::string& script) {
  const Result<Request> request =
      make_request(line, Script{"s", "/s", script},
                   [](const char*) -> const char* { return nullptr; });
  if (!request) {
    FUZZ_CHECK(request.error().code == Code::kInvalidArgument);
    FUZZ_CHECK(!request.error().message.empty());
    return;
  }
  FUZZ_CHECK(request->nodes >= 1 && request->tasks_per_node >= 1);
  FUZZ_CHECK(request->cpus_per_task >= 1);
  FUZZ_CHECK(request->gpus_per_node >= 0 && request->memory_bytes >= 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  const Result<SbatchLine> line = parse_sbatch_line(lines_of(text));
  if (line) check_request(*line, "");
  check_request({}, std::string(text));
  const Accounted accounted = parse_accounting(text, 7);
  FUZZ_CHECK(!accounted.memory_bytes || *accounted.memory_bytes > 0);
  const Result<std::vector<NodeGroup>> nodes = parse_nodes(text);
  if (!nodes) return 0;
  Request request;
  request.gpus_per_node = 1;
  const auto most = most_cpus_per_task(request, *nodes);
  FUZZ_CHECK(!most || *most >= 1);
  cpus_of_gpu_share(request, *nodes);
  request.is_spread = true;
  request.tasks_per_node = request.gpus = 40;
  FUZZ_CHECK(spread_over_nodes(request, *nodes).tasks() >= 40);
  return 0;
}
