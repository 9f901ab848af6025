#include "cnntrain/insight/findings.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "insight/report/page/html.h"
#include "insight/report/page/sections.h"

namespace cnntrain::report {
namespace {

// The page's script: values under the pointer or, with the arrow keys, at the cursor; smoothing; loading again. Without
// it, the page shows everything else.

inline constexpr Literal kScript = R"(
//<![CDATA[
'use strict';
(function () {
  function numbers(text) { return text ? text.split(' ').map(Number) : []; }
  function short(value) { return Number(value.toPrecision(4)).toString(); }
  function smoothed(values, weight) {
    var mean = 0, total = 0;
    return values.map(function (value) {
      mean = weight * mean + (1 - weight) * value;
      total = weight * total + (1 - weight);
      return mean / total;
    });
  }
  var name = 'http://www.w3.org/2000/svg';
  var charts = Array.prototype.map.call(document.querySelectorAll('svg.lines'), function (svg) {
    var s = numbers(svg.dataset.scale);
    var chart = {
      svg: svg, at: -1, unit: svg.dataset.unit, axis: svg.dataset.axis,
      x: function (v) { return s[2] + (v - s[0]) / (s[1] - s[0]) * (s[3] - s[2]); },
      y: function (v) { return s[6] + (v - s[4]) / (s[5] - s[4]) * (s[7] - s[6]); },
      value: function (place) { return s[0] + (place - s[2]) / (s[3] - s[2]) * (s[1] - s[0]); },
      lines: Array.prototype.map.call(svg.querySelectorAll('polyline'), function (line) {
        var y = numbers(line.dataset.y);
        return { element: line, name: line.dataset.name, noisy: line.dataset.noisy === '1',
                 x: numbers(line.dataset.x), y: y, shown: y, raw: null };
      }),
      cursor: document.createElementNS(name, 'line'), readout: document.createElement('p')
    };
    chart.cursor.setAttribute('class', 'cursor');
    chart.cursor.setAttribute('y1', s[7]);
    chart.cursor.setAttribute('y2', s[6]);
    chart.cursor.style.display = 'none';
    svg.appendChild(chart.cursor);
    chart.readout.className = 'readout';
    chart.readout.setAttribute('aria-live', 'polite');
    chart.readout.textContent = '\u00a0';
    svg.insertAdjacentElement('afterend', chart.readout);
    chart.places = chart.lines.reduce(function (all, line) { return all.concat(line.x); }, [])
      .sort(function (a, b) { return a - b; })
      .filter(function (v, i, all) { return i === 0 || v !== all[i - 1]; });
    return chart;
  });
  function nearest(values, value) {
    return values.reduce(function (best, v, i) {
      return best === -1 || Math.abs(v - value) < Math.abs(values[best] - value) ? i : best;
    }, -1);
  }
  function show(chart, index) {
    var value = chart.places[index], place = chart.x(value).toFixed(1);
    chart.at = index;
    chart.cursor.style.display = '';
    chart.cursor.setAttribute('x1', place);
    chart.cursor.setAttribute('x2', place);
    chart.readout.textContent = chart.axis + ' ' + short(value) + ': ' + chart.lines.map(function (line) {
      return line.name + ' ' + short(line.shown[nearest(line.x, value)]) + chart.unit;
    }).join(', ');
  }
  function hide(chart) {
    chart.at = -1;
    chart.cursor.style.display = 'none';
    chart.readout.textContent = '\u00a0';
  }
  charts.forEach(function (chart) {
    var svg = chart.svg;
    svg.addEventListener('pointermove', function (event) {
      var box = svg.getBoundingClientRect();
      show(chart, nearest(chart.places, chart.value((event.clientX - box.left) / box.width * 400)));
    });
    svg.addEventListener('pointerleave', function () { hide(chart); });
    svg.setAttribute('tabindex', '0');
    svg.addEventListener('blur', function () { hide(chart); });
    svg.addEventListener('keydown', function (event) {
      var step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (step === undefined) { return; }
      event.preventDefault();
      show(chart, Math.max(0, Math.min(chart.places.length - 1, chart.at + step)));
    });
  });
  var control = document.getElementById('smooth');
  if (control) {
    control.parentElement.hidden = false;
    control.addEventListener('input', function () {
      var weight = Number(control.value);
      charts.forEach(function (chart) {
        chart.lines.forEach(function (line) {
          if (!line.noisy) { return; }
          line.shown = weight === 0 ? line.y : smoothed(line.y, weight);
          if (!line.raw) {
            line.raw = line.element.cloneNode();
            line.raw.setAttribute('class', line.element.getAttribute('class') + ' raw');
            line.element.parentNode.insertBefore(line.raw, line.element);
          }
          line.raw.style.display = weight === 0 ? 'none' : '';
          line.element.setAttribute('points', line.x.map(function (x, i) {
            return chart.x(x).toFixed(1) + ',' + chart.y(line.shown[i]).toFixed(1);
          }).join(' '));
        });
      });
    });
  }
  var again = Number(document.body.dataset.reload);
  if (again) { setTimeout(function () { location.reload(); }, 1000 * again); }
}());
//]]>
)";

// The page's style. Colours have a contrast of 4.5 for text and 3 for lines, light and dark.

inline constexpr Literal kStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --card: #f5f7f9; --text: #1b1f24; --soft: #525a64;
  --rule: #d3d9df; --heat: 11 98 196; --c0: #0b62c4; --c1: #a8480b; --c2: #1a7431; --c3: #7a3fd1; --c4: #b02a76;
  --c5: #57606a; --good: #1a7431; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --back: #0f141a; --card: #182028; --text: #e6edf3; --soft: #a4afbb; --rule: #37424d; --heat: 88 166 255;
    --c0: #58a6ff; --c1: #f0883e; --c2: #56d364; --c3: #bc8cff; --c4: #ff7bbf; --c5: #adbac7; --good: #56d364;
    --bad: #ff8a80; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 1320px; padding: 16px 20px 48px; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: break-word; }
p, li, td, pre, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 2px; }
h2 { font-size: 1.15rem; margin: 28px 0 10px; padding-top: 10px; border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 16px 0 6px; }
p { margin: 0 0 6px; }
.soft, figcaption .soft { color: var(--soft); }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 370px), 1fr)); gap: 12px;
  margin-top: 14px; }
