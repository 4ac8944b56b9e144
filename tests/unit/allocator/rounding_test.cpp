#include <cmath>

#include "select_ext/allocator/problem.h"
#include "tests/unit/catch.h"

namespace penstock::allocator {
namespace {

RoundingJob job(uint64_t id, const char* home, double reserve, double granted,
                int threads) {
  return {id, *CpuSet::parse(home), reserve, granted, threads, {}};
}

std::vector<int> lent_cpus(const Rounded& rounded, uint64_t borrower) {
  std::vector<int> cpus;
  for (const Loan& loan : rounded.loans) {
    if (loan.borrower == borrower) cpus.push_back(loan.cpu);
  }
  return cpus;
}

using Cpus = std::vector<int>;

TEST_CASE("grants that fit the home CPUs need no loans") {
  const Rounded rounded = round_to_cpus(
      {{job(1, "0-1", 0.5, 1.5, 4), job(2, "2", 0, 0.25, 1)}, {}, {}, {}});
  CHECK(rounded.loans.empty());
  CHECK(rounded.realised_cores == std::vector<double>{1.5, 0.25});
  CHECK(rounded.loss_cores == Approx(0).margin(1e-12));
}

TEST_CASE("a lender's spare cores go to the job that needs them") {
  const Rounded rounded = round_to_cpus(
      {{job(1, "0", 0, 1.0 / 3, 1), job(2, "1", 0, 5.0 / 3, 4)}, {}, {}, {}});
  REQUIRE(rounded.loans.size() == 1);
  CHECK(rounded.loans[0].borrower == 2);
  CHECK(rounded.loans[0].lender == 1);
  CHECK(rounded.loans[0].cpu == 0);
  CHECK(rounded.loans[0].cores == Approx(0.666));
  CHECK(rounded.realised_cores[1] == Approx(1.666));
  CHECK(rounded.loss_cores == Approx(0.001));
}

TEST_CASE("spare cores are concentrated on as few CPUs as possible") {
  // 1.5 of job 1's four CPUs are spare.
  const Rounded rounded = round_to_cpus(
      {{job(1, "0-3", 0.5, 2, 4), job(2, "4", 0, 4, 8)}, {}, {}, {}});
  CHECK(lent_cpus(rounded, 2) == Cpus{0, 1});
  CHECK(rounded.loans[0].cores + rounded.loans[1].cores == Approx(1.5));
  CHECK(rounded.loss_cores == Approx(1.5));
}

TEST_CASE("unallocated CPUs are lent before those of jobs") {
  RoundingInput input;
  input.jobs = {job(1, "0-3", 0, 1, 4), job(2, "4", 0, 2, 8)};
  input.idle_cpus = *CpuSet::parse("9");
  const Rounded rounded = round_to_cpus(input);
  REQUIRE(rounded.loans.size() == 1);
  CHECK(rounded.loans[0].cpu == 9);
  CHECK(rounded.loans[0].lender == 0);
}

TEST_CASE("of equal CPUs those on the borrower's NUMA node are lent") {
  RoundingInput input;
  input.jobs = {job(1, "0-3", 0, 2, 4), job(2, "4", 0, 2, 8)};
  input.numa_node_of_cpu = {0, 0, 1, 1, 1};
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{2});
}

TEST_CASE("CPUs near the borrower's GPUs are lent before those near its home") {
  RoundingInput input;
  input.jobs = {job(1, "0-5", 0, 3, 6), job(2, "6", 0, 4, 8)};
  input.numa_node_of_cpu = {0, 0, 0, 1, 1, 1, 0};  // home is on node 0
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{0, 1, 2});
  input.jobs[1].near_cpus = *CpuSet::parse("4-5");
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{0, 4, 5});
  // An unallocated CPU costs no job anything: it is lent first on any node.
  input.idle_cpus = *CpuSet::parse("7");
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{4, 5, 7});
}

TEST_CASE("an unknown NUMA node counts as near to no CPU") {
  RoundingInput input;
  input.jobs = {job(1, "0-3", 0, 2, 4), job(2, "4", 0, 2, 8)};
  input.numa_node_of_cpu = {-1, -1, 0};  // CPU 4 is unknown
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{0});
}

TEST_CASE("hardware threads of one core are lent together") {
  RoundingInput input;
  input.jobs = {job(1, "0-3", 0, 2, 4), job(2, "4", 0, 3, 8)};
  input.core_of_cpu = {0, 1, 0, 1, 2};
  const Rounded rounded = round_to_cpus(input);
  CHECK(lent_cpus(rounded, 2) == Cpus{0, 2});
  CHECK(rounded.loans[0].cores + rounded.loans[1].cores == Approx(2));
  // Also if one would be enough for the borrower.
  input.jobs[1].granted_cores = 1.501;
  const Rounded half = round_to_cpus(input);
  CHECK(lent_cpus(half, 2) == Cpus{0, 2});
  CHECK(half.realised_cores[1] == Approx(1.501));
  CHECK(half.loss_cores == Approx(0).margin(1e-12));
}

TEST_CASE("a thread uses no more than one half of a core") {
  RoundingInput input;
  input.idle_cpus = *CpuSet::parse("0-1");
  input.jobs = {job(2, "2", 0, 3, 2)};
  input.core_of_cpu = {0, 0, 1};
  const Rounded rounded = round_to_cpus(input);
  CHECK(lent_cpus(rounded, 2) == Cpus{0, 1});
  CHECK(rounded.realised_cores[0] == Approx(2));
}

