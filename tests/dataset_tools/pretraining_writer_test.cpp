#include "cnntrain/data/writers.h"

#include <atomic>
#include <filesystem>
#include <sstream>

#include "data/bert_golden.h"
#include "data/fixtures.h"
#include "data/records/tfrecord.h"
#include "data/write/pretraining_plan.h"
#include "example.pb.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/sha256.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// "key:1,2,;" for every key in alphabetical order, then a line feed; values as whole numbers.
std::string text_of_record(std::span<const std::byte> record) {
    data::proto::Example example;
    EXPECT_TRUE(example.ParseFromArray(record.data(), static_cast<int>(record.size())));
    const auto& features = example.features().feature();
    const std::map<std::string, data::proto::Feature> sorted(features.begin(), features.end());
    std::ostringstream text;
    for (const auto& [key, feature] : sorted) {
        text << key << ':';
        std::string separator;
        const auto put = [&](auto value) {
            text << separator << static_cast<std::int64_t>(value);
            separator = ",";
        };
        for (const std::int64_t value : feature.int64_list().value())
            put(value);
        for (const float value : feature.float_list().value())
            put(value);
        text << ';';
    }
    text << '\n';
    return text.str();
}

std::vector<std::string> texts_of(const std::string& path) {
    const data::RecordFiles records({path});
    std::vector<std::byte> buffer;
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < records.size(); ++i)
        texts.push_back(text_of_record(records.read(i, buffer)));
    return texts;
}

class PretrainingWriter : public ::testing::Test {
protected:
    PretrainingWriterSettings golden_settings(const nlohmann::json& arguments) const {
        PretrainingWriterSettings settings;
        settings.input_files = data::bert_file("corpus.txt");
        settings.output_files = folder_ / "out.tfrecord";
        settings.vocabulary = data::bert_file("vocab.txt");
        settings.lower_case = true;
        settings.instances.sequence_length = arguments.at("seq");
        settings.instances.max_predictions = arguments.at("mask");
        settings.instances.duplication_factor = arguments.at("dup");
        settings.instances.seed = arguments.at("seed");
        settings.remask = arguments.value("remask", false);
        settings.threads = 2;
        return settings;
    }
    PretrainingWriterSettings settings() const {
        return golden_settings({{"seq", 32}, {"mask", 5}, {"dup", 2}, {"seed", 1984}});
    }
    std::string out(const std::string& name = "out.tfrecord") const { return folder_ / name; }

    const test::TemporaryFolder folder_;
};

TEST_F(PretrainingWriter, TheReferencesRecords) {
    int compared = 0;
    for (const auto& row : data::bert_golden().at("pretraining_data")) {
        if (!row.contains("sha256_all")) continue;
        PretrainingWriterSettings how = golden_settings(row.at("args"));
        how.overwrite = true;
        const PretrainingWriterResult result = write_pretraining_records(how);
        EXPECT_EQ(result.records, row.at("num_records").get<std::int64_t>()) << row.at("args");
        std::string all;
        for (const std::string& text : texts_of(out()))
            all += text;
        EXPECT_EQ(sha256(all), row.at("sha256_all").get<std::string>()) << row.at("args");
        ++compared;
    }
    EXPECT_EQ(compared, 4);
}

