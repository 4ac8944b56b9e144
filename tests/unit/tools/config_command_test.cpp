// `penstock check-config` on the command line.
#include <sys/stat.h>

#include "fake_agent.h"
#include "ran.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("check-config prints a configuration that reads back the same") {
  ScratchDirectory directory;
  directory.write(
      "c",
      "SocketPath=/a/s\nStateDir=/b\nReportDir=/c\nProfileDir=/d\n"
      "CgroupRoot=/e\nCgroupName=f\nPolicy=maxmin\nDefault=auto\n"
      "LendIdle=no\nLendAcross=account\nGuests=a,b\nAwayYields="
      "no\nMoveProcesses=always\n"
      "MaxWeight=2.5\nSamplePeriod=500\nMinSolveInterval=70\n"
      "ReportMinTime=12.5\nCacheKeep=600\nLogLevel=debug\nManagedCPUs=0-3\n"
      "HistoryFile=/h/file\nHistoryRetention=30\nReportRetention=7\n"
      "SubmitTable=/g\nSubmitSocket=/h\nSubmitNodeCores=24\n"
      "SubmitNodeBandwidth=2G\nSubmitOvercommit=1.5\n"
      "SubmitComment=comment\nSubmitModel=res50\n"
      "ControllerUser=ctl\nAgentUser=64031\n"
      "Pool=scratch Path=/scratch Bandwidth=200M\n");
  Ran first({"check-config", directory.file("c")});
  REQUIRE(first.code == kExitOk);
  CHECK(first.out.starts_with("# " + directory.file("c") + ": ok\n"));
  CHECK(first.out.find("Bandwidth=209715200 Shared=yes\n") !=
        std::string::npos);
  directory.write("again", first.out);
  Ran second({"check-config", directory.file("again")});
  REQUIRE(second.code == kExitOk);
  CHECK(second.out.substr(second.out.find('\n')) ==
        first.out.substr(first.out.find('\n')));
  // Every given key is printed with its value.
  for (const char* line : {"SocketPath=/a/s",
                           "StateDir=/b",
                           "ReportDir=/c",
                           "ProfileDir=/d",
                           "CgroupRoot=/e",
                           "CgroupName=f",
                           "Policy=maxmin",
                           "Default=auto",
                           "LendIdle=no",
                           "LendAcross=account",
                           "Guests=a,b",
                           "AwayYields=no",
                           "MoveProcesses=always",
                           "MaxWeight=2.5",
                           "SamplePeriod=500",
                           "MinSolveInterval=70",
                           "ReportMinTime=12.5",
                           "CacheKeep=600",
                           "LogLevel=debug",
                           "ManagedCPUs=0-3",
                           "HistoryFile=/h/file",
                           "HistoryRetention=30",
                           "ReportRetention=7",
                           "SubmitTable=/g",
                           "SubmitSocket=/h",
                           "SubmitNodeCores=24",
                           "SubmitNodeBandwidth=2147483648",
                           "SubmitOvercommit=1.5",
                           "SubmitComment=comment",
                           "SubmitModel=res50",
                           "ControllerUser=ctl",
                           "AgentUser=64031"}) {
    CHECK(first.out.find(std::string("\n") + line + "\n") != std::string::npos);
  }
}

TEST_CASE("check-config names file and line of an error") {
  ScratchDirectory directory;
  directory.write("c", "# ok\nPolicy=greedy\n");
  Ran ran({"check-config", directory.file("c")});
  CHECK(ran.code == kExitUsage);
  CHECK(ran.said(directory.file("c") + ":2: "));
  CHECK(ran.out.empty());
}

TEST_CASE("check-config refuses a file that is writable by others") {
  ScratchDirectory directory;
  directory.write("c", "");
  REQUIRE(::chmod(directory.file("c").c_str(), 0666) == 0);
  Ran ran({"check-config", directory.file("c")});
  CHECK(ran.code == kExitNoData);
}

}  // namespace
}  // namespace penstock
