// Options that several subcommands share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "tools/penstock/command.h"
#include "tools/penstock/site.h"

namespace penstock {

// Adds --config, and --socket if the command asks penstockd.
void add_site(CLI::App* command, Site& site, bool asks_daemon);

// What runs a command with the settings of it->site.
template <class Options>
Run with_config(std::shared_ptr<Options> it,
                Status (*run)(const Options&, const Config&, Terminal&)) {
  return [it = std::move(it), run](Invocation& invocation) -> Status {
    const Result<Config> config = site_config(it->site);
    if (!config) return config.error();
    return run(*it, *config, invocation.terminal);
  };
}

// Checks the name of an output file, which an unset variable would leave empty.
std::string has_text(const std::string& text);

// All other options of an exchange require --density.
CLI::Option* add_density(CLI::App* command, std::optional<std::string>& density,
                         std::string& costs_file);

}  // namespace penstock
