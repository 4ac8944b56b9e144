#include "common/config.h"

#include <string>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

Config parsed(const std::string& text) {
  auto config = parse_config(text, "p.conf");
  INFO(text);
  if (!config) FAIL(config.error().message);
  return *config;
}

std::string refused(const std::string& text) {
  const auto config = parse_config(text, "p.conf");
  INFO(text);
  REQUIRE_FALSE(config);
  CHECK(config.error().code == Code::kInvalidArgument);
  return config.error().message;
}

TEST_CASE("an empty file gives the defaults") {
  for (const char* text : {"", "\n", "# nothing\n", "  \t\r\n#"}) {
    const Config config = parsed(text);
    CHECK(config.socket_path == "/run/penstock/penstockd.sock");
    CHECK(config.policy == Policy::kThroughput);
    CHECK_FALSE(config.default_auto);
    CHECK(config.lend_idle);
    CHECK(config.max_weight == 1.0);
    CHECK(config.metrics_file.empty());
    CHECK(config.history_file == "/var/lib/penstock/history.sqlite");
    CHECK(config.history_retention_days == 365);
    CHECK(config.pools.empty());
  }
}

TEST_CASE("every key is read, in any case") {
  const Config config = parsed(
      "SOCKETPATH=/s/ock\nstatedir=/state\nReportDir=/reports\n"
      "ProfileDir=/profiles\nCgroupRoot=/cg\nCgroupName=ours\n"
      "Policy=MaxMin\nDefault=auto\nWatch=off\nLendIdle=no\n"
      "LendAcross=account\nGuests=night,scavenge\n"
      "AwayYields=No\nMaxWeight=4.5\nSamplePeriod=500\nMinSolveInterval=20\n"
      "ReportMinTime=12.5\nCacheKeep=600\nLogLevel=debug\nManagedCPUs=1,0,4-5\n"
      "HistoryFile=/h.sqlite\nHistoryRetention=30\n"
      "SubmitTable=/table\nSubmitSocket=/submit\nSubmitNodeCores=24\n"
      "SubmitNodeBandwidth=2G\nSubmitOvercommit=1.5\n"
      "SubmitComment=admin_comment\nSubmitModel=res50\n"
      "Pool=scratch Path=/scratch Bandwidth=2G\n"
      "pool=home bandwidth=100M path=\"/home dirs\" shared=no\n"
      "Controller=head,[::1]:7000\nControllerListen=own\nControllerTimeout=5\n"
      "ControllerStateDir=/ctld\nMungeSocket=/munge.sock\n"
      "ControllerUser=ctl@site\nAgentUser=64031\n"
      "MetricsFile=/metrics/p.prom\n");
  CHECK(config.socket_path == "/s/ock");
  CHECK(config.state_dir == "/state");
  CHECK(config.report_dir == "/reports");
  CHECK(config.profile_dir == "/profiles");
  CHECK(config.cgroup_root == "/cg");
  CHECK(config.cgroup_name == "ours");
  CHECK(config.policy == Policy::kMaxMin);
  CHECK(config.default_auto);
  CHECK_FALSE(config.watch);
  CHECK_FALSE(config.lend_idle);
  CHECK(config.lend_across == LendAcross::kAccount);
  CHECK(config.guests.partitions ==
        std::vector<std::string>{"night", "scavenge"});
  CHECK_FALSE(config.guests.if_asked);
  CHECK_FALSE(config.away_yields);
  CHECK(config.max_weight == 4.5);
  CHECK(config.sample_period_ms == 500);
  CHECK(config.min_solve_interval_ms == 20);
  REQUIRE(config.controllers.size() == 2);
  CHECK(config.controllers[0].to_string() == "head:6830");
  CHECK(config.controllers[1].to_string() == "[::1]:7000");
  CHECK_FALSE(config.listens_everywhere);
  CHECK(config.controller_timeout_s == 5);
  CHECK(config.controller_state_dir == "/ctld");
  CHECK(config.munge_socket == "/munge.sock");
  CHECK(config.controller_user == "ctl@site");
  CHECK(config.agent_user == "64031");
  CHECK(config.metrics_file == "/metrics/p.prom");
  CHECK(config.pools.at(0).shared);
  CHECK_FALSE(config.pools.at(1).shared);
  CHECK(config.report_min_seconds == 12.5);
  CHECK(config.cache_keep_s == 600);
  CHECK(config.submit_table == "/table");
  CHECK(config.submit_socket == "/submit");
  CHECK(config.submit_node_cores == 24);
  CHECK(config.submit_node_bandwidth_bytes_per_s == uint64_t{2} << 30);
  CHECK(config.submit_overcommit == 1.5);
  CHECK(config.submit_comment == SubmitComment::kAdminComment);
  CHECK(config.submit_model == "res50");
  CHECK(config.log_level == "debug");
  CHECK(config.managed_cpus == "0-1,4-5");
  CHECK(config.history_file == "/h.sqlite");
  CHECK(config.history_retention_days == 30);
  REQUIRE(config.pools.size() == 2);
  CHECK(config.pools[0].name == "scratch");
  CHECK(config.pools[0].path == "/scratch");
  CHECK(config.pools[0].bandwidth_bytes_per_s == uint64_t{2} << 30);
  CHECK(config.pools[1].path == "/home dirs");
}

