// Where the time went: parts of updates and of the run, operations, ranks.
#include "cnntrain/base/text.h"
#include "report/draw/charts.h"
#include "report/page/sections.h"

namespace cnntrain::report {

namespace {

std::string rate(double work, double seconds) {
    return work > 0 && seconds > 0 ? formatted("%.1f", work / seconds) : "-";
}

void add_numbers(Html& page, const std::vector<std::string>& cells) {
    for (const std::string& cell : cells)
        page.leaf("td", cell, {{"class", "number"}});
}

/// The operations that --profile measured, the longest first.
void add_profile(Html& page, const profile::Profile& profile) {
    constexpr std::size_t kMostOperations = 16;
    if (profile.rows.empty() || !(profile.step_seconds > 0)) return;
    page.leaf("h3", "Operations of a weight update");
    std::string text = formatted("Measured by --profile in %lld updates of %.4g ms.",
                                 static_cast<long long>(profile.steps), 1e3 * profile.step_seconds);
    if (profile.peaks.are_known()) {
        text += formatted(" Peaks of the machine: %.0f GFLOP/s", profile.peaks.flops_per_second / 1e9);
        for (const MemoryLevel& level : profile.peaks.levels)
            text += formatted(", %.0f GB/s (%s)", level.rates.best() / 1e9, level.name.c_str());
        text += ". Roofline: the least time that these allow, as a share of the measured time.";
    }
    page.leaf("p", brief(text, 500), {{"class", "soft"}});
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "operations"}});
    page.open("table").open("thead").open("tr");
    page.leaf("th", "operation", {{"scope", "col"}}).leaf("th", "phase", {{"scope", "col"}});
    for (const char* const head : {"ms", "share", "GFLOP/s", "GB/s", "roofline"})
        page.leaf("th", head, {{"scope", "col"}, {"class", "number"}});
    page.leaf("th", "bound", {{"scope", "col"}}).close().close().open("tbody");
    std::size_t shown = 0;
    for (const auto& [row, least] : profile::by_operation(profile.rows, profile.peaks)) {
        if (++shown > kMostOperations) break;
        page.open("tr").leaf("th", brief(row.op, 60), {{"scope", "row"}}).leaf("td", brief(row.phase, 20));
        add_numbers(
            page, {formatted("%.3f", 1e3 * row.seconds), formatted("%.1f %%", 100 * row.seconds / profile.step_seconds),
                   rate(row.gflop, row.seconds), rate(1e-3 * row.megabytes, row.seconds),
                   least.seconds > 0 ? formatted("%.0f %%", 100 * least.share_of(row.seconds)) : "-"});
        page.leaf("td", least.seconds > 0 ? least.bound : "-").close();
    }
    page.close().close().close();
}

}  // namespace

void add_times(Html& page, const RunRecord& run, const Speed& speed) {
    const bool ranks = run.ranks.rows() > 0;
    if (speed.update_parts.empty() && speed.run_parts.empty() && !ranks && !run.profile) return;
    page.leaf("h2", "Where the time went").open("div", {{"class", "grid"}});
    draw_parts(page, "Weight updates", speed.update_parts);
    draw_parts(page, "The whole run", speed.run_parts);
    page.close();
    if (run.profile) add_profile(page, *run.profile);
    if (!run.log.exchange.empty()) page.leaf("p", run.log.exchange + ".");
    if (!ranks) return;
    page.leaf("h3", "Ranks");
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "ranks"}});
    page.open("table").open("thead").open("tr");
    for (const char* const head : {"rank", "updates", "seconds in updates", "waiting for input", "exchange",
                                   "exchange behind the backward pass", "processor seconds"})
        page.leaf("th", head, {{"scope", "col"}, {"class", "number"}});
    page.close().close().open("tbody");
    for (std::size_t row = 0; row < run.ranks.rows(); ++row) {
        page.open("tr").leaf("th", run.ranks.text(row, "rank"), {{"scope", "row"}, {"class", "number"}});
        page.leaf("td", run.ranks.text(row, "updates"), {{"class", "number"}});
        for (const char* const column : {"update_seconds", "input_wait_seconds", "exchange_seconds",
                                         "exposed_exchange_seconds", "processor_seconds"})
            page.leaf("td", duration_text(run.ranks.number(row, column)), {{"class", "number"}});
        page.close();
    }
    page.close().close().close();
}

}  // namespace cnntrain::report
