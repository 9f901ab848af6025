// Confusions, the most wrong samples, masked words.
#include <algorithm>
#include <cmath>
#include <set>

#include "cnntrain/base/text.h"
#include "report/page/sections.h"
#include "report/percent.h"

namespace cnntrain::report {

namespace {

constexpr std::size_t kMostInMatrix = 20;
constexpr std::size_t kMostInTable = 200;
constexpr std::size_t kTinyPicture = 3000;  // base 64: about 32 x 32 pixels

std::string brief_name(const Confusion& confusion, std::int64_t label) {
    const auto place = static_cast<std::size_t>(label);
    return brief(place < confusion.names.size() ? confusion.names[place] : std::to_string(label), 60);
}

/// All classes, or those that take part in the most confusions.
std::vector<std::int64_t> classes_of_matrix(const Confusion& confusion) {
    std::vector<std::int64_t> wrong(confusion.classes.size());
    for (const ConfusedPair& pair : confusion.pairs) {
        wrong[static_cast<std::size_t>(pair.label)] += pair.count;
        wrong[static_cast<std::size_t>(pair.taken_for)] += pair.count;
    }
    std::vector<std::int64_t> labels;
    for (const ClassResult& one : confusion.classes)
        labels.push_back(one.label);
    if (labels.size() <= kMostInMatrix) return labels;
    std::ranges::stable_sort(labels, std::greater<>(),
                             [&](std::int64_t label) { return wrong[static_cast<std::size_t>(label)]; });
    labels.resize(kMostInMatrix);
    std::ranges::sort(labels);
    return labels;
}

void add_matrix(Html& page, const Confusion& confusion) {
    if (confusion.pairs.empty() && confusion.worst.empty()) return;
    const std::vector<std::int64_t> labels = classes_of_matrix(confusion);
    page.leaf("h3", "Confusion matrix");
    page.leaf("p",
              "Rows: true class. Columns: predicted class. Numbers of samples; the stronger the colour, the larger "
              "the share of the true class." +
                  std::string(labels.size() < confusion.classes.size()
                                  ? formatted(" The %zu of %zu classes that are confused most often.", labels.size(),
                                              confusion.classes.size())
                                  : ""),
              {{"class", "soft"}});
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "confusion matrix"}});
    page.open("table", {{"class", "matrix"}}).open("thead").open("tr").open("td").close();
    for (const std::int64_t label : labels)
        page.leaf("th", brief_name(confusion, label), {{"scope", "col"}});
    page.close().close().open("tbody");
    for (const std::int64_t label : labels) {
        page.open("tr").leaf("th", brief_name(confusion, label), {{"scope", "row"}});
        const auto samples = static_cast<double>(confusion.classes[static_cast<std::size_t>(label)].samples);
        for (const std::int64_t taken_for : labels) {
            const std::int64_t count = confusion.count(label, taken_for);
            const double share = samples > 0 ? static_cast<double>(count) / samples : 0;
            page.leaf("td", count > 0 ? std::to_string(count) : "",
                      {{"style", formatted("--v:%.2f", share)}, {"class", label == taken_for ? "right" : ""}});
        }
        page.close();
    }
    page.close().close().close();
}

std::string percent_text(double share) {
    return std::isnan(share) ? "-" : formatted("%.1f %%", kPercent * share);
}

void add_class_table(Html& page, const Confusion& confusion) {
    std::vector<ClassResult> classes = confusion.classes;
    std::erase_if(classes, [](const ClassResult& one) { return one.samples == 0 && one.predicted == 0; });
    if (classes.empty()) return;
    std::ranges::stable_sort(classes, {},
                             [](const ClassResult& one) { return std::isnan(one.recall()) ? 2 : one.recall(); });
    const std::size_t shown = std::min(classes.size(), kMostInTable);
    page.leaf("h3", "Classes, the weakest first" +
                        (shown < classes.size() ? formatted(" (%zu of %zu)", shown, classes.size()) : ""));
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "classes"}});
    page.open("table").open("thead").open("tr").leaf("th", "class", {{"scope", "col"}});
    for (const char* const head : {"samples", "recall", "predicted", "precision", "F1"})
        page.leaf("th", head, {{"scope", "col"}, {"class", "number"}});
    page.close().close().open("tbody");
    for (std::size_t i = 0; i < shown; ++i) {
        const ClassResult& one = classes[i];
        page.open("tr").leaf("th", brief_name(confusion, one.label), {{"scope", "row"}});
        for (const std::string& text :
             {std::to_string(one.samples), percent_text(one.recall()), std::to_string(one.predicted),
              percent_text(one.precision()), percent_text(one.f1())})
            page.leaf("td", text, {{"class", "number"}});
        page.close();
    }
    page.close().close().close();
}

std::string judged(const Confusion& confusion, const Sample& sample) {
    return brief_name(confusion, sample.label) + " (" + probability_text(sample.own) + "), taken for " +
           brief_name(confusion, sample.classes.front()) + " (" + probability_text(sample.probabilities.front()) + ")";
}

