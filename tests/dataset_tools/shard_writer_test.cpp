#include "data/write/shard_writer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "data/fixtures.h"
#include "data/records/tfrecord.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

ShardPlan plan_in(const std::string& folder, const std::string& seed = "7") {
    return {folder, {{"train", {{3, 1}, {0, 5, 2}, {}}}, {"validation", {{4, 6}}}}, {{"seed", seed}, {"files", "4"}}};
}

/// Source 5 is damaged; the others are their numbers, again and again.
MadeRecord make(std::int64_t source, int /*worker*/) {
    if (source == 5) return {"", "damaged"};
    std::string bytes;
    for (std::int64_t i = 0; i <= source * 50; ++i)
        bytes += std::to_string(source);
    MadeRecord record{bytes};
    if (source % 2 == 0) record.notes = {"even"};
    return record;
}

ShardJob job_of(int threads = 1) {
    ShardJob job;
    job.produce = make;
    job.source_name = [](std::int64_t source) { return "source " + std::to_string(source); };
    job.threads = threads;
    return job;
}

using Contents = std::map<std::string, std::string>;

/// All files, but the journal, whose order is that of the threads.
Contents contents(const std::string& folder, const FileSystem& files = posix_files()) {
    Contents all;
    for (const std::string& name : files.list(folder)) {
        if (folder + "/" + name != journal_path(folder)) all[name] = read_text(files, folder + "/" + name);
    }
    return all;
}

std::vector<std::string> records_of(const std::string& path) {
    const data::RecordFiles records({path});
    std::vector<std::string> texts;
    std::vector<std::byte> buffer;
    for (std::int64_t i = 0; i < records.size(); ++i) {
        const auto bytes = records.read(i, buffer);
        texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return texts;
}

/// A folder in memory, where there is one: tests that write hundreds of files need not wait for a disk.
std::filesystem::path quick_folder() {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

class ShardWriter : public testing::Test {
protected:
    ShardWriter() { write_shards(plan_in(folder_ / "reference"), job_of()); }

    void expect_complete(const std::string& folder) const {
        EXPECT_EQ(contents(folder), contents(folder_ / "reference"));
    }

    test::TemporaryFolder folder_{quick_folder()};
};

TEST_F(ShardWriter, WritesThePlanInItsOrder) {
    const std::string out = folder_ / "out";
    std::vector<std::string> skipped;
    ConversionProgress last;
    ShardJob job = job_of(3);
    job.skipped = [&](const SkippedSource& source) { skipped.push_back(source.name + ": " + source.reason); };
    job.progress = [&](const ConversionProgress& now) { last = now; };
    const ShardResult result = write_shards(plan_in(out), job);
    EXPECT_EQ(records_of(out + "/train-00000-of-00003"),
              (std::vector<std::string>{make(3, 0).bytes, make(1, 0).bytes}));
    EXPECT_EQ(records_of(out + "/train-00001-of-00003"),
              (std::vector<std::string>{make(0, 0).bytes, make(2, 0).bytes}));
    EXPECT_EQ(records_of(out + "/train-00002-of-00003").size(), 0u);
    EXPECT_EQ(records_of(out + "/validation-00000-of-00001").size(), 2u);
    EXPECT_FALSE(result.interrupted);
    EXPECT_THAT(result.records, ElementsAre(4, 2));
    EXPECT_EQ(result.files_written, 4);
    EXPECT_EQ(result.files_kept, 0);
    EXPECT_EQ(result.notes, (std::map<std::string, std::int64_t>{{"even", 4}}));
    EXPECT_THAT(skipped, ElementsAre("source 5: damaged"));
    EXPECT_EQ(data::read_file(out + "/skipped.txt"), "source 5\tdamaged\n");
    EXPECT_EQ(last.done, 7);
    EXPECT_EQ(last.total, 7);
    EXPECT_EQ(last.skipped, 1);
    std::uint64_t bytes = 0;
    for (const auto& [name, text] : contents(out)) {
        if (name != "skipped.txt") bytes += text.size();
    }
    EXPECT_EQ(result.bytes, bytes);
    expect_complete(out);
}

TEST_F(ShardWriter, FinishedFilesAreKept) {
    const std::string out = folder_ / "reference";
    ShardJob job = job_of();
    job.produce = [](std::int64_t, int) -> MadeRecord { throw std::logic_error("there is nothing to make"); };
    const ShardResult result = write_shards(plan_in(out), job);
    EXPECT_EQ(result.files_kept, 4);
    EXPECT_EQ(result.files_written, 0);
    EXPECT_THAT(result.records, ElementsAre(4, 2));
    EXPECT_EQ(result.skipped.size(), 1u);
    EXPECT_EQ(result.notes.at("even"), 4);
}

TEST_F(ShardWriter, ChangedFilesNeedTheOption) {
    const std::string out = folder_ / "out";
    ShardPlan plan = plan_in(out);
    plan.texts["labels.txt"] = "one\ntwo\n";
    write_shards(plan, job_of());
    const Contents before = contents(out);
    EXPECT_EQ(before.at("labels.txt"), "one\ntwo\n");
    const std::string journal = data::read_file(journal_path(out));
    for (const auto& [name, unlisted] : {std::pair("train-00000-of-00003", false),
                                         {"train-00000-of-00003", true},
                                         {"labels.txt", false},
                                         {"skipped.txt", false}}) {
        SCOPED_TRACE(testing::Message() << name << unlisted);
        data::write_file(out + "/" + name, "mine");
        if (unlisted) data::write_file(journal_path(out), journal.substr(0, journal.find('\n') + 1));
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_shards(plan, job_of()); }),
                    AllOf(HasSubstr(name), HasSubstr("--overwrite")));
        EXPECT_EQ(data::read_file(out + "/" + name), "mine");
        ShardJob job = job_of();
        job.overwrite = true;
        write_shards(plan, job);
        EXPECT_EQ(contents(out), before);
    }
}

