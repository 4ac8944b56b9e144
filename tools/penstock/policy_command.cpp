// `penstock policy`: who holds GPUs and cores idle, as a table, and as mails to
// these users.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>

#include "common/admin_file.h"
#include "common/clock.h"
#include "common/units.h"
#include "report/advice.h"
#include "report/text.h"
#include "tools/doctor/bounded.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/controller_client.h"
#include "tools/penstock/json_text.h"
#include "tools/penstock/report_job.h"
#include "tools/penstock/since.h"
#include "tools/penstock/user_names.h"
#include "tools/policy/mail.h"
#include "tools/policy/mail_record.h"
#include "tools/policy/no_mail.h"
#include "tools/policy/table.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

using namespace policy;

constexpr double kDay_s = 86400;
constexpr int kMailer_ms = 30'000;

struct PolicyOptions {
  Site site;
  std::string controller;
  std::string since = "7d";
  bool json = false;
  bool csv = false;
  bool mail = false;  // show the mails
  bool send = false;
  double every_days = 7;
  std::string record = "/var/lib/penstock-policy/mails";
  std::string mailer = "/usr/bin/mail";
  Rules rules;
};

Result<PolicyTable> fetch(const PolicyOptions& it, const Config& config) {
  const Result<double> since = parse_since(it.since, unix_s());
  if (!since) return since.error();
  ControllerQuery query;
  query.what = ControllerQuery::What::kHistory;
  query.since_unix_s = *since;
  PolicyTable table{{}, 0, *since, it.rules};
  std::vector<Finding> findings;
  MungeCredentials credentials(config.munge_socket);
  Status asked = ask_pages(
      {config.controllers, trust_in_controllers(config)}, query, credentials,
      [&](const nlohmann::json& page) {
        for (const auto& row : page.at("jobs")) {
          ++table.runs;
          for (Finding& one : findings_of(read_history_row(row), it.rules)) {
            findings.push_back(std::move(one));
          }
        }
        return kMaxQueryRows;
      });
  if (!asked) return std::move(asked).error();
  for (Finding& one : findings) {
    if (one.job.user.empty()) one.job.user = name_of_user(one.job.uid);
  }
  table.users = by_user(std::move(findings));
  return table;
}

// Without controllers that do not answer: each would cost seconds per report.
Config with_answering(Config config) {
  MungeCredentials credentials(config.munge_socket);
  ControllerQuery query;
  query.what = ControllerQuery::What::kReports;
  query.job_id = 1;
  std::erase_if(config.controllers, [&](const ControllerAddress& address) {
    return !ask_controllers({{address}, trust_in_controllers(config)}, query,
                            credentials);
  });
  return config;
}

// Whether the report is of this run, and not of a later one with its number.
bool is_of(const JobReport& report, const JobRecord& job) {
  return report.user_id == job.uid && job.start_unix_s &&
         report.start_unix_s >= *job.start_unix_s - kClockSkew_s &&
         (!job.end_unix_s || report.start_unix_s <= *job.end_unix_s);
}

// What the reports of the shown runs advise. A run without a report has none.
void add_advice(const Config& config, std::vector<MailedRun>& runs) {
  for (size_t i = 0; i < std::min(runs.size(), kMailedRuns); ++i) {
    const JobRecord& job = runs[i].findings.front().job;
    const Result<JobReport> report =
        find_report({std::to_string(job.job_id), job.job_id}, config);
    if (report && is_of(*report, job)) runs[i].advice = recommend(*report);
  }
}

void show(const Mail& mail, std::ostream& out) {
  out << "To: " << mail.to << "\nSubject: " << mail.subject << "\n\n"
      << mail.text << "\n";
}

// Of mode 0700, and the caller's alone.
Result<MailRecord> open_record(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) return MailRecord::open(path);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(errno, folder);
  }
  const Result<UniqueFd> checked = open_admin_directory(folder, "--record");
  if (!checked) return checked.error();
  return MailRecord::open(path);
}

// Mails the users of a table, or shows the mails.
class Mailing {
 public:
  Mailing(const PolicyTable& table, const PolicyOptions& options, Config config,
          MailRecord record, Terminal& terminal)
      : table_(table),
        it_(options),
        config_(std::move(config)),
        record_(std::move(record)),
        terminal_(terminal) {}

  // Errors: kIo  mails were not sent, or could not be noted
  Status run() {
    for (const UserFindings& user : table_.users) {
      const Result<Account> account = account_of(user.uid);
      if (!account) {
        say(user.user, "no mail: " + account.error().message);
        continue;
      }
      if (Status done = mail(user, *account); !done) return done;
    }
    if (failed_ == 0) return Done{};
    return Error{Code::kIo, 0,
                 fmt::format("policy: {} of the mails not sent", failed_)};
  }

 private:
  void say(const std::string& user, const std::string& what) {
    terminal_.out << printable(user) << ": " << what << std::endl;
  }

