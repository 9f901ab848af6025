// Files of labelled texts: never a crash, and every sample that is accepted has ids and labels in their ranges. The
// first byte says what the rest is: 't' TSV, 'c' CSV, 'k' TSV whose classes are given, 'u' CSV whose labels are not
// read, 's' CSV with scores, 'm' TSV with several labels, 'q' TSV with columns by number, some of whose rows are short,
// 'j' JSON lines, 'l' JSON lines with several labels.
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/sets.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

constexpr std::string_view kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\ncat\n##s\n,\n\"\n";
constexpr std::int32_t kWords = 11;
constexpr std::int64_t kLength = 6;

void check_labels(const data::LabelledText& texts, nn::LabelKind kind, const std::vector<std::int32_t>& labels,
                  float weight) {
    if (kind == nn::LabelKind::score) {
        require(std::isfinite(std::bit_cast<float>(labels[0])) && weight == 1);
        return;
    }
    const auto classes = static_cast<std::int32_t>(texts.classes().size());
    const std::int32_t limit = kind == nn::LabelKind::single ? classes : 2;
    for (const std::int32_t label : labels)
        require(label == data::kNoLabel || (label >= 0 && label < limit));
}

void check_sample(const data::LabelledText& texts, nn::LabelKind kind, std::int64_t index) {
    static data::Workspace workspace;
    std::array<std::array<std::int32_t, kLength>, 3> tokens{};
    std::vector<std::int32_t> labels(
        static_cast<std::size_t>(data::field_desc(texts.fields(), data::kLabels).elements()));
    float weight = 0;
    const std::array<std::span<std::byte>, 5> view = {
        std::as_writable_bytes(std::span(tokens[0])), std::as_writable_bytes(std::span(tokens[1])),
        std::as_writable_bytes(std::span(tokens[2])), std::as_writable_bytes(std::span(labels)),
        std::as_writable_bytes(std::span(&weight, 1))};
    texts.read(index, {}, view, workspace);
    check_labels(texts, kind, labels, weight);
    require(tokens[2][0] == 1 && tokens[2][1] == 1);
    for (std::size_t i = 0; i < tokens[0].size(); ++i) {
        const bool used = tokens[2][i] == 1;
        require(tokens[0][i] >= 0 && tokens[0][i] < kWords && tokens[1][i] >= 0 && tokens[1][i] <= 1);
        require(used || (tokens[0][i] == 0 && tokens[1][i] == 0 && tokens[2][i] == 0));
    }
}

void check_file(char kind, std::string_view text) {
    static MemoryFiles files;
    data::LabelledTextSettings settings;
    settings.file = kind == 'c' || kind == 'u' || kind == 's' ? "t.csv"
                    : kind == 'j' || kind == 'l'              ? "t.jsonl"
                                                              : "t.tsv";
    settings.vocabulary_file = "v.txt";
    settings.sequence_length = kLength;
    settings.vocabulary_size = kWords;
    settings.needs_labels = kind != 'u';
    if (kind == 's') settings.labels = nn::LabelKind::score;
    if (kind == 'm' || kind == 'l') settings.labels = nn::LabelKind::several;
    if (kind == 'q') {
        settings.columns =
            data::TextColumns{.text = 1, .pair = 2, .label = data::kLastColumn, .skips_short_rows = true};
    }
    write_text(files, "v.txt", kVocabulary);
    write_text(files, settings.file, text);
    std::vector<std::string> classes;
    if (kind == 'k' || kind == 'u') classes = {"yes", "no"};
    const auto texts = data::open_labelled_text(settings, 1, classes, files);
    const bool has_classes = settings.labels != nn::LabelKind::score;
    require(texts->size() > 0 && (has_classes ? texts->classes().size() >= 2 : texts->classes().empty()));
    for (std::int64_t i = 0; i < texts->size(); ++i)
        check_sample(*texts, settings.labels, i);
}

}  // namespace

std::vector<std::string> seeds() {
    return {"ta cat\tyes\ncats\tno\n",
            "tsentence1\tsentence2\tlabel\ncats\tthe cats\t10\na\tb\t9\ncat\ta\t10\ncat\t\xc3\xa9\t9\n",
            "c\"a, \"\"cat\"\"\ncats\",yes\r\na,no\r\n",
            "ctext,label\n\xef\xbf\xbd"
            "a,1\n\"\"\"\",2\n",
            "ka\tyes\nb\tno\n",
            "u\xef\xbb\xbftext\na\n\"cat\ns\"\n",
            "stext,score\na,1.5\ncat,-2e3\n",
            "mtext\tlabels\na\tyes|no\ncat\t\n",
            "mtext\ti\tyes\tno\na\t5\t1\t0\ncat\t6\t0.0\t1.0\n",
            "l{\"text\": \"a\", \"labels\": [\"yes\", 10]}\n{\"labels\": [], \"text\": \"cat\"}\n",
            "j{\"text\": \"a \\u0063at\", \"label\": 1}\n{\"label\": 2.5e3, \"text\": \"\\\"cats\\n\"}\n",
            "j{\"i\":1e9,\"sentence\":\"a\",\"label\":true}\n\n{\"label\":null,\"sentence\":\"\\ud83d\\ude00\"}",
            "qi\ta\tb\tl\n0\ta\tcat\tyes\n1\ta\n2\t\t\tx\tno\r\n"};
}

std::vector<std::string> words() {
    return {"\t",  "\n",      "\r\n",    "\"", "\"\"", ",",  "text", "label", "yes", "10", "\xff",
            "1E5", "\\u00e9", "\\ud800", "{",  "}\n",  ":1", "[[",   "\\",    "[\"", "]",  std::string(1, '\0')};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    fuzz::accepted([&] { fuzz::check_file(static_cast<char>(data[0]), text); });
    return 0;
}