TEST_F(PretrainingWriter, DigestsAreSensitive) {
    PretrainingWriterSettings how = settings();
    how.instances.seed = 1985;
    write_pretraining_records(how);
    std::string all;
    for (const std::string& text : texts_of(out()))
        all += text;
    EXPECT_NE(sha256(all), data::bert_golden().at("pretraining_data").at(0).at("sha256_all").get<std::string>());
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(PretrainingWriter, FilesAreFilledInTurn) {
    write_pretraining_records(settings());
    const std::vector<std::string> whole = texts_of(out());
    PretrainingWriterSettings how = settings();
    how.output_files = out("new/a.tfrecord") + ", " + out("b.tfrecord");
    const PretrainingWriterResult result = write_pretraining_records(how);
    EXPECT_EQ(result.files_written, 2);
    const std::vector<std::string> a = texts_of(out("new/a.tfrecord"));
    const std::vector<std::string> b = texts_of(out("b.tfrecord"));
    const auto& sizes = data::bert_golden().at("pretraining_data").at(4).at("num_records_per_file");
    EXPECT_EQ(a.size(), sizes.at(0).get<std::size_t>());
    EXPECT_EQ(b.size(), sizes.at(1).get<std::size_t>());
    for (std::size_t k = 0; k < whole.size(); ++k)
        EXPECT_EQ(whole[k], (k % 2 == 0 ? a : b).at(k / 2));
}

TEST_F(PretrainingWriter, CountsOfMaskedTokens) {
    for (const auto& row : data::bert_golden().at("num_to_predict")) {
        InstanceSettings how;
        how.sequence_length = row.at("seq");
        how.max_predictions = row.at("mask");
        EXPECT_EQ(masked_tokens(row.at("len"), how), row.at("n").get<std::int64_t>()) << row;
    }
}

/// Many documents in several files, some of them larger than a block of the reader.
std::string make_text(const test::TemporaryFolder& folder) {
    const std::vector<std::string> words = {"the", "cat", "sat", "on", "a", "mat", "birds", "Dog", "hello", "walking"};
    std::string list;
    for (int file = 0; file < 3; ++file) {
        std::string text;
        const std::size_t bytes = file == 1 ? 2'500'000 : 1000;
        for (unsigned i = 0; text.size() < bytes; ++i) {
            const unsigned mixed = i * 2654435761U;
            text += words[(mixed >> 16) % words.size()];
            text += mixed % 11 == 0 ? ".\n" : " ";
            if (mixed % 397 == 0) text += ".\n\n";
        }
        const std::string path = folder / ("text" + std::to_string(file));
        data::write_file(path, text);
        list += (list.empty() ? "" : ",") + path;
    }
    return list;
}

TEST_F(PretrainingWriter, ThreadsChangeNothing) {
    PretrainingWriterSettings how = settings();
    how.input_files = make_text(folder_);
    how.instances.duplication_factor = 1;
    how.threads = 1;
    const PretrainingWriterResult first = write_pretraining_records(how);
    const std::string bytes = data::read_file(out());
    EXPECT_GT(first.records, 10000);
    EXPECT_EQ(first.input_files, 3);
    how.output_files = out("other.tfrecord");
    how.threads = 4;
    EXPECT_EQ(write_pretraining_records(how).records, first.records);
    EXPECT_TRUE(data::read_file(out("other.tfrecord")) == bytes);
    how.input_files = folder_ / "text[0-2]";
    how.output_files = out("third.tfrecord");
    write_pretraining_records(how);
    EXPECT_TRUE(data::read_file(out("third.tfrecord")) == bytes) << "a pattern gives its files in order";
}

TEST_F(PretrainingWriter, DocumentsEndAtBlankLinesOnly) {
    const auto records = [&](const std::string& list, const std::string& name) {
        PretrainingWriterSettings how = settings();
        how.input_files = list;
        how.output_files = out(name);
        const PretrainingWriterResult result = write_pretraining_records(how);
        return std::pair(result.documents, result.sentences);
    };
    data::write_file(out("a"), "the cat\nthe dog");
    data::write_file(out("b"), "a bird\n\u00a0\x1f\n\n\na tree\n\x01\u200b\nthe mat\x0bthe\rroad\n");
    EXPECT_EQ(records(out("a") + "," + out("b"), "1"), std::pair(std::int64_t{2}, std::int64_t{5}));
    EXPECT_EQ(records(out("b"), "2"), std::pair(std::int64_t{2}, std::int64_t{3}))
        << "a line of dropped characters neither ends a document nor is a sentence";
}

TEST_F(PretrainingWriter, GoesOnWhereItWas) {
    PretrainingWriterSettings how = settings();
    how.output_files = out("a") + "," + out("b") + "," + out("c");
    write_pretraining_records(how);
    const std::string b = data::read_file(out("b"));
    fs::remove(out("b"));
    PretrainingWriterResult result = write_pretraining_records(how);
    EXPECT_EQ(result.files_kept, 2);
    EXPECT_EQ(result.files_written, 1);
    EXPECT_EQ(result.records, 13);
    EXPECT_EQ(data::read_file(out("b")), b);
    result = write_pretraining_records(how);
    EXPECT_EQ(result.files_kept, 3);
    EXPECT_EQ(result.records, 13);
    EXPECT_EQ(result.tokens, 0) << "nothing is read again";
    data::write_file(out("b"), b.substr(0, 50));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_pretraining_records(how); }),
                AllOf(HasSubstr(out("b")), HasSubstr("--overwrite")))
        << "somebody has changed it";
}

