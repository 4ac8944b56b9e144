#include "report/html_page.h"

#include "report/html_parts.h"
#include "report/html_style.h"

namespace penstock {
namespace {

// Second line of defence if a user's text got past the escaping: nothing is
// fetched and no script runs.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'";

}  // namespace

void page_head(Markup& page, const std::string& title) {
  page.open("head");
  page.leaf("meta", {{"charset", "utf-8"}});
  page.leaf("meta",
            {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}});
  page.leaf("meta", {{"name", "viewport"},
                     {"content", "width=device-width, initial-scale=1"}});
  page.leaf("meta", {{"name", "referrer"}, {"content", "no-referrer"}});
  page.element("title", title);
  page.style(kHtmlStyle);
  page.close();
}

std::string render_tables_page(const std::string& title,
                               const std::vector<std::string>& introduction,
                               const std::vector<HtmlTable>& tables) {
  constexpr int kRemarks = 3;  // column
  Markup page;
  page.open("html", {{"lang", "en"}});
  page_head(page, title);
  page.open("body");
  page.open("main");
  page.element("h1", title);
  for (const std::string& text : introduction) page.element("p", text);
  for (const HtmlTable& table : tables) {
    page.element("h2", table.caption);
    draw_table(page, table.caption, table.heads, table.rows, kRemarks);
    for (const std::string& note : table.notes) page.element("p", note);
  }
  page.close();
  page.close();
  page.close();
  return "<!DOCTYPE html>\n" + std::move(page).take();
}

}  // namespace penstock