TEST_F(ShardWriter, FilesThatAreGoneAreMadeAgain) {
    const std::string out = folder_ / "out";
    write_shards(plan_in(out), job_of());
    posix_files().remove(out + "/train-00000-of-00003");
    posix_files().remove(out + "/validation-00000-of-00001");
    data::write_file(out + "/train-00001-of-00003.partial", "of a killed process");
    data::write_file(out + "/train-00002-of-00003.0123456789ab.partial", "of a killed process");
    const ShardResult result = write_shards(plan_in(out), job_of());
    EXPECT_EQ(result.files_kept, 2);
    EXPECT_EQ(result.files_written, 2);
    expect_complete(out);
}

/// Ends the process as kill -9 does, at one of the places where that could matter.
class DeadlyFiles : public FileSystem {
public:
    explicit DeadlyFiles(int steps) : steps_(steps) {}

    std::unique_ptr<InputFile> open(const std::string& path) const override { return posix_files().open(path); }
    std::unique_ptr<OutputFile> create(const std::string& path) override {
        step();
        return std::make_unique<Output>(*this, posix_files().create(path));
    }
    void append(const std::string& path, std::string_view text) override {
        step();
        posix_files().append(path, text.substr(0, text.size() / 2));
        step();
        posix_files().append(path, text.substr(text.size() / 2));
        step();
    }
    FileKind kind(const std::string& path) const override { return posix_files().kind(path); }
    std::vector<std::string> list(const std::string& path) const override { return posix_files().list(path); }
    void make_directories(const std::string& path) override { posix_files().make_directories(path); }
    void remove(const std::string& path) override { posix_files().remove(path); }
    LockAttempt try_lock(const std::string& path, std::string_view holder) override {
        return posix_files().try_lock(path, holder);
    }

private:
    class Output : public OutputFile {
    public:
        Output(DeadlyFiles& files, std::unique_ptr<OutputFile> file) : files_(files), file_(std::move(file)) {}
        void write(std::span<const std::byte> data) override {
            file_->write(data);
            files_.step();
        }
        void commit() override {
            files_.step();
            file_->commit();
            files_.step();
        }

    private:
        DeadlyFiles& files_;
        std::unique_ptr<OutputFile> file_;
    };

    void step() {
        if (steps_-- == 0) ::raise(SIGKILL);
    }

    std::atomic<int> steps_;
};