TEST_CASE("comments, blanks, quotes and continued lines are parsed") {
  const Config config = parsed(
      "  Policy=fair   # why not\n"
      "#Policy=even\n"
      "ReportDir=\"/a b #c\"\r\n"
      "Pool=x \\\n   Path=/x \\\n   Bandwidth=1M\n"
      "# a comment does not go on \\\n"
      "LendIdle=no");
  CHECK(config.policy == Policy::kFair);
  CHECK(config.report_dir == "/a b #c");
  CHECK(config.pools.size() == 1);
  CHECK_FALSE(config.lend_idle);
}

TEST_CASE("each policy's name is parsed and printed") {
  for (const char* name : {"throughput", "fair", "maxmin", "even"})
    CHECK(policy_name(parsed(std::string("Policy=") + name).policy) ==
          std::string(name));
}

TEST_CASE("MetricsFile accepts only an absolute path to a file NAME.prom") {
  CHECK(parsed("MetricsFile=/a.prom/b.prom").metrics_file == "/a.prom/b.prom");
  for (const std::string value :
       {"penstock.prom", "/m/penstock.txt", "/m/.prom", "/m/penstock.prom/",
        "/m/penstock.PROM"}) {
    CHECK(refused("MetricsFile=" + value) ==
          "p.conf:1: MetricsFile=" + value +
              ": not valid; allowed: an absolute path of at most 4095 bytes to "
              "a file NAME.prom");
  }
  CHECK_FALSE(parse_config("MetricsFile=/" + std::string(4090, 'x') + ".prom",
                           "p.conf"));
}

TEST_CASE("an error names file, line, key, value and allowed values") {
  CHECK(refused("\nPolicy=best\n") ==
        "p.conf:2: Policy=best: not valid; allowed: throughput, fair, maxmin, "
        "even");
  CHECK(refused("LendIdle=true") ==
        "p.conf:1: LendIdle=true: not valid; allowed: yes, no");
  CHECK(refused("SamplePeriod=99") ==
        "p.conf:1: SamplePeriod=99: not valid; allowed: a whole number from "
        "100 to 60000");
  CHECK(refused("MaxWeight=0") ==
        "p.conf:1: MaxWeight=0: not valid; allowed: a number from 0.001 to "
        "1000");
  CHECK(refused("StateDir=run") ==
        "p.conf:1: StateDir=run: not valid; allowed: an absolute path of at "
        "most 4095 bytes");
}

TEST_CASE("there are no guests, those that ask, or those of partitions") {
  for (const char* text : {"", "Guests=no\n", "Guests=NO\n"}) {
    CHECK_FALSE(parsed(text).guests.if_asked);
    CHECK(parsed(text).guests.partitions.empty());
  }
  CHECK(parsed("Guests=asked\n").guests.if_asked);
  CHECK(parsed("Guests=asked\n").guests.partitions.empty());
  CHECK(parsed("Guests=Night\n").guests.partitions ==
        std::vector<std::string>{"Night"});
}

TEST_CASE("values out of range are refused") {
  for (const std::string& text :
       {std::string("SocketPath="),
        "SocketPath=/" + std::string(107, 's'),
        std::string("StateDir=/") + std::string(4095, 's'),
        std::string("CgroupName="),
        std::string("CgroupName=a/b"),
        std::string("CgroupName=.."),
        "CgroupName=" + std::string(65, 'a'),
        std::string("Default=on"),
        std::string("LendAcross=all"),
        std::string("Guests=a,,b"),
        std::string("Guests=[a]"),
        std::string("AwayYields=1"),
        std::string("MaxWeight=1001"),
        std::string("MaxWeight=nan"),
        std::string("SamplePeriod=60001"),
        std::string("SamplePeriod=1s"),
        std::string("MinSolveInterval=0"),
        std::string("ReportMinTime=-1"),
        std::string("ReportMinTime=86401"),
        std::string("CacheKeep=-1"),
        std::string("CacheKeep=604801"),
        std::string("LogLevel=trace"),
        std::string("HistoryFile=h.sqlite"),
        std::string("HistoryRetention=0"),
        std::string("HistoryRetention=36501"),
        std::string("HistoryRetention=1.5"),
        std::string("ManagedCPUs="),
        std::string("ManagedCPUs=3-1"),
        std::string("ManagedCPUs=4096"),
        std::string("SubmitTable=table"),
        "SubmitSocket=/" + std::string(107, 's'),
        std::string("SubmitNodeCores=4097"),
        std::string("SubmitNodeCores=1.5"),
        std::string("SubmitNodeBandwidth=0"),
        std::string("SubmitOvercommit=0"),
        std::string("SubmitOvercommit=101"),
        std::string("SubmitComment=yes"),
        std::string("SubmitModel=/a/b"),
        std::string("Pool=x/y Path=/x Bandwidth=1M"),
        std::string("Pool=x Path=x Bandwidth=1M"),
        std::string("Pool=x Path=/x Bandwidth=0"),
        std::string("Pool=x Path=/x Bandwidth=")})
    CHECK(refused(text).find("allowed: ") != std::string::npos);
}

