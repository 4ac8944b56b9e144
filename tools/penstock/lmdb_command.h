// `penstock lmdb`: indexes, checks and makes LMDB databases.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "tools/penstock/command.h"

namespace penstock {

struct LmdbArguments {
  std::string database;
  std::vector<std::string> sources;  // of import
  bool json = false;                 // of index
  int rounds = 11;                   // of bench: pairs of runs per cell
  std::string figures_file;          // of bench; "": none
};
// Errors of all: those of loader/lmdb; a damaged database is kIo.
[[nodiscard]] Status run_lmdb_index(const LmdbArguments& arguments,
                                    Terminal& terminal);
[[nodiscard]] Status run_lmdb_verify(const LmdbArguments& arguments,
                                     Terminal& terminal);
// Ctrl-C ends it and leaves no database behind.
[[nodiscard]] Status run_lmdb_import(const LmdbArguments& arguments,
                                     Terminal& terminal);

}  // namespace penstock
