#include <iostream>

#include "tools/penstock/command_line.h"

int main(int argc, char** argv) {
  penstock::Terminal terminal = penstock::standard_terminal();
  return penstock::run_command_line(argc, argv, terminal, std::cerr);
}
