// What a job uses of its CPUs, with or without progress pages. Pure.
#pragma once

#include "node_agent/job.h"

namespace penstock {

// Records the use since the last sample, from job.sampled and job.totals:
// cores of the loader and of the trainer, whether the loader starves, and
// whether the job is idle.
//   trainer_delay_s  TrainerDelay::lap_s()
void note_use(Job& job, double trainer_delay_s, double period_s);

}  // namespace penstock
