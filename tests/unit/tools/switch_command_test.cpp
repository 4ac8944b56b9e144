// `penstock off` and `on` on the command line.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "fake_agent.h"
#include "ran.h"
#include "report/json.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// Writes penstock.conf of a node into the directory.
void write_node(const ScratchDirectory& directory) {
  directory.write("c", "SocketPath=" + directory.file("s") +
                           "\nStateDir=" + directory.file("state") + "\n");
}

TEST_CASE(
    "off and on reach penstockd, and off waits until all units are home") {
  if (::geteuid() != 0) return;
  ScratchDirectory directory;
  write_node(directory);
  int asked = 0;
  FakeAgent agent(directory.file("s"), [&](const penstock_status& request,
                                           FakeAnswer& answer) {
    if (request.header.type != PENSTOCK_SWITCH) return;
    const bool off = request.job_id == 1;  // job_id has the offset of `off`
    ++asked;
    answer.document =
        to_json(off ? NodeSwitch{1780000000, asked == 1 ? 2u : 0u, asked < 3}
                    : NodeSwitch{std::nullopt, 1, 0});
  });
  Ran off({"off", "--config", directory.file("c")});
  CHECK(off.code == kExitOk);
  CHECK(off.out == "off since 2026-05-28 20:26:40 UTC: 2 jobs brought home\n");
  CHECK(asked == 3);
  Ran on({"on", "--config", directory.file("c")});
  CHECK(on.code == kExitOk);
  CHECK(on.out == "on: 1 managed job here\n");
  CHECK_FALSE(std::filesystem::exists(directory.file("state")));
}

TEST_CASE("with an unreadable configuration off names systemctl stop") {
  ScratchDirectory directory;
  directory.write("c", "Socket=/x\n");
  Ran off({"off", "--config", directory.file("c")});
  CHECK(off.code == kExitUsage);
  CHECK(off.said("`systemctl stop penstockd` gives all back"));
  CHECK_FALSE(Ran({"on", "--config", directory.file("c")}).said("systemctl"));
}

TEST_CASE("without penstockd off and on leave a mark for the next one") {
  if (::geteuid() != 0) return;
  ScratchDirectory directory;
  write_node(directory);
  for (int i = 0; i < 2; ++i) {
    Ran off({"off", "--config", directory.file("c")});
    CHECK(off.code == kExitOk);
    CHECK(off.out == "penstockd does not run; when it starts it is off, by " +
                         directory.file("state/off") + "\n");
    CHECK(std::filesystem::exists(directory.file("state/off")));
  }
  for (int i = 0; i < 2; ++i) {
    Ran on({"on", "--config", directory.file("c")});
    CHECK(on.code == kExitOk);
    CHECK(on.out == "penstockd does not run; when it starts it is on\n");
    CHECK_FALSE(std::filesystem::exists(directory.file("state/off")));
  }
  REQUIRE(::chmod(directory.file("state").c_str(), 0777) == 0);
  Ran unsafe({"off", "--config", directory.file("c")});
  CHECK(unsafe.code == kExitNoData);
  CHECK(unsafe.said("must belong to root"));
}

TEST_CASE("off reports penstockd's refusal and requires root") {
  ScratchDirectory directory;
  write_node(directory);
  FakeAgent agent(directory.file("s"),
                  [](const penstock_status&, FakeAnswer& answer) {
                    answer.reply.status = ENOSPC;
                    std::strcpy(answer.reply.text, "StateDir: off: full");
                  });
  if (::geteuid() == 0) {
    Ran full({"off", "--config", directory.file("c")});
    CHECK(full.code == kExitInternal);
    CHECK(full.said("penstockd: StateDir: off: full"));
    REQUIRE(::chmod(directory.path.c_str(), 0755) == 0);
    REQUIRE(::seteuid(65534) == 0);
  }
  Ran user({"off", "--config", directory.file("c")});
  CHECK(user.code == kExitNoData);
  CHECK(user.said("only root may switch Penstock off: run sudo penstock off"));
  if (::getuid() == 0) REQUIRE(::seteuid(0) == 0);
}

}  // namespace
}  // namespace penstock
