#include "tools/penstock/write_page.h"

#include <ostream>

#include "tools/penstock/replace_file.h"

namespace penstock {

Status write_page(const std::string& page, const std::string& file,
                  Terminal& terminal) {
  if (file != "-") return replace_file(file, page);
  terminal.out << page;
  return Done{};
}

}  // namespace penstock
