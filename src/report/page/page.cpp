#include "cnntrain/report/page.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/report/findings.h"
#include "report/page/html.h"
#include "report/page/script.h"
#include "report/page/sections.h"
#include "report/page/style.h"

namespace cnntrain::report {

namespace {

// The begin of every page. is_page() recognises it.
constexpr Literal kBegin = "<!DOCTYPE html>\n<html lang=\"en\" data-program=\"cnntrain report\">\n";

// The last line of every page, with the checksum of all before it.
constexpr std::string_view kSeal = "<!-- crc32c ";
constexpr std::string_view kSealEnd = " -->\n";

std::string sealed(std::string page) {
    const std::uint32_t checksum = crc32c(std::as_bytes(std::span(page)));
    return page + std::string(kSeal) + hex_text(checksum) + std::string(kSealEnd);
}

std::string end_word(End end) {
    switch (end) {
        case End::finished:
            return "finished";
        case End::early:
            return "ended early";
        case End::stopped:
            return "stopped";
        case End::diverged:
            return "ended with an error";
        case End::going:
            return "still going";
        case End::killed:
            return "killed";
        case End::unknown:
            break;
    }
    return "end not recorded";
}

std::string tone_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::learned:
            return "good";
        case Verdict::none:
        case Verdict::diverged:
            return "bad";
        case Verdict::little:
        case Verdict::unknown:
            break;
    }
    return "";
}

void add_answer(Html& page, std::string_view question, const std::vector<std::string>& sentences,
                const std::string& tone = "") {
    page.open("section", {{"class", tone}}).leaf("h2", question);
    for (const std::string& sentence : sentences) {
        if (sentence.empty()) continue;
        page.open("p");
        add_words_of(page, brief(sentence, 700));
        page.close();
    }
    page.close();
}

std::vector<std::string> with_line(const RunRecord& run) {
    std::vector<std::string> sentences = describe_run(run);
    if (!run.log.command_line.empty()) sentences.push_back(brief(run.log.command_line, 240));
    return sentences;
}

/// What is found out about the runs, once for the first screen and the sections.
struct Findings {
    Learning learning;
    Speed speed;
    Confusion confusion;
    Comparison comparison;
};

void add_first_screen(Html& page, const std::vector<RunRecord>& runs, const Findings& found) {
    const RunRecord& run = runs.front();
    page.open("section", {{"class", "answers"}, {"aria-label", "answers"}});
    add_answer(page, "Did it learn?", found.learning.sentences, tone_of(found.learning.verdict));
    add_answer(page, "What limited its speed?", found.speed.sentences);
    add_answer(page, "What does it confuse?", found.confusion.sentences);
    add_answer(page, "What exactly ran?", with_line(run), "long");
    if (runs.size() > 1) add_answer(page, "What changed against the other runs?", found.comparison.sentences, "long");
    page.close();
}

std::string title_of(const std::vector<RunRecord>& runs) {
    std::string title = brief(runs.front().name, 80);
    if (runs.size() > 1) title += " and " + std::to_string(runs.size() - 1) + " more";
    return title;
}

void add_head(Html& page, const std::vector<RunRecord>& runs) {
    page.open("head").empty("meta", {{"charset", "utf-8"}});
    page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
    page.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                        {"content",
                         "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"}});
    page.leaf("title", "cnntrain report: " + title_of(runs));
    page.open("style").literal(kStyle).close().close();
}

std::string drawn(const std::vector<RunRecord>& runs, const Findings& found, const PageSettings& settings,
                  std::size_t most_pictures) {
    const RunRecord& run = runs.front();
    Html page;
    page.literal(kBegin);
    add_head(page, runs);
    page.open("body", {{"data-reload", settings.reload_seconds > 0 ? number_text(settings.reload_seconds) : ""}});
    page.open("main").leaf("h1", title_of(runs));
    page.leaf("p",
              end_word(run.end) + (run.log.date.empty() ? "" : ", began " + run.log.date) + "; page written " +
                  settings.written,
              {{"class", "soft"}});
    add_first_screen(page, runs, found);
    add_curves(page, runs);
    add_times(page, run, found.speed);
    add_confusion(page, found.confusion);
    add_samples(page, run, found.confusion, most_pictures);
    add_words(page, run);
    add_histograms(page, run);
    add_weights(page, run);
    add_pipeline(page, run);
    add_what_ran(page, run);
    add_differences(page, runs, found.comparison);
    add_missing(page, runs);
    page.close().leaf("footer", "Written by cnntrain report (" + settings.version + "). The file needs nothing else.");
    page.open("script").literal(kScript).close().close();
    page.literal("</html>\n");
    return page.finished();
}

}  // namespace

std::string page_of(const std::vector<RunRecord>& runs, const PageSettings& settings) {
    CNNTRAIN_CHECK(!runs.empty(), "a page needs a run");
    if (runs.size() > kMostRuns) {
        throw Error(ErrorKind::usage, "cnntrain report: " + std::to_string(runs.size()) + " runs; a page compares " +
                                          std::to_string(kMostRuns) + " at most");
    }
    const Findings found{judge_learning(runs.front()), judge_speed(runs.front()), judge_confusion(runs.front()),
                         compare_runs(runs)};
    std::string page = drawn(runs, found, settings, settings.most_pictures);
    for (std::size_t pictures = settings.most_pictures; page.size() > kMostPageBytes && pictures > 0;) {
        pictures /= 2;
        page = drawn(runs, found, settings, pictures);
    }
    return sealed(std::move(page));
}

bool is_page(const FileSystem& files, const std::string& path) {
    const std::unique_ptr<InputFile> file = files.open(path);
    std::string begin(std::min<std::uint64_t>(kBegin.view().size(), file->size_bytes()), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(begin)));
    if (begin != kBegin.view()) return false;
    const std::string text = read_text(files, path);
    const std::size_t seal = text.rfind(kSeal);
    return seal == std::string::npos || text == sealed(text.substr(0, seal));  // earlier versions wrote none
}

}  // namespace cnntrain::report