/// Runs the job in a process that is killed after that many steps; false if it got to the end.
bool killed_after(int steps, const std::string& folder, int threads) {
    const pid_t child = ::fork();
    if (child == 0) {
        DeadlyFiles files(steps);
        write_shards(plan_in(folder), job_of(threads), files);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST_F(ShardWriter, GoesOnAfterAKillAtAnyMoment) {
    for (const int threads : {1, 3}) {
        int steps = 0;
        for (bool killed = true; killed; steps += threads) {
            SCOPED_TRACE(testing::Message() << threads << " threads, killed after " << steps << " steps");
            const std::string out = folder_ / "out";
            killed = killed_after(steps, out, threads);
            write_shards(plan_in(out), job_of(4 - threads));
            expect_complete(out);
            std::filesystem::remove_all(out);
        }
        EXPECT_GT(steps, 30);
    }
}

TEST_F(ShardWriter, AListOfAnInterruptedJobIsReplaced) {
    const std::string out = folder_ / "out";
    const auto set_list = [&](const std::string& journal, const std::string& list) {
        data::write_file(journal_path(out), journal);
        data::write_file(out + "/skipped.txt", list);
    };
    const auto damaged_twice = [](std::int64_t source, int worker) {
        return source == 3 ? MadeRecord{.bytes = "", .skipped = "damaged"} : make(source, worker);
    };
    ShardJob job = job_of();
    job.produce = damaged_twice;
    write_shards(plan_in(out), job);
    const std::string whole = data::read_file(out + "/skipped.txt");
    const std::string journal = data::read_file(journal_path(out));
    const std::string unlisted = journal.substr(0, journal.find("{\"bytes\""));
    // A version whose journal knew no lists, and a job that was killed between the journal and the list.
    set_list(unlisted, "source 5\tdamaged\n");
    write_shards(plan_in(out), job);
    EXPECT_EQ(data::read_file(out + "/skipped.txt"), whole);
    const std::string before = data::read_file(folder_ / "reference/conversion.jsonl");
    const std::string first = before.substr(before.rfind('\n', before.size() - 2) + 1);
    set_list(unlisted + first + journal.substr(unlisted.size()), "source 5\tdamaged\n");
    write_shards(plan_in(out), job);
    EXPECT_EQ(data::read_file(out + "/skipped.txt"), whole);
    // Somebody's notes.
    set_list(unlisted, "source 5\tdamaged\nask Ann\n");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_shards(plan_in(out), job); }), HasSubstr("skipped.txt"));
    EXPECT_EQ(data::read_file(out + "/skipped.txt"), "source 5\tdamaged\nask Ann\n");
}

TEST_F(ShardWriter, AnyJournalThatIsCutIsUnderstood) {
    const std::string out = folder_ / "out";
    write_shards(plan_in(out), job_of());
    const std::string journal = data::read_file(journal_path(out));
    const std::size_t first_line = journal.find('\n') + 1;
    for (std::size_t size = first_line; size < journal.size(); size += 23) {
        data::write_file(journal_path(out), journal.substr(0, size));
        // Files that the journal does not know are made anew, not taken for another conversion's.
        const auto whole_lines = std::count(journal.begin() + static_cast<std::ptrdiff_t>(first_line),
                                            journal.begin() + static_cast<std::ptrdiff_t>(size), '\n');
        EXPECT_THAT(write_shards(plan_in(out), job_of()).files_kept, AnyOf(whole_lines, whole_lines + 1));
        expect_complete(out);
    }
}

TEST_F(ShardWriter, AnotherPlansFilesAreRefused) {
    const std::string out = folder_ / "reference";
    const Contents before = contents(out);
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_shards(plan_in(out, "8"), job_of()); }),
                AllOf(Not(HasSubstr("files is")), HasSubstr("--overwrite")));
    posix_files().remove(journal_path(out));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_shards(plan_in(out), job_of()); }),
                AllOf(HasSubstr("00000"), HasSubstr("conversion.jsonl"), HasSubstr("--overwrite")));
    EXPECT_EQ(contents(out), before);
}