.answers section { background: var(--card); border: 1px solid var(--rule); border-left: 4px solid var(--c0);
  border-radius: 6px; padding: 10px 14px; min-width: 0; }
.answers section.good { border-left-color: var(--good); }
.answers section.bad { border-left-color: var(--bad); }
.answers section.long { grid-column: 1 / -1; }
.answers h2 { border: 0; margin: 0 0 4px; padding: 0; font-size: 1.05rem; }
.answers p { font-size: .92rem; margin-bottom: 4px; }
.answers p:first-of-type { font-weight: 600; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 390px), 1fr)); gap: 16px; }
.grid.small { grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); }
.small figcaption, .small p { font-size: .8rem; line-height: 1.3; margin: 0; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 4px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); }
.grid { min-width: 0; }
line.rule { stroke: var(--rule); }
line.axis { stroke: var(--soft); }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.dashed { stroke-dasharray: 5 3; stroke-width: 1.4; }
.raw { opacity: .3; }
.line.c0 { stroke: var(--c0); } .line.c1 { stroke: var(--c1); } .line.c2 { stroke: var(--c2); }
.line.c3 { stroke: var(--c3); } .line.c4 { stroke: var(--c4); } .line.c5 { stroke: var(--c5); }
.dot.c0, .fill.c0 { fill: var(--c0); } .dot.c1, .fill.c1 { fill: var(--c1); } .dot.c2, .fill.c2 { fill: var(--c2); }
.dot.c3, .fill.c3 { fill: var(--c3); } .dot.c4, .fill.c4 { fill: var(--c4); } .dot.c5, .fill.c5 { fill: var(--c5); }
.track { fill: var(--rule); }
.cursor { stroke: var(--text); stroke-width: 1; }
.readout { min-height: 1.4em; font-size: .85rem; margin: 2px 0 0; font-variant-numeric: tabular-nums; }
.legend { list-style: none; margin: 2px 0 0; padding: 0; font-size: .85rem; display: flex; flex-wrap: wrap;
  gap: 0 14px; }
