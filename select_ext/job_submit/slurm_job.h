// Reads and changes Slurm's description of a job. What cannot be changed, for
// want of memory or room, is left as it was.
#pragma once

#include <span>
#include <string_view>

#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/slurm_api.h"

namespace penstock::job_submit {

// A text of Slurm's, which may be nullptr.
inline std::string_view text_of(const char* text) {
  return text == nullptr ? "" : text;
}

// Views into job, which must not change while they are used.
JobRequest request_of(const job_desc_msg_t& job);
std::span<const char* const> control_environment_of(const job_desc_msg_t& job);
// Empty but for batch jobs.
std::span<const char* const> batch_environment_of(const job_desc_msg_t& job);

// Sets field to a copy of text, or appends it behind separator where field
// holds something. False where it then would be longer than most bytes.
bool append_text(char*& field, std::string_view separator,
                 std::string_view text, size_t most);

// Adds amounts to what each node of the job must have.
bool add_gres(const Amounts& amounts, job_desc_msg_t& job);

// Adds "NAME=value" to a batch job's environment, unless NAME is there.
bool add_variable(std::string_view name, std::string_view value,
                  job_desc_msg_t& job);

// The message that Slurm shows to the user.
void set_message(char** message, std::string_view text);

}  // namespace penstock::job_submit
