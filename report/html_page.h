// What all HTML pages have in common, and pages of nothing but tables. Pure.
#pragma once

#include <string>
#include <vector>

#include "report/markup.h"

namespace penstock {

// The head element. title: of the page, escaped here.
void page_head(Markup& page, const std::string& title);

struct HtmlTable {
  std::string caption;
  std::vector<std::string> heads;              // the third is of words
  std::vector<std::vector<std::string>> rows;  // as long as heads
  std::vector<std::string> notes;              // below the table
};

// A page with a title, introducing sentences and tables. All texts are escaped.
std::string render_tables_page(const std::string& title,
                               const std::vector<std::string>& introduction,
                               const std::vector<HtmlTable>& tables);

}  // namespace penstock
