// Messages that no honest program sends to penstockd.
#pragma once

#include "tests/model/socket_client.h"
#include "tests/model/trial.h"

namespace penstock::model {

// Sends random bytes, often behind a valid header, from a user or (if it does
// not name a process) from root.
void send_garbage(Trial& trial, SocketClient& client);

}  // namespace penstock::model
