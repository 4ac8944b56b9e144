// Reports that the tests of this folder share.
#pragma once

#include "report/metrics.h"
#include "report/node_status.h"
#include "report/report.h"

namespace penstock::samples {

// A job that waits for data: 22% fetch, 9% prep, and has run 312 s.
JobReport input_bound();
// A job that needs a third of its requested CPUs.
JobReport wasteful();
// A job that waits 30% of its 300 s for the exchange of gradients, 2% for data.
JobReport exchange_bound();
// A running job with a known name and unknown figures.
JobReport unknown();
// A job with malicious strings.
JobReport hostile();
// A node with all of them and one pool.
NodeStatus node();
// The same node with its metrics.
NodeMetrics metrics();

}  // namespace penstock::samples