TEST_CASE("unknown and repeated keys are refused with their lines") {
  CHECK(refused("Polcy=fair").starts_with("p.conf:1: Polcy=fair: unknown key"));
  CHECK(refused("Policy=fair\n\npolicy=fair") ==
        "p.conf:3: policy=fair: given twice, first on line 1; allowed: once "
        "in the file");
  CHECK(refused("Pool=a Path=/a Bandwidth=1\n"
                "Pool=b Path=/b Bandwidth=1\nPool=a Path=/c Bandwidth=1") ==
        "p.conf:3: Pool=a: name given twice, first on line 1; allowed: pools "
        "that differ in both");
  CHECK(refused("Pool=a Path=/a Bandwidth=1\nPool=b Path=/a Bandwidth=1") ==
        "p.conf:2: Pool=b: path given twice, first on line 1; allowed: pools "
        "that differ in both");
  CHECK(refused("Pool=a Path=/a Path=/b Bandwidth=1")
            .starts_with("p.conf:1: Path=/b: given twice on this line"));
}

TEST_CASE("an incomplete Pool line and two settings on a line are refused") {
  CHECK(refused("Pool=a").find("incomplete") != std::string::npos);
  CHECK(refused("Pool=a Path=/a").find("incomplete") != std::string::npos);
  CHECK(refused("Pool=a Bandwidth=1").find("incomplete") != std::string::npos);
  CHECK(refused("Pool=a Path=/a Bandwidth=1 Policy=fair")
            .find("unknown key on a Pool line") != std::string::npos);
  CHECK(refused("Path=/a").find("unknown key") != std::string::npos);
  CHECK(refused("Policy=fair LendIdle=no").find("second setting") !=
        std::string::npos);
}

TEST_CASE("text without the form Key=value is refused") {
  CHECK(
      refused("Policy\n").starts_with("p.conf:1: \"Policy\" is not a setting"));
  CHECK(refused("Policy = fair").find("without spaces") != std::string::npos);
  CHECK(refused("=fair").find("is not a setting") != std::string::npos);
  CHECK(refused("StateDir=\"/a").find("open quote") != std::string::npos);
  CHECK(refused("StateDir=\"/a\"b").find("closing quote") != std::string::npos);
  CHECK(
      refused("Policy=fair\n\x01").starts_with("p.conf:2: control character"));
  CHECK(refused(std::string("Policy=fa\0ir", 12)).find("control character") !=
        std::string::npos);
  // The first line of a continued one is named.
  CHECK(refused("LendIdle=no\nPool=a \\\n Path=/a \\\n Bandwidth=x")
            .starts_with("p.conf:2: Bandwidth=x"));
}

TEST_CASE("controllers are hosts with valid ports, without repetition") {
  using Catch::Matchers::ContainsSubstring;
  CHECK(parsed("").controllers.empty());
  for (const char* value :
       {",", "a,", ":7", "a:0", "a:65536", "a:x", "[::1", "[::1]7", "a b",
        "a_b", "a,a:6830", "a,b,c,d,e,f,g,h,i"}) {
    CHECK_THAT(refused("Controller=" + std::string("\"") + value + "\""),
               ContainsSubstring("p.conf:1: Controller="));
  }
  CHECK(parsed("Controller=a:1,b:65535").controllers[1].port == 65535);
}

TEST_CASE("Shared accepts only yes and no") {
  const std::string said =
      refused("Pool=a Path=/a Bandwidth=1M Shared=perhaps");
  CHECK(said.find("allowed: yes, no") != std::string::npos);
}

TEST_CASE("there are at most 64 pools") {
  std::string text;
  for (int i = 0; i < 64; ++i)
    text += "Pool=p" + std::to_string(i) + " Path=/p" + std::to_string(i) +
            " Bandwidth=1M\n";
  CHECK(parsed(text).pools.size() == 64);
  CHECK(refused(text + "Pool=last Path=/last Bandwidth=1M")
            .starts_with("p.conf:65: Pool=last: too many pools"));
}

}  // namespace
}  // namespace penstock
