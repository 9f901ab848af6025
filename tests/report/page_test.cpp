// The page as a file: its facts, hostile names as text, its size, and a template that loads nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <regex>
#include <set>

#include "cnntrain/insight/findings.h"
#include "report/made_up_run.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::report::test {
namespace {

using nlohmann::json;

const PageSettings kSettings{.written = "2026-11-25 12:00:00", .version = "cnntrain 9.8.7"};
constexpr std::string_view kFactsBegin = "<script id=\"facts\" type=\"application/json\">";

std::size_t times_in(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// The text of the facts, as browsers find its end.
std::string facts_text(const std::string& page) {
    const std::size_t begin = page.find(kFactsBegin) + kFactsBegin.size();
    return page.substr(begin, page.find("</script", begin) - begin);
}

json facts_of(const std::vector<RunRecord>& runs) {
    return json::parse(facts_text(page_of(runs, kSettings)));
}

std::string template_text() {
    return read_text(posix_files(), CNNTRAIN_SOURCE_DIR "/src/insight/report/page/template.html");
}

RunRecord full_run() {
    MemoryFiles files;
    MadeUpRun{}.write(files);
    RunRecord run = read_run(files, kFolder, false);
    run.predictions = read_predictions(predictions_json({"cat", "dog"}, "a.jpg"));
    run.log.stage_count = 3;
    run.log.stages = "stage 0: ...\n";
    run.arguments["pipeline_schedule"] = "Grouped";
    run.arguments["gradient_accumulation_count"] = "6";
    run.ranks = Table("rank,iteration,updates,update_seconds,exposed_exchange_seconds\n0,40,40,8,1\n1,40,40,8,1\n");
    run.changed_options = {{"--model-size", "20", "8"}};
    run.knows_changed_options = true;
    run.checkpoint.emplace().name = "ckpt-40";
    run.weights = {{.name = "stage1", .tensors = 2, .elements = 3, .values = {-0.1, 0.02, 0.3}}};
    run.profile = made_up_profile();
    return run;
}

/// Has what full_run() lacks: texts, masked words, classes and options beyond what tables show, an exchange.
RunRecord run_of_texts() {
    RunRecord run = full_run();
    run.vocabulary = {"[SEP]", "play", "##ing", "##s"};
    for (Sample& sample : run.predictions->rows) {
        sample.picture.clear();
        sample.tokens = {1, 2, 0, 9};
    }
    run.predictions->sequences.push_back({{1, 2, 3}, {{1, 2, {2, 3}, {0.5, 0.25}}}});
    run.log.exchange = "Exchange of gradients: 1 s";
    return run;
}

TEST(Page, HasTheFactsOfAllSections) {
    const json facts = facts_of({full_run()});
    EXPECT_EQ(facts["title"], "run");
    EXPECT_EQ(facts["status"], "finished; page written 2026-11-25 12:00:00");
    EXPECT_EQ(facts["tone"], "good");
    for (const char* const question : {"learning", "limits", "confusions", "description"})
        EXPECT_FALSE(facts[question].empty()) << question;
    std::vector<std::string> titles;
    for (const json& chart : facts["curves"])
        titles.push_back(chart["title"]);
    EXPECT_THAT(titles, ::testing::ElementsAre("Loss", "Accuracy", "Learning rate", "Throughput"));
    const json loss = facts["curves"][0]["lines"];
    EXPECT_EQ(loss[0]["name"], "training");
    EXPECT_EQ(loss[1], json::parse(R"({"name": "validation", "colour": 0, "dots": true, "last": "1.5",
                                       "x": [1.0, 2.0, 3.0, 4.0], "y": [2.2, 1.9, 1.7, 1.5]})"));
    EXPECT_EQ(facts["parts"].size(), 2U) << "of the updates, of the run";
    EXPECT_EQ(facts["operations"][0][0], "dense");
    EXPECT_EQ(facts["ranks"].size(), 2U);
    EXPECT_EQ(facts["matrix"][0], json::parse(R"({"name": "cat", "samples": 3, "counts": [1, 2]})"));
    EXPECT_EQ(facts["classes"][0], json::parse(R"(["cat", 3, "33.3 %", 1, "100.0 %", "50.0 %"])"));
    EXPECT_EQ(facts["photos"].size(), 1U);
    EXPECT_EQ(facts["photos"][0]["text"], "cat (1.0 %), taken for dog (99.0 %)");
    EXPECT_EQ(facts["stages"].size(), 3U);
    EXPECT_EQ(facts["stages"][0][0], "F0");
    EXPECT_EQ(facts["options"], json::parse(R"([["--model-size", "20", "8"]])"));
    EXPECT_EQ(facts["checkpoint"], "ckpt-40");
}

TEST(Page, HistogramsCountEveryValue) {
    const json facts = facts_of({full_run()});
    const auto sum = [](const json& counts) {
        const auto numbers = counts.get<std::vector<int>>();
        return std::accumulate(numbers.begin(), numbers.end(), 0);
    };
    EXPECT_EQ(sum(facts["weights"][0]["counts"]), 3);
    EXPECT_EQ(facts["weights"][0]["low"], -0.1);
    EXPECT_EQ(facts["weights"][0]["high"], 0.3);
    ASSERT_EQ(facts["histograms"].size(), 3U);
    const json series = facts["histograms"][0]["series"];
    EXPECT_EQ(series[0]["name"], "classified correctly");
    EXPECT_EQ(sum(series[0]["counts"]) + sum(series[1]["counts"]), 4);
    EXPECT_EQ(sum(facts["histograms"][2]["series"][0]["counts"]), 4) << "equal durations of four log lines";
}

TEST(Page, LongCurvesAreMeansOfNeighbours) {
    RunRecord run = full_run();
    run.training = Table(training_csv(std::vector<TrainingLine>(20000, {1, "2.345678"})));
    const json line = facts_of({run})["curves"][0]["lines"][0];
    EXPECT_EQ(line["x"].size(), 400U);
    EXPECT_THAT(line["y"].get<std::vector<double>>(), ::testing::Each(2.3457));
    EXPECT_EQ(line["last"], "2.346");
}

TEST(Page, HasMapsAndTheReliabilityOfProbabilities) {
    const json facts = facts_of({full_run()});
    EXPECT_TRUE(facts["photos"][0].contains("map"));
    const json& lines = facts["reliability"][0]["lines"];
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[1]["x"], json::parse("[50.0]"));
    EXPECT_EQ(lines[1]["y"], json::parse("[25.0]"));
    EXPECT_EQ(lines[2]["x"], json::parse("[30.0]"));
    EXPECT_EQ(lines[2]["name"], "with temperature 2");
    EXPECT_THAT(facts["confusions"].dump(), HasSubstr("20.0 points from its accuracy"));
    EXPECT_THAT(facts["confusions"].dump(), HasSubstr("--temperature 2 makes that 10.0 and the loss 1.200"));
}

TEST(Page, HasTheWordsOfTexts) {
    const json facts = facts_of({run_of_texts()});
    EXPECT_FALSE(facts.contains("photos"));
    EXPECT_EQ(facts["texts"].size(), 2U);
    EXPECT_EQ(facts["texts"][0]["pieces"], json::parse(R"(["play", "##ing", "[SEP]", "9"])"));
    EXPECT_EQ(facts["sequences"][0], json::parse(R"(["play",
        {"word": "##ing", "right": true, "guesses": "##ing 50.0 %, ##s 25.0 %"}, "##s"])"));
    EXPECT_EQ(facts["numbered"], false);
}

TEST(Template, ShowsEveryFactAndNoOther) {
    const std::string text = template_text();
    std::set<std::string> shown;
    const std::regex by_name(R"re(data-(?:if|text|rows|sentences)="([a-z ]+)"|all\('([a-z]+)'\)|facts\.([a-z]+))re");
    for (std::sregex_iterator found(text.begin(), text.end(), by_name); found != std::sregex_iterator(); ++found) {
        std::istringstream names((*found)[1].str() + (*found)[2].str() + (*found)[3].str());
        for (std::string name; names >> name;)
            shown.insert(name);
    }
    RunRecord many = run_of_texts();
    many.predictions->classes = std::vector<std::string>(300, "class");
    for (std::int64_t label = 0; label < 300; ++label)
        many.predictions->rows.push_back({"a.jpg", label, 0.1, {299 - label}, {0.9}, {}, {}});
    MadeUpRun other;
    other.dataset = "cifar-100";
    other.training.clear();
    std::set<std::string> known;
    for (const std::vector<RunRecord>& runs : {std::vector{full_run()}, {many, other.read()}}) {
        const json facts = facts_of(runs);
        for (const auto& [name, fact] : facts.items())
            known.insert(name);
    }
    EXPECT_EQ(known, shown);
}

TEST(Template, LoadsNothingAndMakesNoMarkupOfText) {
    const std::string text = template_text();
    EXPECT_THAT(text, HasSubstr("default-src 'none'")) << "browsers load nothing, either";
    EXPECT_THAT(text, HasSubstr("<noscript>"));
    EXPECT_EQ(times_in(text, "{facts}"), 1U);
    EXPECT_EQ(times_in(text, "<script"), 2U) << "the facts and the script";
    EXPECT_EQ(times_in(text, "<script>"), 1U);
    EXPECT_EQ(times_in(text, std::string(kFactsBegin) + "{facts}</script>"), 1U);
    EXPECT_EQ(times_in(text, "://"), 1U);
    EXPECT_EQ(times_in(text, "'http://www.w3.org/2000/svg'"), 1U) << "a name, no address";
    EXPECT_EQ(times_in(text, "src:"), 1U);
    EXPECT_EQ(times_in(text, "src: 'data:image/jpeg;base64,' + picture"), 1U);
    for (const char* const word : {"innerHTML",
                                   "outerHTML",
                                   "insertAdjacentHTML",
                                   "document.write",
                                   "eval",
                                   "Function(",
                                   "DOMParser",
                                   "createContextualFragment",
                                   "setTimeout('",
                                   "import(",
                                   "@import",
                                   "fetch",
                                   "XMLHttpRequest",
                                   "WebSocket",
                                   "EventSource",
                                   "sendBeacon",
                                   "Worker",
                                   "url(",
                                   "src=",
                                   "href",
                                   "srcset",
                                   "action=",
                                   "<link",
                                   "<iframe",
                                   "<object",
                                   "<embed",
                                   "<form",
                                   "onclick",
                                   "onerror",
                                   "onload"})
        EXPECT_EQ(times_in(text, word), 0U) << word;
}

TEST(Page, HostileNamesAreText) {
    const std::string attack = "</script><img src=x onerror=alert(1)>\"'&]]><!--<script>\x1b[31m\xff\xe2\x80\xae";
    MadeUpRun hostile;
    hostile.name = "R<b>&\"";
    RunRecord run = hostile.read();
    run.predictions = read_predictions(predictions_json({"cat", "dog"}, "a.jpg"));
    run.predictions->classes = {attack, "<dog>"};
    for (Sample& sample : run.predictions->rows)
        sample.name = "folder/" + attack;
    run.vocabulary = {attack};
    run.checkpoint.emplace().name = attack;
    run.weights = {{.name = attack, .tensors = 1, .elements = 2, .values = {1, 2}}};
    run.profile = made_up_profile();
    run.profile->rows.front().op = run.profile->rows.front().phase = attack;
    run.profile->peaks = {1e12, {{attack, 1e9, {1e10, 0}}}};
    run.predictions->sequences.push_back({{0, 7}, {{1, 0, {0, 3}, {0.5, 0.25}}}});
    run.log.command_line = "cnntrain train --data-dir '" + attack + "'";
    run.log.processor = attack;
    run.missing.push_back(attack);
    run.changed_options = {{"--data-dir", attack, attack}};
    run.knows_changed_options = true;
    const std::string page = page_of({run, run}, kSettings);
    const std::string text = facts_text(page);
    EXPECT_EQ(page.substr(0, page.find(kFactsBegin)), template_text().substr(0, template_text().find(kFactsBegin)));
    EXPECT_EQ(page.substr(page.find(kFactsBegin) + kFactsBegin.size() + text.size(), 20), "</script>\n<script>\n'");
    EXPECT_EQ(times_in(page, "<script"), 2U);
    EXPECT_EQ(text.find('<'), std::string::npos) << "nothing that a browser reads as markup within the facts";
    const auto is_visible = [](char c) { return c >= ' ' && c <= '~'; };
    EXPECT_TRUE(std::ranges::all_of(text, is_visible)) << "escapes, text that runs backwards";
    const json facts = json::parse(text);
    const std::string kept = attack.substr(0, attack.find('\xff')) + "\xef\xbf\xbd\xe2\x80\xae";
    EXPECT_EQ(facts["missing"].back(), run.name + ": " + kept) << "the text, with a mark for the byte that is no UTF-8";
    EXPECT_EQ(facts["options"][0], json({"--data-dir", kept, kept}));
    EXPECT_EQ(facts["checkpoint"], kept);
}

TEST(Page, FactsAreJsonWhateverTheBytes) {
    RunRecord run = full_run();
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::string bytes(40, '\0');
        for (char& c : bytes)
            c = static_cast<char>(random() % 256);
        run.missing.push_back(bytes);
    }
    run.missing.emplace_back("gr\xc3\xbc\xc3\x9f \xf0\x9f\x99\x82");
    const json missing = facts_of({run})["missing"];
    EXPECT_EQ(missing.size(), run.missing.size());
    EXPECT_EQ(missing.back(), run.missing.back());
}

TEST(Page, StaysBelowItsLimit) {
    RunRecord run = full_run();
    Predictions& predictions = *run.predictions;
    for (int i = 0; i < 400; ++i)
        predictions.classes.push_back("class " + std::string(3000, 'x') + std::to_string(i));
    for (int i = 0; i < 20000; ++i) {
        Sample sample{std::string(500, 'f'), i % 400, 0.01, {(i + 1) % 400, i % 400}, {0.9, 0.01}, {}, {}};
        if (i < 40) sample.picture = std::string(200'000, 'A');
        predictions.rows.push_back(std::move(sample));
    }
    run.training = Table(training_csv(std::vector<TrainingLine>(20000, {1, "2.345678"})));
    run.log.command_line = std::string(1'000'000, 'w');
    const std::string page = page_of({run, run, run}, kSettings);
    EXPECT_LE(page.size(), kMostPageBytes);
    EXPECT_LT(json::parse(facts_text(page))["photos"].size(), 32U);
}

TEST(Page, RunsThatAreGoingKilledOrOldHavePages) {
    MadeUpRun made;
    made.log_end = "";
    made.training = {{1, "2.0"}};
    EXPECT_THAT(std::string(facts_of({made.read(/*is_going=*/true)})["status"]), HasSubstr("still going"));
    EXPECT_THAT(std::string(facts_of({made.read()})["status"]), HasSubstr("killed"));
    MemoryFiles files;  // an early version: a table, and nothing else
    write_text(files, std::string(kFolder) + "/training.csv",
               "step,iteration,epoch,lr,loss_batch,loss_avg\n1,10,1,0.1,2.3,2.3\n2,20,2,0.1,1.3,1.8\n");
    const json old = facts_of({read_run(files, kFolder, false)});
    EXPECT_FALSE(old["missing"].empty());
    EXPECT_THAT(old["description"].dump(), HasSubstr("earlier version"));
    MemoryFiles begun;  // killed before its first log line
    write_text(begun, std::string(kFolder) + "/arguments.json", "{}");
    write_text(begun, std::string(kFolder) + "/log.txt", "Command line: cnntrain train\n");
    EXPECT_TRUE(facts_of({read_run(begun, kFolder, false)})["curves"].empty());
}

TEST(Page, NumbersThatAreNoneDoNotReachCharts) {
    MadeUpRun made;
    made.training = {{1, "nan"}, {2, "inf"}, {3, "1e300"}, {4, "-1e300"}};
    made.validation = {{1, 0, 0}};
    const json facts = facts_of({made.read()});
    EXPECT_EQ(facts["curves"][0]["lines"][0]["x"], json({3.0, 4.0}));
    for (const json& chart : facts["curves"]) {
        for (const json& line : chart["lines"]) {
            EXPECT_EQ(line["x"].size(), line["y"].size());
            EXPECT_TRUE(std::ranges::all_of(line["x"], &json::is_number)) << line;
            EXPECT_TRUE(std::ranges::all_of(line["y"], &json::is_number)) << line;
        }
    }
}

TEST(Page, ComparesUpToSixRuns) {
    MadeUpRun other;
    other.dataset = "cifar-100";
    const json facts = facts_of({full_run(), other.read()});
    EXPECT_EQ(facts["title"], "run and 1 more");
    EXPECT_FALSE(facts["changes"].empty());
    EXPECT_EQ(facts["runs"], json({"run", "run"}));
    EXPECT_THAT(facts["differences"].dump(), HasSubstr(R"(["dataset","cifar-10","cifar-100"])"));
    EXPECT_EQ(facts["curves"][0]["lines"].size(), 4U) << "training and validation of both";
    EXPECT_TRUE(facts_of({full_run()})["changes"].empty());
    const std::vector<RunRecord> many(kMostRuns + 1, full_run());
    EXPECT_EQ(cnntrain::test::kind_of([&] { page_of(many, kSettings); }), ErrorKind::usage);
}

TEST(Page, IsRecognised) {
    MemoryFiles files;
    write_text(files, "report.html", page_of({full_run()}, kSettings));
    write_text(files, "mine.html", "<!DOCTYPE html>\n<html lang=\"en\">my own page</html>");
    write_text(files, "empty.html", "");
    write_text(files, "old.html", "<!DOCTYPE html>\n<html lang=\"en\" data-program=\"cnntrain report\">\n<head>...");
    std::string changed = page_of({full_run()}, kSettings);
    write_text(files, "longer.html", changed + "<!-- mine -->\n");
    changed.replace(changed.find("<h1"), 3, "<h2");
    write_text(files, "changed.html", changed);
    EXPECT_TRUE(is_page(files, "report.html"));
    EXPECT_TRUE(is_page(files, "old.html")) << "of a version that wrote no checksums";
    EXPECT_FALSE(is_page(files, "longer.html"));
    EXPECT_FALSE(is_page(files, "changed.html"));
    EXPECT_FALSE(is_page(files, "mine.html"));
    EXPECT_FALSE(is_page(files, "empty.html"));
}

}  // namespace
}  // namespace cnntrain::report::test