TEST_F(PretrainingWriter, OtherConversionsAreRefused) {
    write_pretraining_records(settings());
    const std::string before = data::read_file(out());
    PretrainingWriterSettings how = settings();
    how.instances.seed = 3;
    how.remask = true;
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_pretraining_records(how); }),
                AllOf(HasSubstr(out()), HasSubstr("1984"), Not(HasSubstr("vocabulary"))));
    EXPECT_EQ(data::read_file(out()), before);
    how.overwrite = true;
    EXPECT_EQ(write_pretraining_records(how).files_written, 1);
    EXPECT_NE(data::read_file(out()), before);
    data::write_file(out("foreign"), "somebody's");
    how.overwrite = false;
    how.output_files = out("foreign");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_pretraining_records(how); }), HasSubstr(out("foreign")));
}

/// The writer is killed after a file came to its place: the journal lists the files before it, or none.
TEST_F(PretrainingWriter, FilesThatTheJournalDoesNotListYetAreMadeAnew) {
    PretrainingWriterSettings how = settings();
    how.output_files = out("a") + "," + out("b");
    write_pretraining_records(how);
    const std::string a = data::read_file(out("a"));
    const std::string b = data::read_file(out("b"));
    const std::string journal = out("a") + ".conversion.jsonl";
    const std::string whole = data::read_file(journal);
    for (const int listed : {0, 1}) {
        std::size_t size = 0;
        for (int line = 0; line <= listed; ++line)
            size = whole.find('\n', size) + 1;
        data::write_file(journal, whole.substr(0, size));
        how.overwrite = false;
        data::write_file(out("b"), "of somebody, or of an earlier conversion");
        EXPECT_EQ(kind_of([&] { write_pretraining_records(how); }), ErrorKind::usage);
        EXPECT_EQ(data::read_file(out("b")), "of somebody, or of an earlier conversion");
        data::write_file(journal, whole.substr(0, size));
        EXPECT_EQ(data::read_file(out("a")), a) << "the same bytes";
        how.overwrite = true;
        const PretrainingWriterResult result = write_pretraining_records(how);
        EXPECT_EQ(result.files_kept, listed);
        EXPECT_EQ(result.files_written, 2 - listed);
        EXPECT_EQ(data::read_file(journal), whole);
        EXPECT_EQ(data::read_file(out("a")), a);
        EXPECT_EQ(data::read_file(out("b")), b);
    }
}

