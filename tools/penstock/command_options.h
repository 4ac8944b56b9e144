// The subcommands' CLI11 options, in one file per kind. Internal to the command
// line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tools/penstock/analyze.h"
#include "tools/penstock/cache_command.h"
#include "tools/penstock/command.h"
#include "tools/penstock/lmdb_command.h"
#include "tools/penstock/report_jobs.h"

namespace penstock {

struct CommandLine {
  CLI::App app{"Feeds the loaders of deep-learning jobs on Slurm clusters."};
  Site site;
  ReportArguments report;
  ReportJobsArguments report_jobs;
  TopArguments top;
  DoctorArguments doctor;
  PredictArguments predict;
  WhatIfArguments what_if;
  ControllerArguments jobs, nodes, history;
  SimulateArguments simulate;
  AnalyzeArguments analyze;
  LmdbArguments lmdb;
  CacheArguments cache;
  std::string config_file;
};

// Adds --config, and --socket if the command asks penstockd.
void add_site(CLI::App* command, Site& site, bool asks_daemon);

// Checks the name of an output file, which an unset variable would leave empty.
std::string has_text(const std::string& text);

// command_line_views.cpp: running and finished jobs
void add_report(CommandLine& line);
void add_top(CommandLine& line);
void add_jobs(CommandLine& line);
void add_nodes(CommandLine& line);
void add_history(CommandLine& line);

// command_line_analyze.cpp
void add_analyze(CommandLine& line);
// Checks the options of analyze; the words after "--" are in arguments.command.
// Errors: kInvalidArgument  contradictory options
[[nodiscard]] Status finish_analyze(const CommandLine& line,
                                    AnalyzeArguments& arguments);
// command_line_report.cpp: options for many jobs, and the choice of the report
void add_many_reports(CLI::App* command, CommandLine& line);
[[nodiscard]] Status run_report_line(const CommandLine& line,
                                     const Config& config, Terminal& terminal);

// command_line_cache.cpp
void add_cache(CommandLine& line);
[[nodiscard]] Status run_cache_line(const CommandLine& line, Terminal& terminal,
                                    std::ostream& errors);

// command_line_lmdb.cpp
void add_lmdb(CommandLine& line);
[[nodiscard]] Status run_lmdb_line(const CommandLine& line, Terminal& terminal);

// command_line_predict.cpp
void add_predict(CommandLine& line);
void add_what_if(CommandLine& line);
void add_simulate(CommandLine& line);

}  // namespace penstock
