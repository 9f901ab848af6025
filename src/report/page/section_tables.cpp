// What ran, what differs, what is missing.
#include <algorithm>

#include "report/page/sections.h"

namespace cnntrain::report {

namespace {

constexpr std::size_t kMostRows = 200;

void add_row(Html& page, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    page.open("tr").leaf("th", name, {{"scope", "row"}}).leaf("td", brief(value, 400)).close();
}

void add_changed_options(Html& page, const RunRecord& run) {
    if (!run.knows_changed_options || run.changed_options.empty()) return;
    page.leaf("h3", "Options that differ from the defaults");
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "options"}});
    page.open("table").open("thead").open("tr");
    for (const char* const head : {"option", "value", "default"})
        page.leaf("th", head, {{"scope", "col"}});
    page.close().close().open("tbody");
    for (std::size_t i = 0; i < std::min(kMostRows, run.changed_options.size()); ++i) {
        const ChangedOption& option = run.changed_options[i];
        page.open("tr").open("th", {{"scope", "row"}}).leaf("code", option.flag).close();
        page.leaf("td", brief(option.value, 300));
        page.leaf("td", option.fallback.empty() ? "depends on model and data" : brief(option.fallback)).close();
    }
    page.close().close().close();
}

}  // namespace

void add_words_of(Html& page, std::string_view text) {
    constexpr std::size_t kMostOfFlag = 40;
    std::size_t written = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (word.size() <= kMostOfFlag && (word.starts_with("--") || word.starts_with("(--"))) {
            page.text(text.substr(written, begin - written)).leaf("span", word, {{"class", "flag"}});
            written = end;
        }
        begin = end + 1;
    }
    page.text(text.substr(written));
}

void add_what_ran(Html& page, const RunRecord& run) {
    page.leaf("h2", "What exactly ran");
    if (!run.log.command_line.empty()) {
        page.open("pre");
        add_words_of(page, brief(run.log.command_line, 8000));
        page.close();
    }
    page.open("table").open("tbody");
    add_row(page, "folder", run.folder);
    add_row(page, "began", run.log.date);
    add_row(page, "machine", run.log.host);
    add_row(page, "processor", run.log.processor);
    add_row(page, "cores", run.log.cores);
    add_row(page, "backend", run.log.backend);
    add_row(page, "arithmetic", run.log.arithmetic);
    add_row(page, "program", run.argument("program_version"));
    add_row(page, "seed", run.argument("seed"));
    add_row(page, "data fingerprint", data_text(run));
    if (run.checkpoint) {
        add_row(page, "checkpoint", run.checkpoint->name);
        add_row(page, "checkpoint's header", "crc32c " + run.checkpoint->header_crc);
    }
    page.close().close();
    add_changed_options(page, run);
}

void add_differences(Html& page, const std::vector<RunRecord>& runs, const Comparison& comparison) {
    if (comparison.options.empty()) return;
    page.leaf("h2", "Options that differ between the runs");
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "differences"}});
    page.open("table").open("thead").open("tr").leaf("th", "option", {{"scope", "col"}});
    for (const RunRecord& run : runs)
        page.leaf("th", brief(run.name, 60), {{"scope", "col"}});
    page.close().close().open("tbody");
    for (std::size_t i = 0; i < std::min(kMostRows, comparison.options.size()); ++i) {
        const Difference& difference = comparison.options[i];
        page.open("tr").open("th", {{"scope", "row"}}).leaf("code", brief(difference.key)).close();
        for (std::size_t run = 0; run < runs.size(); ++run) {
            const bool recorded = runs[run].arguments.contains(difference.key);
            const std::string& value = difference.values[run];
            page.leaf("td", !recorded ? "not recorded" : value.empty() ? "none" : brief(value));
        }
        page.close();
    }
    page.close().close().close();
}

void add_missing(Html& page, const std::vector<RunRecord>& runs) {
    const bool any = std::ranges::any_of(runs, [](const RunRecord& run) { return !run.missing.empty(); });
    if (!any) return;
    page.leaf("h2", "What is missing").open("ul");
    for (const RunRecord& run : runs) {
        for (const std::string& one : run.missing)
            page.leaf("li", (runs.size() > 1 ? brief(run.name, 60) + ": " : "") + brief(one, 500));
    }
    page.close();
}

}  // namespace cnntrain::report
