// Reads and changes Slurm's description of a job. A field that cannot be
// changed, because memory or room is short, keeps its value.
#pragma once

#include <span>
#include <string_view>

#include "select_ext/job_submit/job_request.h"
#include "select_ext/job_submit/slurm_api.h"

namespace penstock::job_submit {

// A text from Slurm, which may be nullptr.
inline std::string_view text_of(const char* text) {
  return text == nullptr ? "" : text;
}

// The results are views into job, which must not change while they are used.
JobRequest request_of(const job_desc_msg_t& job);
std::span<const char* const> control_environment_of(const job_desc_msg_t& job);
// Empty except for batch jobs.
std::span<const char* const> batch_environment_of(const job_desc_msg_t& job);

// Sets field to a copy of text, or appends separator and text to its content.
// False if memory is short or the result would exceed `most` bytes.
bool append_text(char*& field, std::string_view separator,
                 std::string_view text, size_t most);

// Adds amounts to the job's GRES per node.
bool add_gres(const Amounts& amounts, job_desc_msg_t& job);

// Adds "NAME=value" to a batch job's environment, unless NAME is set.
bool add_variable(std::string_view name, std::string_view value,
                  job_desc_msg_t& job);

// Adds a line to the message that Slurm shows to the user.
void set_message(char** message, std::string_view text);

}  // namespace penstock::job_submit
