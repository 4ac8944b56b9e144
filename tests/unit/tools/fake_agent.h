// A socket that answers like penstockd, or with invalid answers.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "common/protocol.h"
#include "common/unique_fd.h"

namespace penstock {

// A temporary directory under /tmp, removed by the destructor.
struct ScratchDirectory {
  ScratchDirectory();
  ~ScratchDirectory();
  std::string file(const std::string& name) const { return path + "/" + name; }
  void write(const std::string& name, const std::string& text) const;
  void make(const std::string& name) const;  // a directory in it

  std::string path;
};

struct FakeAnswer {
  penstock_reply reply{};  // starts as a valid one, status 0
  size_t reply_bytes = sizeof(penstock_reply);
  std::string document;  // sent as an fd unless empty
  int documents = 1;     // how many fds
  bool silent = false;   // no answer at all
  bool hang_up = false;  // the connection is closed instead
};

// Serves one request per connection until it is destroyed.
class FakeAgent {
 public:
  using Handler = std::function<void(const penstock_status&, FakeAnswer&)>;

  FakeAgent(const std::string& path, Handler handler);
  ~FakeAgent();

 private:
  void serve();
  void answer_one(int fd);

  Handler handler_;
  UniqueFd listener_;
  UniqueFd stop_read_;
  UniqueFd stop_write_;
  std::thread thread_;
};

}  // namespace penstock
