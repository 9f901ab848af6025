// The page as a file: XML that a strict parser reads, nothing from elsewhere, hostile names as text, its size.
#include <gtest/gtest.h>

#include <pugixml.hpp>
#include <random>

#include "cnntrain/insight/findings.h"
#include "insight/report/page/html.h"
#include "report/made_up_run.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::report::test {
namespace {

const PageSettings kSettings{.written = "2026-11-25 12:00:00", .version = "cnntrain 9.8.7"};

/// Fails the test unless the page is well-formed.
pugi::xml_document parsed(const std::string& page) {
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(page.data(), page.size(), pugi::parse_default | pugi::parse_doctype);
    EXPECT_TRUE(result) << result.description() << " at: " << page.substr(static_cast<std::size_t>(result.offset), 80);
    return document;
}

/// Every attribute of every element.
template <typename Visit> void each_attribute(const pugi::xml_node& node, const Visit& visit) {
    for (const pugi::xml_attribute attribute : node.attributes())
        visit(node, attribute);
    for (const pugi::xml_node child : node.children())
        each_attribute(child, visit);
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

TEST(Page, IsWellFormedAndHasAllSections) {
    const std::string page = page_of({full_run()}, kSettings);
    const pugi::xml_document document = parsed(page);
    std::vector<std::string> heads;
    for (const auto& head : document.select_nodes("//h2"))
        heads.emplace_back(head.node().child_value());
    EXPECT_THAT(heads, ::testing::IsSupersetOf({"Did it learn?", "What limited its speed?", "What does it confuse?",
                                                "What exactly ran?", "Curves", "Where the time went", "Classes",
                                                "The most wrong images", "Histograms", "Weights", "Pipeline"}));
    EXPECT_EQ(document.select_nodes("//div[@aria-label='operations']//tbody/tr").size(), 1U);
    EXPECT_EQ(document.select_nodes("//img").size(), 1U);
    EXPECT_EQ(document.select_nodes("//table[@class='ticks']//tr").size(), 3U);
    EXPECT_GE(document.select_nodes("//svg[@class='lines']").size(), 4U) << "loss, accuracy, learning rate, rate";
}

TEST(Page, LoadsNothingFromElsewhere) {
    const std::string page = page_of({full_run(), full_run()}, kSettings);
    const pugi::xml_document document = parsed(page);
    each_attribute(document, [](const pugi::xml_node& node, const pugi::xml_attribute& attribute) {
        const std::string name = attribute.name();
        const std::string value = attribute.value();
        const bool refers = name == "src" || name == "href" || name == "srcset" || name == "action" ||
                            name == "xlink:href" || name == "data" || name == "poster";
        if (refers) {
            EXPECT_TRUE(value.starts_with("data:image/jpeg;base64,")) << node.name() << " " << value;
        }
        EXPECT_FALSE(name.starts_with("on")) << "a handler in markup: " << name;
        EXPECT_EQ(value.find("url("), std::string::npos);
    });
    EXPECT_TRUE(document.select_nodes("//link|//iframe|//object|//embed|//form|//script[@src]").empty());
    EXPECT_EQ(document.select_nodes("//script").size(), 1U);
    EXPECT_EQ(page.find("@import"), std::string::npos);
    EXPECT_EQ(page.find("url("), std::string::npos);
    EXPECT_EQ(page.find("fetch("), std::string::npos);
}

TEST(Page, HostileNamesAreText) {
    const std::string attack = "</script><img src=x onerror=alert(1)>\"'&]]><!--\x1b[31m\xff\xe2\x80\xae";
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
    const pugi::xml_document document = parsed(page);
    EXPECT_EQ(document.select_nodes("//script").size(), 1U);
    EXPECT_EQ(document.select_nodes("//img").size(), 1U) << "the picture of the sample";
    EXPECT_TRUE(document.select_nodes("//*[@onerror]").empty());
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    EXPECT_EQ(page.find('\xff'), std::string::npos);
    EXPECT_EQ(page.find("\xe2\x80\xae"), std::string::npos) << "text that runs backwards";
    EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST(Page, EscapedTextIsValidUtf8WhateverTheBytes) {
    EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
    EXPECT_EQ(escaped("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    EXPECT_EQ(escaped("\xc3"), "\\xc3");
    EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf") << "an overlong slash";
    EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(escaped("\xf0\x9f\x99\x82"), "\xf0\x9f\x99\x82");
    EXPECT_EQ(escaped(std::string("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(escaped("\xe2\x80\xae"), "\\u202e");
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        std::string bytes(40, '\0');
        for (char& c : bytes)
            c = static_cast<char>(random() % 256);
        const std::string page = "<p>" + escaped(bytes) + "</p>";
        pugi::xml_document document;
        EXPECT_TRUE(document.load_buffer(page.data(), page.size()));
        EXPECT_EQ(escaped(page).find('<'), std::string::npos);
    }
}

TEST(Page, LinesDoNotEndWithinFlags) {
    RunRecord run = full_run();
    run.log.command_line = "cnntrain train --model-size 20 (--a) --" + std::string(60, 'x') + " -- end";
    const pugi::xml_document document = parsed(page_of({run}, kSettings));
    const pugi::xml_node line = document.select_node("//h2[.='What exactly ran']/following::pre[1]").node();
    std::vector<std::string> flags;
    for (const pugi::xml_node flag : line.children("span"))
        flags.emplace_back(flag.child_value());
    EXPECT_THAT(flags, ::testing::ElementsAre("--model-size", "(--a)", "--"));
    std::string whole;
    for (const auto& text : line.select_nodes(".//text()"))
        whole += text.node().value();
    EXPECT_EQ(whole, run.log.command_line);
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
    parsed(page);
}

TEST(Page, RunsThatAreGoingKilledOrOldHavePages) {
    MadeUpRun made;
    made.log_end = "";
    made.training = {{1, "2.0"}};
    EXPECT_THAT(page_of({made.read(/*is_going=*/true)}, kSettings), HasSubstr("still going"));
    EXPECT_THAT(page_of({made.read()}, kSettings), HasSubstr("killed"));
    MemoryFiles files;  // an early version: a table, and nothing else
    write_text(files, std::string(kFolder) + "/training.csv",
               "step,iteration,epoch,lr,loss_batch,loss_avg\n1,10,1,0.1,2.3,2.3\n2,20,2,0.1,1.3,1.8\n");
    const std::string old = page_of({read_run(files, kFolder, false)}, kSettings);
    parsed(old);
    EXPECT_THAT(old, HasSubstr("What is missing"));
    EXPECT_THAT(old, HasSubstr("earlier version"));
    MemoryFiles begun;  // killed before its first log line
    write_text(begun, std::string(kFolder) + "/arguments.json", "{}");
    write_text(begun, std::string(kFolder) + "/log.txt", "Command line: cnntrain train\n");
    parsed(page_of({read_run(begun, kFolder, false)}, kSettings));
}

TEST(Page, NumbersThatAreNoneDoNotReachCharts) {
    MadeUpRun made;
    made.training = {{1, "nan"}, {2, "inf"}, {3, "1e300"}, {4, "-1e300"}};
    made.validation = {{1, 0, 0}};
    const std::string page = page_of({made.read()}, kSettings);
    for (const auto& line : parsed(page).select_nodes("//polyline")) {
        const std::string points = line.node().attribute("points").value();
        EXPECT_EQ(points.find("nan"), std::string::npos) << points;
        EXPECT_EQ(points.find("inf"), std::string::npos) << points;
    }
}

TEST(Page, ComparesUpToSixRuns) {
    MadeUpRun other;
    other.dataset = "cifar-100";
    const std::string page = page_of({full_run(), other.read()}, kSettings);
    EXPECT_THAT(page, HasSubstr("What changed against the other runs?"));
    EXPECT_THAT(page, HasSubstr("Options that differ between the runs"));
    EXPECT_THAT(page_of({full_run()}, kSettings), Not(HasSubstr("What changed against")));
    const std::vector<RunRecord> many(kMostRuns + 1, full_run());
    EXPECT_EQ(cnntrain::test::kind_of([&] { page_of(many, kSettings); }), ErrorKind::usage);
}

TEST(Page, IsRecognised) {
    MemoryFiles files;
    write_text(files, "report.html", page_of({full_run()}, kSettings));
    write_text(files, "mine.html", "<!DOCTYPE html>\n<html lang=\"en\">my own page</html>");
    write_text(files, "empty.html", "");
    std::string changed = page_of({full_run()}, kSettings);
    write_text(files, "longer.html", changed + "<!-- mine -->\n");
    changed.replace(changed.find("<h1>"), 4, "<h2>");
    write_text(files, "changed.html", changed);
    EXPECT_TRUE(is_page(files, "report.html"));
    EXPECT_FALSE(is_page(files, "longer.html"));
    EXPECT_FALSE(is_page(files, "changed.html"));
    EXPECT_FALSE(is_page(files, "mine.html"));
    EXPECT_FALSE(is_page(files, "empty.html"));
}

}  // namespace
}  // namespace cnntrain::report::test
