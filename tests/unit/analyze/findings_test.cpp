#include "tools/analyze/findings.h"

#include <nlohmann/json.hpp>

#include "predictor/corner.h"
#include "tests/unit/catch.h"
#include "tools/analyze/render.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

// A job that follows the model: 1000 samples per core and second, 100 bytes a
// sample, corners of known exponents.
struct Job {
  double ceiling = 1400;
  double storage_bytes_per_s = 150'000;
  double trainer_cpu_s = 1e-4;
  double corner_ceiling = 8;
  double corner_storage = 4;
  double cold_share = 1;  // share of bytes from storage
  double second_rank = 1;
  double consumed_share = 1;  // share of bytes read by system calls

  double rate(const AnalysisCell& cell) const {
    const double cores = cell.cores.value_or(2);
    const double bandwidth =
        std::min(storage_bytes_per_s, cell.bytes_per_s.value_or(1e18));
    const auto loader = [&](double left) {
      const double prep = 1000 * left;
      return cell.data == AnalysisFeed::kCold
                 ? corner(prep, bandwidth / 100, corner_storage)
                 : prep;
    };
    if (cell.data == AnalysisFeed::kReplay) return ceiling;
    if (!cell.train) return loader(cores);
    double low = 0, high = ceiling;
    for (int i = 0; i < 60; ++i) {
      const double x = (low + high) / 2;
      const double left = std::max(0.0, cores - trainer_cpu_s * x);
      (corner(ceiling, loader(left), corner_ceiling) >= x ? low : high) = x;
    }
    return low;
  }

  RankVisit seen(const AnalysisCell& cell, double factor) const {
    RankVisit out;
    out.end_ns = 10'000'000'000;
    out.samples = rate(cell) * factor * 10;
    const bool loads = cell.data != AnalysisFeed::kReplay;
    const double cpu_s = (loads ? 1e-3 : 0) + (cell.train ? trainer_cpu_s : 0);
    out.cpu_s = cpu_s * out.samples;
    out.consumed_bytes = loads ? 100 * out.samples : 0;
    const bool is_cold = cell.data == AnalysisFeed::kCold;
    out.read_bytes = is_cold ? cold_share * out.consumed_bytes : 0;
    out.consumed_bytes *= consumed_share;
    return out;
  }

  Visit visit(const AnalysisCell& cell, size_t ranks) const {
    Visit out{cell, {{0, seen(cell, 1)}}, {}};
    if (ranks > 1) out.ranks[1] = seen(cell, cell.train ? 1 : second_rank);
    if (cell.cores) out.limits.cores_by = "quota";
    if (cell.bytes_per_s) out.limits.bytes_per_s_by = "kernel";
    return out;
  }
};

std::vector<AnalysisHello> hellos(uint32_t ranks) {
  std::vector<AnalysisHello> out;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    AnalysisHello it;
    it.rank = rank;
    it.ranks = ranks;
    it.node = "n" + std::to_string(rank);
    it.source = "test";
    it.cpus = 2;
    it.cold = "fadvise";
    it.workers = 2;
    it.dataset_bytes = 1e6;
    it.cache_bytes = 5e5;
    it.filesystem = "ext4";
    out.push_back(it);
  }
  return out;
}

Findings findings_of(const Job& job, const std::vector<AnalysisHello>& said) {
  PlanFacts facts;
  facts.cpus = 2;
  AnalysisPlan plan(facts);
  while (const auto kind = plan.next()) {
    plan.add(*kind, job.visit(plan.kinds()[*kind].cell, said.size()));
  }
  auto findings = make_findings("job", said, plan);
  REQUIRE(findings);
  return *std::move(findings);
}

Findings findings_of(const Job& job, uint32_t ranks = 1) {
  return findings_of(job, hellos(ranks));
}

}  // namespace

