// Names of the built-in profiles, for the SPANK plugin, which does not link the
// predictor. A test compares them with predictor's builtin_profile_names().
#pragma once

namespace penstock {

inline constexpr const char* kProfileNames[] = {
    "alexnet",   "deepspeech", "gnmt",  "lstm",       "m5",
    "mobilenet", "res18",      "res50", "shufflenet", "transformer",
};

}  // namespace penstock