.key { display: inline-block; width: 22px; height: 8px; margin-right: 6px; vertical-align: middle; }
.smooth { margin: 0 0 10px; }
.smooth input { vertical-align: middle; width: 180px; max-width: 60vw; accent-color: var(--c0); }
[hidden] { display: none; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 10px 3px 0; vertical-align: top; border-bottom: 1px solid var(--rule); }
thead th { border-bottom: 2px solid var(--rule); }
th { font-weight: 600; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
.parts table { width: 100%; max-width: 640px; }
.parts td { white-space: nowrap; } .parts td.bar { width: 34%; vertical-align: middle; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 0 20px; }
.pair > div { min-width: 0; }
.parts td.bar svg { height: 12px; }
.scroll { overflow: auto; max-height: 560px; border: 1px solid var(--rule); border-radius: 6px; padding: 6px 10px; }
.scroll table { font-size: .84rem; }
.scroll td, .scroll th { overflow-wrap: break-word; max-width: 480px; }
.flag, th code { white-space: nowrap; }
.scroll.wide-rows { max-height: none; }
:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
.matrix td, .matrix th { border: 1px solid var(--rule); padding: 2px 5px; text-align: center; min-width: 30px; }
.matrix thead th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; max-height: 150px;
  padding: 5px 2px; vertical-align: bottom; }
.matrix thead th:first-child { writing-mode: horizontal-tb; transform: none; }
.matrix tbody th { text-align: right; white-space: nowrap; max-width: 190px; overflow: hidden;
  text-overflow: ellipsis; }
.matrix td { background: rgb(var(--heat) / calc(var(--v, 0) * .5)); }
.matrix td.right { outline: 1px solid var(--soft); outline-offset: -1px; }
.photos { display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 12px; }
.photos img { width: 100%; aspect-ratio: 1; object-fit: contain; background: var(--card); image-rendering: auto;
  border: 1px solid var(--rule); border-radius: 4px; }
.photos img.tiny { image-rendering: pixelated; }
.photos figcaption { font-weight: 400; font-size: .8rem; line-height: 1.3; }
.photos .file { display: block; color: var(--soft); }
.texts li, .words li { margin-bottom: 10px; }
.words mark { background: none; color: inherit; font-weight: 600; border-bottom: 2px solid var(--bad); }
.words mark.right { border-bottom-color: var(--good); }
.words .guess { color: var(--soft); font-size: .88em; }
.ticks td { min-width: 34px; padding: 2px 4px; text-align: center; border: 1px solid var(--rule); white-space: nowrap; }
.ticks td.forward { background: rgb(var(--heat) / .15); }
.ticks td.backward { background: rgb(var(--heat) / .35); }
.ticks td.both { background: rgb(var(--heat) / .5); }
pre { background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 8px 10px; margin: 0 0 8px;
  white-space: pre-wrap; font: 13px/1.4 ui-monospace, monospace; }
code { font: .92em ui-monospace, monospace; }
footer { margin-top: 32px; font-size: .85rem; color: var(--soft); border-top: 1px solid var(--rule);
  padding-top: 8px; }
@media (max-width: 480px) { body { padding: 12px 12px 32px; } h1 { font-size: 1.25rem; } th, td { padding-right: 7px; }
  .photos { grid-template-columns: repeat(auto-fill, minmax(104px, 1fr)); gap: 8px; } }
@media print { :root { --back: #ffffff; --card: #f5f7f9; --text: #1b1f24; --soft: #525a64; --rule: #d3d9df;
    --heat: 11 98 196; --c0: #0b62c4; --c1: #a8480b; --c2: #1a7431; --c3: #7a3fd1; --c4: #b02a76; --c5: #57606a;
    --good: #1a7431; --bad: #b3261e; color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 11px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .smooth, .readout { display: none; } .scroll { overflow: visible; max-height: none; border: 0; padding: 0; }
  figure, .answers section, .matrix, tr { break-inside: avoid; }
  h2, h3, p.soft { break-after: avoid; }
  .scroll td, .scroll th { max-width: none; overflow-wrap: anywhere; } th code { white-space: normal; }
  .grid { grid-template-columns: repeat(2, 1fr); } .grid.small { grid-template-columns: repeat(6, 1fr); }
  .photos { grid-template-columns: repeat(6, 1fr); } }
)";

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

/// Findings about the runs, made once for the first screen and the sections.
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