TEST_CASE("the parameters of a job that follows the model are found") {
  const Findings it = findings_of(Job{});
  CHECK(it.ceiling.median == Approx(1400));
  REQUIRE(it.prep.size() == 4);
  CHECK(it.prep[0].cores == 0.25);
  CHECK(it.prep[0].limited_by == "quota");
  CHECK(it.prep[3].limited_by.empty());
  CHECK(it.prep[3].rate.median == Approx(2000));
  CHECK(it.prep_per_core == Approx(1000));
  CHECK(it.trainer_cpu_s_per_sample == Approx(1e-4));
  CHECK(it.bytes_per_sample == Approx(100));
  REQUIRE(it.corner_ceiling);
  CHECK(*it.corner_ceiling == Approx(8).epsilon(0.02));
  REQUIRE(it.corner_storage);
  CHECK(*it.corner_storage == Approx(4).epsilon(0.05));
  REQUIRE(it.fetch_bytes_per_s);
  CHECK(*it.fetch_bytes_per_s == Approx(150'000).epsilon(0.02));
  CHECK(it.bottleneck == Bottleneck::kFetch);
  CHECK(it.notes.empty());
  // Read back, the profile predicts the job's rates.
  auto profile = parse_profile(profile_text(it.profile), "f.toml");
  REQUIRE(profile);
  auto model = WhatIf::from(*profile);
  REQUIRE(model);
  AnalysisCell cell;
  cell.data = AnalysisFeed::kMemory;
  for (double cores : {0.5, 1.0, 1.5, 1.75}) {
    cell.cores = cores;
    Amounts amounts = model->present();
    amounts.cores = cores;
    amounts.cached_share = 1;
    CHECK(model->at(amounts).samples_per_s.value ==
          Approx(Job{}.rate(cell)).epsilon(0.02));
  }
}

TEST_CASE("only reads through the page cache can be cached there") {
  auto said = hellos(1);
  CHECK(findings_of(Job{}, said).profile.cached_share == 0);  // too large
  said[0].dataset_bytes = 4e5;
  CHECK(findings_of(Job{}, said).profile.cached_share == 1);
  said[0].cold = "direct";
  CHECK(findings_of(Job{}, said).profile.cached_share == 0);
}

TEST_CASE(
    "the parameters of storage much slower than the loader are found too") {
  for (double exponent : {1.0, 2.0, 4.0}) {
    Job job;
    job.storage_bytes_per_s = 50'000;
    job.corner_storage = exponent;
    const Findings it = findings_of(job);
    REQUIRE(it.fetch_bytes_per_s);
    CHECK(*it.fetch_bytes_per_s == Approx(50'000).epsilon(0.02));
    REQUIRE(it.corner_storage);
    CHECK(*it.corner_storage == Approx(exponent).epsilon(0.05));
  }
}

TEST_CASE("cold data that come from memory give no figures of storage") {
  Job job;
  job.cold_share = 0.1;
  const Findings it = findings_of(job);
  CHECK_FALSE(it.fetch);
  CHECK_FALSE(it.fetch_bytes_per_s);
  REQUIRE(it.notes.size() == 1);
  CHECK_THAT(it.notes[0], ContainsSubstring("fetch is not known"));
}

TEST_CASE("mapped bytes are counted when storage delivers them") {
  Job job;
  job.consumed_share = 0.02;
  const Findings it = findings_of(job);
  CHECK(it.bytes_per_sample == Approx(100));
  REQUIRE(it.fetch);
  // Additional blocks around reads by system calls do not count.
  job.consumed_share = 0.9;
  CHECK(findings_of(job).bytes_per_sample == Approx(90));
}

TEST_CASE(
    "the size of a data set that no rank knows follows from its samples") {
  PlanFacts facts;
  facts.cpus = 2;
  AnalysisPlan plan(facts);
  while (const auto kind = plan.next()) {
    plan.add(*kind, Job{}.visit(plan.kinds()[*kind].cell, 1));
  }
  std::vector<AnalysisHello> ranks = hellos(1);
  ranks[0].dataset_bytes.reset();
  CHECK_FALSE(make_findings("job", ranks, plan)->dataset_bytes);
  ranks[0].dataset_samples = 5000;
  const Findings it = *make_findings("job", ranks, plan);
  CHECK(it.dataset_bytes.value_or(0) == Approx(500'000));
  CHECK(it.profile.dataset_bytes == Approx(500'000));
}

TEST_CASE("storage without waiting time gets a lower bound of its bandwidth") {
  Job job;
  job.storage_bytes_per_s = 1e9;
  const Findings it = findings_of(job);
  CHECK(it.fetch_is_at_least);
  CHECK(it.bottleneck == Bottleneck::kCompute);
}

TEST_CASE("the slowest rank is found") {
  Job job;
  job.second_rank = 0.8;
  const Findings it = findings_of(job, 2);
  REQUIRE(it.slowest_rank);
  CHECK(*it.slowest_rank == 1);
  CHECK(it.by_rank[1].node == "n1");
  CHECK(it.prep[3].rate.median == Approx(1600));
  job.second_rank = 0.99;
  CHECK_FALSE(findings_of(job, 2).slowest_rank);
}

TEST_CASE("cells without time to measure are reported") {
  PlanFacts facts;
  facts.cpus = 2;
  AnalysisPlan plan(facts);
  const size_t kind = *plan.next();
  plan.add(kind, Job{}.visit(plan.kinds()[kind].cell, 1));
  auto findings = make_findings("job", hellos(1), plan);
  REQUIRE(findings);
  CHECK(findings->prep.empty());
  REQUIRE(findings->notes.size() == 1);
  CHECK_THAT(findings->notes[0], ContainsSubstring("prep on 0.25 cores"));
  CHECK_THAT(findings->notes[0], ContainsSubstring("the time was up"));
}

TEST_CASE("without a ceiling there are no findings") {
  CHECK(
      make_findings("job", hellos(1), AnalysisPlan(PlanFacts{})).error().code ==
      Code::kNotFound);
}

TEST_CASE("text and JSON have the same findings") {
  const Findings it = findings_of(Job{}, 2);
  AnalysisEnding ending{61, false, 0.03, 0.07, "the accelerator is emulated"};
  const std::string text = render_text(it, ending, {});
  CHECK_THAT(text, ContainsSubstring("Bottleneck: fetch"));
  CHECK_THAT(text, ContainsSubstring("prep on 0.25 cores (quota)"));
  CHECK_THAT(text, ContainsSubstring("the accelerator is emulated"));
  CHECK_THAT(text, ContainsSubstring("the widest interval has 7%"));
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', begin = end + 1)) {
    CHECK(end - begin <= 80);
  }
  const auto json = nlohmann::json::parse(to_json(it, ending));
  CHECK(json["kind"] == "analysis");
  CHECK(json["ceiling"]["value"] == Approx(1400));
  CHECK(json["prep"].size() == 4);
  CHECK(json["bottleneck"] == "fetch");
  CHECK(json["by_rank"].size() == 2);
  CHECK(json["slowest_rank"].is_null());
  ending.narrow = true;
  CHECK_THAT(render_text(it, ending, {}),
             ContainsSubstring("every interval is narrower than 3%"));
}