TEST_CASE("a core that its lender needs in part is not lent") {
  RoundingInput input;
  input.jobs = {job(1, "0-1", 0, 0.3, 4), job(2, "2-3", 0, 3.5, 8)};
  input.core_of_cpu = {0, 0, 1, 1};
  CHECK(round_to_cpus(input).loans.empty());
  input.jobs[0].granted_cores = 0.2;  // small enough for a priority
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{0, 1});
}

TEST_CASE("a core that another job has in part is not lent") {
  RoundingInput input;
  input.jobs = {job(2, "1", 0, 2, 8)};
  input.idle_cpus = *CpuSet::parse("0,2,3");
  input.core_of_cpu = {0, 0, 1, 1};  // CPU 0 is the borrower's own sibling
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{2, 3});
  // CPU 1 of core 0 belongs to a job that Penstock does not manage.
  input.jobs = {job(2, "4", 0, 4, 8)};
  input.core_of_cpu = {0, 0, 1, 1, 2};
  CHECK(lent_cpus(round_to_cpus(input), 2) == Cpus{2, 3});
}

TEST_CASE("two borrowers may share a CPU, each with its part") {
  RoundingInput input;
  input.jobs = {job(1, "0", 0, 1.4, 4), job(2, "1", 0, 1.3, 4)};
  input.idle_cpus = *CpuSet::parse("2");
  const Rounded rounded = round_to_cpus(input);
  REQUIRE(rounded.loans.size() == 2);
  CHECK(rounded.loans[0].cores == Approx(0.4));
  CHECK(rounded.loans[1].cores == Approx(0.3));
  CHECK(rounded.loss_cores == Approx(0).margin(1e-12));
}

TEST_CASE(
    "the job with the greatest need chooses first and takes the tightest fit") {
  RoundingInput input;
  input.jobs = {job(1, "0", 0, 1.5, 4), job(2, "1", 0, 2, 4),
                job(3, "2", 0, 0.5, 1), job(4, "3", 0, 0, 1)};
  const Rounded rounded = round_to_cpus(input);
  CHECK(lent_cpus(rounded, 1) == Cpus{2});  // job 3's half
  CHECK(lent_cpus(rounded, 2) == Cpus{3});  // all of job 4's
  CHECK(rounded.loss_cores == Approx(0).margin(1e-12));
}

TEST_CASE("away CPUs are limited to the threads beyond the home cores") {
  RoundingInput input;
  input.idle_cpus = *CpuSet::parse("1-8");
  input.jobs = {job(1, "0", 0, 5, 3)};
  CHECK(round_to_cpus(input).loans.size() == 2);
  CHECK(round_to_cpus(input).loss_cores == Approx(2));
  input.jobs[0].loader_threads = 1;
  CHECK(round_to_cpus(input).loans.empty());
  // If the trainer needs its whole home, every loader thread may go away.
  input.jobs[0].reserve_cores = 1;
  CHECK(round_to_cpus(input).loans.size() == 1);
}

TEST_CASE("less than 0.05 cores is not lent") {
  // First the need is too small, then the spare, then the rest of both.
  CHECK(round_to_cpus(
            {{job(1, "0", 0, 0, 1), job(2, "1", 0, 1.049, 4)}, {}, {}, {}})
            .loans.empty());
  CHECK(round_to_cpus(
            {{job(1, "0", 0, 0.96, 1), job(2, "1", 0, 2, 4)}, {}, {}, {}})
            .loans.empty());
  CHECK(round_to_cpus(
            {{job(1, "0-1", 0, 0.96, 1), job(2, "2", 0, 3, 4)}, {}, {}, {}})
            .loans.size() == 1);
  CHECK(round_to_cpus(
            {{job(1, "0", 0, 0, 1), job(2, "1", 0, 1.05, 4)}, {}, {}, {}})
            .loans.size() == 1);
}

TEST_CASE("a CPU that is home of two jobs is not lent") {
  RoundingInput input;
  input.jobs = {job(1, "0", 0, 0, 1), job(2, "0", 0, 0, 1),
                job(3, "1", 0, 2, 4)};
  CHECK(round_to_cpus(input).loans.empty());
  // Nor a CPU that is listed as idle although it is a home.
  input.jobs = {job(1, "0", 0, 1, 1), job(3, "1", 0, 2, 4)};
  input.idle_cpus = *CpuSet::parse("0");
  CHECK(round_to_cpus(input).loans.empty());
}

TEST_CASE("a reserve over the home CPUs leaves nothing to lend or use") {
  const Rounded rounded =
      round_to_cpus({{job(1, "0", 2, 0, 1), job(2, "1", 0, 2, 4)}, {}, {}, {}});
  CHECK(rounded.loans.empty());
  CHECK(rounded.realised_cores == std::vector<double>{0, 1});
}

TEST_CASE("NaN and negative numbers count as nothing") {
  const Rounded rounded = round_to_cpus(
      {{job(1, "0", NAN, -3, -2), job(2, "1", -1, NAN, 4)}, {}, {}, {}});
  CHECK(rounded.loans.empty());
  CHECK(rounded.realised_cores == std::vector<double>{0, 0});
  CHECK(rounded.loss_cores == 0);
}

TEST_CASE("loans are listed by borrower, then by CPU") {
  RoundingInput input;
  input.jobs = {job(1, "0", 0, 2, 4), job(2, "1", 0, 3, 4)};
  input.idle_cpus = *CpuSet::parse("2-4");
  const Rounded rounded = round_to_cpus(input);
  REQUIRE(rounded.loans.size() == 3);
  CHECK(rounded.loans[0].borrower == 1);
  CHECK(rounded.loans[1].borrower == 2);
  CHECK(rounded.loans[1].cpu < rounded.loans[2].cpu);
}

}  // namespace
}  // namespace penstock::allocator
