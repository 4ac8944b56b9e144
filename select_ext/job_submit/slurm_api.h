// The plugin's imports from Slurm: its public headers, and the allocator that
// all texts in a job_desc_msg_t must come from. Slurm exports the two allocator
// functions without declaring them; they are the same from 22.05 to 26.05.
#pragma once

#include <cstddef>

#include "common/slurm_release.h"

extern "C" {

// nullptr only with may_fail; otherwise slurmctld exits when memory is short.
void* slurm_xcalloc(size_t count, size_t size, bool clear, bool may_fail,
                    const char* file, int line, const char* function);
void slurm_xfree(void** memory);

void slurm_info(const char* format, ...) __attribute__((format(printf, 1, 2)));
void slurm_error(const char* format, ...) __attribute__((format(printf, 1, 2)));

// The opaque job record that job_modify() receives.
struct job_record;
}
