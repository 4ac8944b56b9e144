// A message's payload: root's credentials hold what a node agent wrote, but a
// user's may hold any bytes.
#include "tests/fuzz/fuzz.h"
#include "wire/envelope.h"

using namespace penstock;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<Envelope> envelope = unpack(as_text(data, size));
  if (!envelope) {
    FUZZ_CHECK(!envelope.error().message.empty());
    return 0;
  }
  FUZZ_CHECK(envelope->version >= kOldestControllerProtocol);
  FUZZ_CHECK(envelope->version <= kControllerProtocol);
  FUZZ_CHECK(envelope->body.is_object());
  // What is taken can be sent on and means the same.
  const Result<std::string> text = pack(*envelope);
  FUZZ_CHECK(text.ok());
  const Result<Envelope> again = unpack(*text);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(again->body == envelope->body);
  FUZZ_CHECK(again->session == envelope->session);
  FUZZ_CHECK(again->sequence == envelope->sequence);
  FUZZ_CHECK(again->sent_unix_s == envelope->sent_unix_s);
  // It passes at most once.
  Guard guard;
  const double now_unix_s = 1.78e9;
  const bool fresh = guard.admit(*envelope, 0, now_unix_s).ok();
  FUZZ_CHECK(guard.sessions() == (fresh ? 1u : 0u));
  FUZZ_CHECK(!guard.admit(*envelope, 0, now_unix_s).ok());
  return 0;
}
