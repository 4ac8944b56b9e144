// Acts as penstockd for one task of a job: answers every HELLO with the same
// two pages, valid or invalid, and records the registered threads.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/page.h"
#include "common/protocol.h"
#include "common/unique_fd.h"

namespace penstock::test {

enum class Reply {
  kGood,
  kSilent,       // never answers
  kHangsUp,      // closes the connection
  kGarbage,      // bytes that are no reply
  kShort,        // half a reply
  kErrorStatus,  // a well-formed refusal, with good pages
  kNoPages,
  kOnePage,
  kThreePages,
  kSwappedPages,
  kSmallPages,  // sealed, but 100 bytes long
  kLargePages,  // sealed, but 8192 bytes long
  kUnsealedPages,
  kWrongMagic,  // of the hint page
  kWrongVersion,
  kPipes,  // descriptors that are not files
};

// A sealed page, as penstockd makes it.
struct Page {
  UniqueFd fd;
  void* memory = nullptr;

  Page(size_t size_bytes, bool sealed);
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

 private:
  size_t size_bytes_;
};

class FakeDaemon {
 public:
  FakeDaemon(std::string path, Reply reply);
  ~FakeDaemon();  // closes the socket and every connection

  // REQUIRES: a HELLO was answered.
  penstock_progress_page* progress();
  penstock_hint_page* hint();
  int connections() const { return connections_; }
  std::map<int32_t, bool> threads();  // tid -> is_loader, as last announced

 private:
  void run();
  void accept_client();
  bool serve(int client);  // false: hung up
  void answer_hello(int client);
  void send_reply(int client, int32_t status, const std::vector<int>& fds);

  std::string path_;
  Reply reply_;
  UniqueFd listener_;
  UniqueFd wake_;
  std::vector<UniqueFd> clients_;
  std::unique_ptr<Page> progress_;
  std::unique_ptr<Page> hint_;
  std::map<int32_t, bool> threads_;
  std::mutex mutex_;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

// The path of a socket in a new folder; the folder is removed with the object.
class SocketFolder {
 public:
  SocketFolder();
  ~SocketFolder();
  std::string path() const { return folder_ + "/penstockd.sock"; }

 private:
  std::string folder_;
};

// Waits until done() or five seconds have passed; returns done().
template <class Done>
bool eventually(Done done) {
  for (int i = 0; i < 500 && !done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return done();
}

}  // namespace penstock::test
