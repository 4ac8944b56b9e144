// The names of the built-in profiles, for those who check a name without
// linking the predictor (the SPANK plugin). A test compares them with
// predictor's builtin_profile_names().
#pragma once

namespace penstock {

inline constexpr const char* kProfileNames[] = {
    "alexnet",   "deepspeech", "gnmt",  "lstm",       "m5",
    "mobilenet", "res18",      "res50", "shufflenet", "transformer",
};

}  // namespace penstock