TEST_F(PretrainingWriter, StopsLeaveWholeFiles) {
    PretrainingWriterSettings how = settings();
    how.input_files = make_text(folder_);
    how.instances.duplication_factor = 1;
    how.output_files = out("a") + "," + out("b");
    write_pretraining_records(how);
    const std::string b = data::read_file(out("b"));
    fs::remove(out("a"));
    fs::remove(out("b"));
    // Stopped in each stage, last while the second file is written.
    for (const auto& [stage, part] : std::initializer_list<std::pair<PretrainingStage, double>>{
             {PretrainingStage::tokenise, 0.1}, {PretrainingStage::plan, 0.3}, {PretrainingStage::write, 0.7}}) {
        std::atomic<bool> stop = false;
        PretrainingWriterEvents events;
        events.progress = [&, at = stage, share = part](const PretrainingProgress& now) {
            if (now.stage == at && static_cast<double>(now.done) > share * static_cast<double>(now.total)) stop = true;
        };
        events.stop_requested = [&] { return stop.load(); };
        const PretrainingWriterResult result = write_pretraining_records(how, events);
        EXPECT_TRUE(result.interrupted);
        EXPECT_EQ(result.files_written, stage == PretrainingStage::write ? 1 : 0);
        EXPECT_FALSE(fs::exists(out("b")));
    }
    std::int64_t kept = 0;
    PretrainingWriterEvents events;
    events.progress = [&](const PretrainingProgress& now) { kept = now.kept; };
    EXPECT_EQ(write_pretraining_records(how, events).files_kept, 1);
    EXPECT_GT(kept, 1000) << "the progress begins with what was there";
    EXPECT_TRUE(data::read_file(out("b")) == b);
}

TEST_F(PretrainingWriter, WrongSettings) {
    const auto refused = [&](ErrorKind kind, const std::string& part, auto change) {
        PretrainingWriterSettings how = settings();
        change(how);
        EXPECT_THAT(message_of(kind, [&] { write_pretraining_records(how); }), HasSubstr(part));
    };
    using Settings = PretrainingWriterSettings;
    refused(ErrorKind::usage, "sequence", [](Settings& how) { how.instances.sequence_length = 4; });
    refused(ErrorKind::usage, "1..29", [](Settings& how) { how.instances.max_predictions = 30; });
    refused(ErrorKind::usage, "duplication", [](Settings& how) { how.instances.duplication_factor = 0; });
    refused(ErrorKind::usage, "0..1", [](Settings& how) { how.instances.masked_share = 1.5; });
    refused(ErrorKind::usage, "-1", [](Settings& how) { how.pad_position = -1; });
    refused(ErrorKind::usage, "output", [](Settings& how) { how.output_files = " ,"; });
    refused(ErrorKind::usage, "written", [](Settings& how) { how.output_files += "," + how.output_files; });
    refused(ErrorKind::usage, "files", [](Settings& how) { how.input_files = ""; });
    refused(ErrorKind::data, "'/nowhere/*.txt'", [](Settings& how) { how.input_files += ",/nowhere/*.txt"; });
    refused(ErrorKind::data, "'/nowhere'", [](Settings& how) { how.input_files = "/nowhere"; });
    refused(ErrorKind::data, "/nowhere", [](Settings& how) { how.vocabulary = "/nowhere"; });
    refused(ErrorKind::data, "MASK", [](Settings& how) { how.vocabulary = data::bert_file("corpus.txt"); });
    data::write_file(out("blank"), "\n \n\n");
    refused(ErrorKind::data, "text", [&](Settings& how) { how.input_files = out("blank"); });
    EXPECT_FALSE(fs::exists(out()));
    EXPECT_FALSE(fs::exists(out() + ".conversion.jsonl"));
}

TEST_F(PretrainingWriter, SomebodysJournalIsRefused) {
    const std::string journal = out() + ".conversion.jsonl";
    PretrainingWriterSettings how = settings();
    for (const char* others : {"my own list\n", ""}) {
        data::write_file(journal, others);
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_pretraining_records(how); }),
                    AllOf(HasSubstr(journal), HasSubstr("--overwrite")));
        EXPECT_EQ(data::read_file(journal), others);
        EXPECT_FALSE(fs::exists(out()));
    }
    how.overwrite = true;
    EXPECT_EQ(write_pretraining_records(how).files_written, 1);
    how.overwrite = false;
    EXPECT_EQ(write_pretraining_records(how).files_kept, 1);
}

}  // namespace
}  // namespace cnntrain::data
