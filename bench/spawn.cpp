#include "bench/spawn.h"

#include <spawn.h>

namespace penstock {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<pid_t> spawn(std::vector<std::string> arguments,
                    std::vector<std::string> variables, int input, int output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (input >= 0) ::posix_spawn_file_actions_adddup2(&actions, input, 0);
  if (output >= 0) ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  pid_t process = -1;
  const int error =
      ::posix_spawnp(&process, arguments[0].c_str(), &actions, nullptr,
                     pointers(arguments).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return system_error(error, arguments[0]);
  return process;
}

}  // namespace penstock
