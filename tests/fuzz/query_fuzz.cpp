// What users ask a controller: the body of their messages holds any JSON.
#include "tests/fuzz/fuzz.h"
#include "wire/query.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto body = nlohmann::json::parse(as_text(data, size), nullptr,
                                          /*allow_exceptions=*/false);
  if (body.is_discarded()) return 0;
  const Result<ControllerQuery> query = read_query(body);
  if (query) {
    FUZZ_CHECK(query->limit >= 1 && query->limit <= kMaxQueryRows);
    FUZZ_CHECK(query->since_unix_s >= 0);
    const Result<ControllerQuery> again = read_query(query_body(*query));
    FUZZ_CHECK(again.ok() && *again == *query);
  } else {
    FUZZ_CHECK(!query.error().message.empty());
  }
  // The same bytes as an answer's body.
  Envelope answer, asked;
  answer.type = kAnswerType;
  answer.body = body;
  const Result<nlohmann::json> document = read_answer(answer, asked);
  FUZZ_CHECK(document.ok() ? document->is_object()
                           : document.error().message.size() < 4096);
  return 0;
}
