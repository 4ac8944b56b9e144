// The plugin's arguments in plugstack.conf, each "key=value". Pure.
#pragma once

#include <string_view>

#include "common/options.h"
#include "common/protocol.h"
#include "common/result.h"

namespace penstock::spank {

// Fixed buffers, because the plugin's state must not have a destructor: Slurm
// unloads plugins while its own threads run.
struct Settings {
  char socket_path[108] = PENSTOCK_SOCKET_PATH;  // sun_path's size
  char profile_dir[256] = "/etc/slurm/penstock.profiles.d";
  char hook_dir[256] = PENSTOCK_HOOK_DIR;
  char elastic[8] = "";  // kOptionElastic of watched jobs that choose nothing
  OptionLimits limits;
  int timeout_ms = 200;  // total wait for penstockd in one step, 0..10000
};

// Stores one argument: socket=PATH, profile_dir=PATH, hook_dir=PATH (all
// absolute), elastic=exact, max_weight=W, timeout_ms=N.
// Errors: kInvalidArgument  unknown key or invalid value; the message lists the
//                           allowed ones.
// On error settings is not modified.
[[nodiscard]] Status apply_argument(std::string_view argument,
                                    Settings& settings);

}  // namespace penstock::spank