  // Why the user gets no mail now; "": one is due.
  std::string why_not(const Account& account) const {
    // The hour of day at which this runs may vary.
    constexpr double kSlack_s = kDay_s / 2;
    const std::optional<double> last = record_.last_unix_s(account.uid);
    const double least_s = it_.every_days * kDay_s - kSlack_s;
    // A time to come is of a clock that was wrong.
    if (last && *last <= begun_unix_s_ && begun_unix_s_ - *last < least_s) {
      return "had a mail at " + date_text(*last);
    }
    const Result<bool> unwanted = wants_no_mail(account);
    if (!unwanted) return unwanted.error().message;
    return *unwanted ? "wants no mail" : "";
  }

  // Errors: a mail that was sent could not be noted
  Status mail(const UserFindings& user, const Account& account) {
    if (const std::string why = why_not(account); !why.empty()) {
      say(account.name, "no mail: " + why);
      return Done{};
    }
    std::vector<MailedRun> runs = runs_of(user);
    add_advice(config_, runs);
    const Mail mail = compose(account.name, runs, table_.since_unix_s);
    if (!it_.send) {
      show(mail, terminal_.out);
      return Done{};
    }
    const Status sent = doctor::run_program(
        {it_.mailer, "-s", mail.subject, mail.to}, mail.text, kMailer_ms);
    say(account.name, sent ? "mailed" : sent.error().message);
    failed_ += sent ? 0 : 1;
    return sent ? record_.add(user.uid, begun_unix_s_) : Done{};
  }

  const PolicyTable& table_;
  const PolicyOptions& it_;
  const Config config_;
  MailRecord record_;
  Terminal& terminal_;
  const double begun_unix_s_ = unix_s();
  size_t failed_ = 0;
};

Status mail_users(const PolicyTable& table, const PolicyOptions& it,
                  const Config& config, Terminal& terminal) {
  if (::geteuid() != 0) {
    return Error{Code::kPermissionDenied, 0,
                 std::string("policy: only root may mail: it looks for users' "
                             "~/") +
                     kNoMailFile};
  }
  Result<MailRecord> record =
      it.send ? open_record(it.record) : MailRecord::read(it.record);
  if (!record) return std::move(record).error();
  return Mailing(table, it, with_answering(config), *std::move(record),
                 terminal)
      .run();
}

Status run_policy(const PolicyOptions& it, const Config& site,
                  Terminal& terminal) {
  Result<Controllers> controllers = chosen_controllers(it.controller, site);
  if (!controllers) return std::move(controllers).error();
  Config config = site;
  config.controllers = std::move(controllers->addresses);
  const Result<PolicyTable> table = fetch(it, config);
  if (!table) return table.error();
  if (it.mail || it.send) return mail_users(*table, it, config, terminal);
  if (it.csv) {
    terminal.out << table_csv(*table);
  } else if (it.json) {
    terminal.out << json_text(table_json(*table));
  } else {
    terminal.out << render_table(*table, terminal.style);
  }
  return Done{};
}

void add_rules(CLI::App* command, Rules& rules) {
  constexpr double kLeastHours = 0.001, kMostHours = 10'000;
  command
      ->add_option("--idle-gpus", rules.idle_gpu_h,
                   "tell runs with a GPU on which no kernel ran for so many "
                   "hours [2]")
      ->check(CLI::Range(kLeastHours, kMostHours));
  command
      ->add_option_function<double>(
          "--input-bound",
          [&rules](double percent) { rules.input_bound = percent / 100; },
          "tell runs that waited for data for more than this percentage of "
          "their time [30]")
      ->check(CLI::Range(1.0, 100.0));
  command
      ->add_option("--input-bound-hours", rules.input_bound_h,
                   "and ran for so many hours [2]")
      ->check(CLI::Range(kLeastHours, kMostHours));
}

void add_mails(CLI::App* command, PolicyOptions& it) {
  CLI::Option* mail = command->add_flag(
      "--mail", it.mail,
      "print the mails to these users, send none (root only)");
  command->add_flag("--send", it.send, "send them (root only)")->excludes(mail);
  command
      ->add_option("--every", it.every_days,
                   "days from a user's last mail to the next [7]")
      ->check(CLI::Range(0.0, 3650.0));
  command
      ->add_option("--record", it.record,
                   "file of the mails sent [/var/lib/penstock-policy/mails]")
      ->check(has_text);
  command
      ->add_option("--mailer", it.mailer,
                   "program that sends: MAILER -s SUBJECT USER, the text on "
                   "standard input [/usr/bin/mail]")
      ->check(has_text);
}

}  // namespace

Run add_policy(CLI::App* command) {
  auto it = std::make_shared<PolicyOptions>();
  command->add_option("--since", it->since,
                      "runs of the last 12h, 7d, 2w, or since a date such as "
                      "2026-11-01 (UTC) [7d]");
  add_rules(command, it->rules);
  CLI::Option* json = command->add_flag("--json", it->json, "print JSON");
  command->add_flag("--csv", it->csv, "print a record for each finding")
      ->excludes(json);
  add_mails(command, *it);
  for (const char* form : {"--json", "--csv"}) {
    for (const char* mails : {"--mail", "--send"}) {
      command->get_option(form)->excludes(command->get_option(mails));
    }
  }
  command->add_option("--controller", it->controller,
                      "HOST:PORT of penstockctld [Controller]");
  add_site(command, it->site, false);
  return with_config(it, run_policy);
}

}  // namespace penstock