TEST_F(ShardWriter, SomebodysJournalIsRefused) {
    const std::string out = folder_ / "out";
    posix_files().make_directories(out);
    data::write_file(journal_path(out), "my own list\n");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_shards(plan_in(out), job_of()); }),
                AllOf(HasSubstr(journal_path(out)), HasSubstr("--overwrite")));
    EXPECT_EQ(data::read_file(journal_path(out)), "my own list\n");
    ShardJob job = job_of();
    job.overwrite = true;
    write_shards(plan_in(out), job);
    expect_complete(out);
}

TEST_F(ShardWriter, OverwriteLeavesNothingOfAnotherPlan) {
    const std::string out = folder_ / "out";
    ShardPlan other = plan_in(out, "8");
    other.sets[0].sources.push_back({6});
    write_shards(other, job_of());
    data::write_file(out + "/notes.txt", "mine");
    ShardJob job = job_of();
    job.overwrite = true;
    EXPECT_EQ(write_shards(plan_in(out), job).files_written, 4);
    EXPECT_EQ(write_shards(plan_in(out), job).files_kept, 4);  // of this conversion: nothing to remove
    posix_files().remove(out + "/notes.txt");
    expect_complete(out);
}

TEST_F(ShardWriter, AFullDiskKeepsWhatIsFinished) {
    MemoryFiles files(650);  // of about 1500
    const ShardPlan plan = plan_in("memory");
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { write_shards(plan, job_of(), files); }), HasSubstr("space"));
    for (const auto& [name, text] : contents("memory", files)) {
        EXPECT_THAT(name, Not(HasSubstr("partial")));
    }
    files.set_capacity_bytes(1 << 20);
    EXPECT_GT(write_shards(plan, job_of(), files).files_kept, 0);
    EXPECT_EQ(contents("memory", files), contents(folder_ / "reference"));
}

TEST_F(ShardWriter, StopsWhenAsked) {
    const std::string out = folder_ / "out";
    std::atomic<bool> stop = false;
    ShardJob job = job_of();
    job.stop_requested = [&] { return stop.load(); };
    job.produce = [&](std::int64_t source, int worker) {
        if (source == 5) {  // within the second file
            stop = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
        return make(source, worker);
    };
    const ShardResult result = write_shards(plan_in(out), job);
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.files_written, 1);
    EXPECT_EQ(contents(out).size(), 3u);  // skipped.txt and the lock, too
    const ShardResult rest = write_shards(plan_in(out), job_of());
    EXPECT_FALSE(rest.interrupted);
    EXPECT_EQ(rest.files_kept, 1);
    expect_complete(out);
}

TEST_F(ShardWriter, TooManySkipped) {
    const std::string out = folder_ / "out";
    ShardJob job = job_of();
    job.max_skipped = 0;
    job.unit = "images";
    EXPECT_THAT(message_of(ErrorKind::data, [&] { write_shards(plan_in(out), job); }),
                AllOf(HasSubstr("1 of 7 images"), HasSubstr("--max-skipped"), HasSubstr("skipped.txt")));
    EXPECT_EQ(data::read_file(out + "/skipped.txt"), "source 5\tdamaged\n");
    job.max_skipped = 1;
    write_shards(plan_in(out), job);
    expect_complete(out);
    job.max_skipped = 0;  // also for those of earlier runs
    EXPECT_THROW(write_shards(plan_in(out), job), Error);
}

TEST_F(ShardWriter, TwoProcessesInOneFolder) {
    const std::string out = folder_ / "out";
    ShardJob job = job_of();
    job.produce = [&](std::int64_t source, int worker) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_shards(plan_in(out), job_of()); }), Not(IsEmpty()));
        return make(source, worker);
    };
    write_shards(plan_in(out), job);
    expect_complete(out);
}

TEST_F(ShardWriter, OtherErrorsEndTheJob) {
    ShardJob job = job_of(2);
    job.produce = [](std::int64_t source, int) -> MadeRecord {
        if (source == 2) throw Error(ErrorKind::data, "source 2 is gone");
        return {"x"};
    };
    EXPECT_EQ(message_of(ErrorKind::data, [&] { write_shards(plan_in(folder_ / "out"), job); }), "source 2 is gone");
}

TEST(ShardNames, AreTheStandardOnes) {
    EXPECT_EQ(shard_name("train", 3, 1024), "train-00003-of-01024");
}

}  // namespace
}  // namespace cnntrain::data
