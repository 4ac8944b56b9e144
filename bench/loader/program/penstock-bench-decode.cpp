// The reference of `penstock bench loader`: TurboJPEG decodes each whole
// picture and does nothing else.
//   penstock-bench-decode FOLDER THREADS WARM_S MEASURED_S
#include <turbojpeg.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/loader/program/measured.h"
#include "common/units.h"

namespace penstock {
namespace {

using File = std::vector<unsigned char>;

// Reads from the page cache each time, like the loaders.
File read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  File out(static_cast<size_t>(std::max<std::streamoff>(stream.tellg(), 0)));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(out.data()),
              static_cast<std::streamsize>(out.size()));
  return out;
}

class Decoder {
 public:
  // True if the file is a JPEG that decodes.
  bool run(const std::string& path) {
    const File file = read_file(path);
    int width = 0, height = 0, samples = 0, colours = 0;
    if (tjDecompressHeader3(handle_.get(), file.data(), file.size(), &width,
                            &height, &samples, &colours) != 0)
      return false;
    const size_t bytes =
        size_t{3} * static_cast<size_t>(width) * static_cast<size_t>(height);
    if (pixels_.size() < bytes) pixels_.resize(bytes);
    return tjDecompress2(handle_.get(), file.data(), file.size(),
                         pixels_.data(), width, 0, height, TJPF_RGB, 0) == 0;
  }

 private:
  std::unique_ptr<void, int (*)(tjhandle)> handle_{tjInitDecompress(),
                                                   tjDestroy};
  std::vector<unsigned char> pixels_;
};

// Threads that decode pictures in a loop.
class Decoders {
 public:
  Decoders(std::vector<std::string> paths, size_t threads)
      : paths_(std::move(paths)) {
    for (size_t i = 0; i < threads; ++i)
      threads_.emplace_back([this] { run(); });
  }
  ~Decoders() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Decoders(const Decoders&) = delete;
  Decoders& operator=(const Decoders&) = delete;

  // Pictures decoded since the last call, after a sleep of 5 ms.
  Result<uint64_t> take() {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (broken_) return invalid("a picture does not decode");
    return decoded_.exchange(0);
  }

 private:
  void run() {
    Decoder decoder;
    while (!stopping_ && !broken_) {
      if (!decoder.run(paths_[next_++ % paths_.size()])) broken_ = true;
      ++decoded_;
    }
  }

  const std::vector<std::string> paths_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> decoded_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> broken_{false};
  std::vector<std::thread> threads_;
};

std::vector<std::string> jpegs_of(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jpg") out.push_back(entry.path());
  return out;
}

Status run(const std::vector<std::string>& words) {
  if (words.size() != 4)
    return invalid("FOLDER THREADS WARM_S MEASURED_S are needed");
  const auto threads = parse_uint(words[1], 1, 1024);
  if (!threads) return threads.error();
  const auto warm_s = parse_number(words[2], 0, 3600);
  if (!warm_s) return warm_s.error();
  const auto measured_s = parse_number(words[3], 0, 3600);
  if (!measured_s) return measured_s.error();
  std::vector<std::string> paths = jpegs_of(words[0]);
  if (paths.empty()) return invalid(words[0] + " has no .jpg");
  Decoders decoders(std::move(paths), *threads);
  return run_measured({*warm_s, *measured_s},
                      [&decoders] { return decoders.take(); });
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    const penstock::Status done = penstock::run({argv + 1, argv + argc});
    if (done) return 0;
    std::fprintf(stderr, "penstock-bench-decode: %s\n",
                 done.error().message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock-bench-decode: %s\n", error.what());
  }
  return 1;
}
