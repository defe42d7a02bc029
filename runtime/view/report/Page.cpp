// Puts the page together. Its parts are files of page/, embedded when this is
// compiled; nothing is loaded from anywhere when it is read.

#include "view/report/Report.h"

#include <string_view>

using namespace etc::runtime;

/// Embeds a file as a string: between `name` and `name_end`.
// NOLINTBEGIN(bugprone-macro-parentheses): declared names take none
#define ETC_EMBED(name, path)                                                  \
  asm(".pushsection .rodata\n"                                                 \
      ".global " #name "\n" #name ":\n"                                        \
      ".incbin \"" path "\"\n"                                                 \
      ".global " #name "_end\n" #name "_end:\n"                                \
      ".byte 0\n"                                                              \
      ".popsection\n");                                                        \
  extern "C" const char name[], name##_end[];
// NOLINTEND(bugprone-macro-parentheses)

ETC_EMBED(etc_report_html, ETC_REPORT_PAGE "/report.html")
ETC_EMBED(etc_report_style, ETC_REPORT_PAGE "/report.css")
ETC_EMBED(etc_report_echarts, ETC_REPORT_THIRD_PARTY "/echarts/echarts.min.js")
ETC_EMBED(etc_report_base, ETC_REPORT_PAGE "/base.js")
ETC_EMBED(etc_report_plan, ETC_REPORT_PAGE "/plan.js")
ETC_EMBED(etc_report_grids, ETC_REPORT_PAGE "/grids.js")
ETC_EMBED(etc_report_charts, ETC_REPORT_PAGE "/charts.js")
ETC_EMBED(etc_report_costs, ETC_REPORT_PAGE "/costs.js")
ETC_EMBED(etc_report_flows, ETC_REPORT_PAGE "/flows.js")
ETC_EMBED(etc_report_rounds, ETC_REPORT_PAGE "/rounds.js")
ETC_EMBED(etc_report_memory, ETC_REPORT_PAGE "/memory.js")
ETC_EMBED(etc_report_time, ETC_REPORT_PAGE "/time.js")
ETC_EMBED(etc_report_script, ETC_REPORT_PAGE "/report.js")

#define ETC_EMBEDDED(name) std::string_view(name, name##_end)

/// JSON within a script element: no name can end the element.
static std::string escapeJson(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (char c : json) {
    switch (c) {
    case '<':
      out += "\\u003c";
      break;
    case '>':
      out += "\\u003e";
      break;
    case '&':
      out += "\\u0026";
      break;
    default:
      out += c;
    }
  }
  return out;
}

std::string etc::runtime::reportPage(const ReportInput &input) {
  const std::string data = escapeJson(reportJson(input));
  // In the order of report.html.
  const std::pair<std::string_view, std::string_view> parts[] = {
      {"/*@style*/", ETC_EMBEDDED(etc_report_style)},
      {"/*@data*/", data},
      {"/*@echarts*/", ETC_EMBEDDED(etc_report_echarts)},
      {"/*@base*/", ETC_EMBEDDED(etc_report_base)},
      {"/*@plan*/", ETC_EMBEDDED(etc_report_plan)},
      {"/*@grids*/", ETC_EMBEDDED(etc_report_grids)},
      {"/*@charts*/", ETC_EMBEDDED(etc_report_charts)},
      {"/*@costs*/", ETC_EMBEDDED(etc_report_costs)},
      {"/*@flows*/", ETC_EMBEDDED(etc_report_flows)},
      {"/*@rounds*/", ETC_EMBEDDED(etc_report_rounds)},
      {"/*@memory*/", ETC_EMBEDDED(etc_report_memory)},
      {"/*@time*/", ETC_EMBEDDED(etc_report_time)},
      {"/*@script*/", ETC_EMBEDDED(etc_report_script)},
  };
  std::string page;
  std::string_view rest = ETC_EMBEDDED(etc_report_html);
  for (auto [mark, text] : parts) {
    const size_t at = rest.find(mark);
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at + mark.size());
  }
  page += rest;
  return page;
}