void add_photos(Html& page, const Confusion& confusion, const std::vector<const Sample*>& samples) {
    page.leaf("p", "As the network sees them, with brightness stretched. In brackets: probabilities.",
              {{"class", "soft"}});
    page.open("div", {{"class", "photos"}});
    for (const Sample* const sample : samples) {
        const std::string file = brief(short_path(sample->name), 60);
        page.open("figure").empty("img", {{"class", sample->picture.size() < kTinyPicture ? "tiny" : ""},
                                          {"alt", file},
                                          {"loading", "lazy"},
                                          {"src", "data:image/jpeg;base64," + sample->picture}});
        page.open("figcaption").text(judged(confusion, *sample));
        page.leaf("span", file, {{"class", "file"}, {"title", brief(sample->name, 300)}});
        page.close().close();
    }
    page.close();
}

std::string piece_of(const RunRecord& run, std::int64_t id) {
    const bool known = id >= 0 && static_cast<std::size_t>(id) < run.vocabulary.size();
    return known ? run.vocabulary[static_cast<std::size_t>(id)] : std::to_string(id);
}

/// A word piece "##ing" continues the word before it, but not a mark such as [SEP].
std::string text_of(const RunRecord& run, const std::vector<std::int64_t>& tokens) {
    std::string text;
    for (const std::int64_t id : tokens) {
        const std::string piece = piece_of(run, id);
        const bool continues = piece.starts_with("##") && !text.empty() && !text.ends_with("]");
        text += continues ? piece.substr(2) : (text.empty() ? "" : " ") + piece;
    }
    return text;
}

void add_texts(Html& page, const RunRecord& run, const Confusion& confusion,
               const std::vector<const Sample*>& samples) {
    page.open("ul", {{"class", "texts"}});
    for (const Sample* const sample : samples) {
        page.open("li").leaf("strong", judged(confusion, *sample)).text(" " + brief(short_path(sample->name), 80));
        if (!sample->tokens.empty()) page.leaf("p", brief(text_of(run, sample->tokens), 600));
        page.close();
    }
    page.close();
}

/// A masked word, and what the network guesses instead.
void add_masked(Html& page, const RunRecord& run, const MaskedWord& word) {
    const bool right = !word.guesses.empty() && word.guesses.front() == word.id;
    page.text(" ").leaf("mark", brief(piece_of(run, word.id), 40), {{"class", right ? "right" : ""}});
    std::string guesses;
    for (std::size_t i = 0; i < word.guesses.size(); ++i) {
        guesses += (i == 0 ? "" : ", ") + brief(piece_of(run, word.guesses[i]), 40) + " " +
                   probability_text(word.probabilities[i]);
    }
    page.leaf("span", " [" + guesses + "]", {{"class", "guess"}});
}

void add_sequence(Html& page, const RunRecord& run, const Sequence& sequence) {
    std::vector<std::int64_t> between;
    const auto flush = [&] {
        if (!between.empty()) page.text(" " + text_of(run, between));
        between.clear();
    };
    for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
        const auto masked = std::ranges::find(sequence.masked, i, &MaskedWord::at);
        if (masked == sequence.masked.end()) {
            between.push_back(sequence.tokens[i]);
            continue;
        }
        flush();
        add_masked(page, run, *masked);
    }
    flush();
}

}  // namespace

std::string brief(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; };
    std::size_t begin = most / 2;
    std::size_t end = text.size() - most / 3;
    while (begin > 0 && continues(begin))
        --begin;
    while (end < text.size() && continues(end))
        ++end;
    return std::string(text.substr(0, begin)) + " ... " + std::string(text.substr(end));
}

void add_confusion(Html& page, const Confusion& confusion) {
    if (confusion.classes.empty()) return;
    page.leaf("h2", "Classes").leaf("p", "Counted: " + confusion.source + ".", {{"class", "soft"}});
    page.open("div", {{"class", "pair"}}).open("div");
    add_matrix(page, confusion);
    page.close().open("div");
    add_class_table(page, confusion);
    page.close().close();
}

void add_samples(Html& page, const RunRecord& run, const Confusion& confusion, std::size_t most_pictures) {
    if (!run.predictions || confusion.worst.empty()) return;
    constexpr std::size_t kMost = 32;
    std::vector<const Sample*> pictures;
    std::vector<const Sample*> others;
    for (const std::size_t row : confusion.worst) {
        const Sample& sample = run.predictions->rows[row];
        if (!sample.picture.empty() && pictures.size() < std::min(kMost, most_pictures)) {
            pictures.push_back(&sample);
        } else if (others.size() < kMost && pictures.empty()) {
            others.push_back(&sample);
        }
    }
    page.leaf("h2", "The most wrong " + run.predictions->unit_many);
    if (!pictures.empty()) {
        add_photos(page, confusion, pictures);
    } else {
        add_texts(page, run, confusion, others);
    }
}

void add_words(Html& page, const RunRecord& run) {
    if (!run.predictions || run.predictions->sequences.empty()) return;
    page.leaf("h2", "Masked words");
    page.leaf(
        "p",
        "Underlined: the masked word, in brackets the network's guesses with their probabilities." +
            std::string(run.vocabulary.empty() ? " Words are shown by number: give --vocab-file to see them." : ""),
        {{"class", "soft"}});
    page.open("ul", {{"class", "words"}});
    for (const Sequence& sequence : run.predictions->sequences) {
        page.open("li");
        add_sequence(page, run, sequence);
        page.close();
    }
    page.close();
}

}  // namespace cnntrain::report
