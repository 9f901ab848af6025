#include "data/write/shard_writer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "data/records/example.h"
#include "data/records/tfrecord.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {
std::string serialise_image_example(const ImageDescription& image) {
    ExampleEncoder encoder;
    const auto integer = [&](std::string_view key, std::int64_t value) { encoder.add(key, std::span(&value, 1)); };
    const auto coordinates = [&](std::string_view key, float Box::*coordinate) {
        std::vector<float> values;
        for (const Box& box : image.boxes)
            values.push_back(box.*coordinate);
        encoder.add(key, values);
    };
    integer("image/channels", 3);
    integer("image/class/label", image.label);
    encoder.add("image/class/synset", image.synset);
    encoder.add("image/class/text", image.text);
    encoder.add("image/colorspace", "RGB");
    encoder.add("image/encoded", image.jpeg);
    encoder.add("image/filename", image.file_name);
    encoder.add("image/format", "JPEG");
    integer("image/height", image.height);
    encoder.add("image/object/bbox/label", image.box_labels);
    coordinates("image/object/bbox/xmax", &Box::x_max);
    coordinates("image/object/bbox/xmin", &Box::x_min);
    coordinates("image/object/bbox/ymax", &Box::y_max);
    coordinates("image/object/bbox/ymin", &Box::y_min);
    integer("image/width", image.width);
    std::string bytes;
    encoder.finish(bytes);
    return bytes;
}

namespace {

constexpr std::string_view kSkippedList = "skipped.txt";
constexpr std::chrono::milliseconds kWatchInterval{100};

/// One file of the plan.
struct ShardFile {
    std::string name;
    std::size_t set = 0;
    const std::vector<std::int64_t>* sources = nullptr;
};

std::vector<ShardFile> files_of(const ShardPlan& plan) {
    std::vector<ShardFile> all;
    for (std::size_t set = 0; set < plan.sets.size(); ++set) {
        const auto& [prefix, sources] = plan.sets[set];
        for (std::size_t shard = 0; shard < sources.size(); ++shard) {
            all.push_back({shard_name(prefix, shard, sources.size()), set, &sources[shard]});
        }
    }
    return all;
}

/// True if `name` is a shard with one of the plan's prefixes and any count.
bool is_shard_of(const ShardPlan& plan, std::string_view name) {
    const std::optional<ShardName> shard = parse_shard_name(name);
    return shard && std::any_of(plan.sets.begin(), plan.sets.end(),
                                [&](const ShardSet& set) { return set.prefix == shard->prefix; });
}

class Run {
public:
    Run(const ShardPlan& plan, const ShardJob& job, FileSystem& files)
        : plan_(plan), job_(job), files_(files), all_(files_of(plan)), finished_(all_.size()), skipped_(all_.size()) {}

    ShardResult run() {
        files_.make_directories(plan_.folder);
        const auto lock = lock_folder(files_, plan_.folder, "cnntrain dataset");
        prepare();
        write_files();
        write_skipped_list();
        if (failure_) fail();
        ShardResult result = summary();
        if (!result.interrupted) {
            for (const auto& [name, text] : plan_.texts)
                write_list(name, text);
        }
        return result;
    }

private:
    // Called before the threads start.

    void prepare() {
        std::set<std::string, std::less<>> planned;
        for (const ShardFile& file : all_) {
            planned.insert(file.name);
            total_ += static_cast<std::int64_t>(file.sources->size());
        }
        check_outputs(files_,
                      {{{"the journal", journal_path(plan_.folder)}, job_.overwrite, "--overwrite", is_journal}});
        const std::optional<Journal> journal = read_journal(files_, journal_path(plan_.folder));
        const bool same = journal && journal->fingerprint == plan_.fingerprint;
        std::vector<std::string> others;
        for (const std::string& name : files_.list(plan_.folder)) {
            const std::optional<std::string_view> unfinished = finished_name(name);
            if (!is_shard_of(plan_, unfinished.value_or(name))) continue;
            if (unfinished) {
                files_.remove(path(name));
            } else if (!same || !planned.contains(name)) {
                others.push_back(name);
            }
        }
        if (!others.empty()) refuse_or_remove(others, same ? std::nullopt : journal);

        if (journal) lists_ = journal->lists;
        check_lists(same);

        std::vector<FinishedFile> entries;
        for (std::size_t file = 0; file < all_.size(); ++file) {
            const std::string& name = all_[file].name;
            const bool known = same && journal->finished.contains(name) && exists(files_, path(name));
            if (known && files_.open(path(name))->size_bytes() == journal->finished.at(name).bytes) {
                keep(file, journal->finished.at(name));
                entries.push_back(journal->finished.at(name));
            } else {
                if (known && !job_.overwrite) refuse_changed(name);
                todo_.push_back(file);
            }
        }
        check_skipped();
        write_journal(files_, journal_path(plan_.folder), plan_.fingerprint, entries, lists_);
    }

    void refuse_or_remove(const std::vector<std::string>& others, const std::optional<Journal>& journal) {
        if (job_.overwrite) {
            for (const std::string& name : others) {
                files_.remove(path(name));
            }
            return;
        }
        const std::string why = journal ? differences(plan_.fingerprint, journal->fingerprint)
                                        : "no line of " + journal_path(plan_.folder) + " is about it";
        throw Error(ErrorKind::usage, "output folder " + plan_.folder + " holds files of another conversion, such as " +
                                          others.front() + " (" + why +
                                          "); choose another folder, or give --overwrite to remove these files");
    }

    bool is_own_list(const std::string& name) const {
        const auto text = plan_.texts.find(name);
        const auto list = lists_.find(name);
        return (text != plan_.texts.end() && holds(files_, path(name), content_of(text->second))) ||
               (list != lists_.end() && std::ranges::any_of(list->second, [&](const FileContent& content) {
                    return holds(files_, path(name), content);
                }));
    }

    /// True for a list that an interrupted job wrote without a line of the journal: all its lines are in the whole one.
    bool is_part_of_list(const std::string& name, const std::string& text) const {
        if (lists_.contains(name) || files_.kind(path(name)) != FileKind::file) return false;
        std::istringstream lines(read_text(files_, path(name)));
        for (std::string line; std::getline(lines, line);) {
            if (("\n" + text).find("\n" + line + "\n") == std::string::npos) return false;
        }
        return true;
    }

    /// Refuses lists that are not the job's. Skipped sources are known at the end only: if the journal of this plan has
    /// lost their list, the file is compared then.
    void check_lists(bool same_plan) const {
        const auto is_own = [&](const FileSystem& /*files*/, const std::string& path) {
            const std::string name(last_part(path));
            const bool later = same_plan && name == kSkippedList && !lists_.contains(name);
            return later || is_own_list(name);
        };
        std::vector<Output> outputs = {{{"the list", path(kSkippedList)}, job_.overwrite, "--overwrite", is_own}};
        for (const auto& [name, text] : plan_.texts)
            outputs.push_back({{"the list", path(name)}, job_.overwrite, "--overwrite", is_own});
        check_outputs(files_, outputs);
    }

    [[noreturn]] void refuse_changed(const std::string& name) const {
        throw Error(ErrorKind::usage,
                    path(name) +
                        " is not the file that this conversion writes there; move it away, or replace "
                        "it with --overwrite");
    }

    void keep(std::size_t file, const FinishedFile& entry) {
        finished_[file] = entry;
        skipped_[file] = entry.skipped;
        skipped_count_ += static_cast<std::int64_t>(entry.skipped.size());
        kept_sources_ += static_cast<std::int64_t>(all_[file].sources->size());
        ++kept_files_;
        done_ = kept_sources_;
    }

    // Called in the threads.

    void work(int worker) {
        try {
            while (!stopping_) {
                const std::size_t place = next_++;
                if (place >= todo_.size()) break;
                write_file(todo_[place], worker);
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            stopping_ = true;
        }
        const std::lock_guard lock(mutex_);
        --active_;
        ended_.notify_one();
    }

    void write_file(std::size_t file, int worker) {
        const ShardFile& shard = all_[file];
        FinishedFile entry{shard.name};
        RecordWriter writer(files_, path(shard.name));
        for (const std::int64_t source : *shard.sources) {
            if (stopping_) return;
            const MadeRecord made = job_.produce(source, worker);
            if (made.skipped.empty()) {
                writer.write(std::as_bytes(std::span(made.bytes)));
                ++entry.records;
                for (const std::string& note : made.notes) {
                    ++entry.notes[note];
                }
            } else {
                note_skipped(file, source, made.skipped);
            }
            ++done_;
        }
        // A job that was killed before it could list the file has left the same bytes.
        const bool changed = exists(files_, path(shard.name)) && !holds(files_, path(shard.name), writer.content());
        if (changed && !job_.overwrite) refuse_changed(shard.name);
        writer.commit();
        entry.bytes = writer.content().bytes;
        const std::lock_guard lock(mutex_);
        if (failure_) return;  // the journal itself may have failed
        entry.skipped = skipped_[file];
        append_to_journal(files_, journal_path(plan_.folder), entry);
        finished_[file] = std::move(entry);
    }

    void note_skipped(std::size_t file, std::int64_t source, const std::string& reason) {
        const std::lock_guard lock(mutex_);
        skipped_[file].push_back({job_.source_name(source), reason});
        unreported_.push_back(skipped_[file].back());
        ++skipped_count_;
        check_skipped();
    }

    void check_skipped() const {
        if (skipped_count_ <= job_.max_skipped) return;
        throw Error(ErrorKind::data, std::to_string(skipped_count_) + " of " + std::to_string(total_) + " " +
                                         job_.unit + " had to be skipped, more than the " +
                                         std::to_string(job_.max_skipped) + " that --max-skipped allows; " +
                                         path(kSkippedList) + " names them: repair or remove them, or allow more");
    }

    // Called while the threads run or after them.

    void write_files() {
        const int workers =
            static_cast<int>(std::min(todo_.size(), static_cast<std::size_t>(std::max(job_.threads, 1))));
        active_ = workers;
        std::vector<std::jthread> threads;
        threads.reserve(static_cast<std::size_t>(workers));
        for (int worker = 0; worker < workers; ++worker) {
            threads.emplace_back([this, worker] { work(worker); });
        }
        for (bool ended = false; !ended;) {
            {
                std::unique_lock lock(mutex_);
                ended = ended_.wait_for(lock, kWatchInterval, [&] { return active_ == 0; });
            }
            report();
        }
    }

    /// Called without the lock: a slow terminal must not delay the workers.
    void report() {
        std::vector<SkippedSource> skipped;
        ConversionProgress progress{done_, kept_sources_, total_, 0};
        {
            const std::lock_guard lock(mutex_);
            skipped.swap(unreported_);
            progress.skipped = skipped_count_;
        }
        if (job_.skipped) std::for_each(skipped.begin(), skipped.end(), job_.skipped);
        if (job_.progress) job_.progress(progress);
        if (job_.stop_requested && job_.stop_requested()) stopping_ = true;
    }

    void write_skipped_list() {
        std::string text;
        for (const auto& sources : skipped_) {
            for (const SkippedSource& source : sources) {
                text += source.name + "\t" + source.reason + "\n";
            }
        }
        try {
            const std::string name(kSkippedList);
            if (!text.empty()) {
                write_list(name, text);
            } else if (job_.overwrite || is_own_list(name)) {
                files_.remove(path(name));
            }
        } catch (const Error&) {
            if (!failure_) failure_ = std::current_exception();
        }
    }

    void write_list(const std::string& name, const std::string& text) {
        const FileContent content = content_of(text);
        const bool is_there = holds(files_, path(name), content);
        const bool is_free =
            job_.overwrite || is_own_list(name) || !exists(files_, path(name)) || is_part_of_list(name, text);
        if (!is_there && !is_free) refuse_changed(name);
        std::vector<FileContent>& known = lists_[name];
        if (known.empty() || known.back() != content) {
            append_to_journal(files_, journal_path(plan_.folder), name, content);
            known.push_back(content);
        }
        if (!is_there) write_text(files_, path(name), text);
    }

    [[noreturn]] void fail() {
        try {
            std::rethrow_exception(failure_);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::storage) throw;
            const auto finished =
                std::count_if(finished_.begin(), finished_.end(), [](const auto& file) { return !!file; });
            fail_storing(error, static_cast<std::size_t>(finished), all_.size());
        }
    }

    ShardResult summary() const {
        ShardResult result;
        result.files_kept = kept_files_;
        result.records.assign(plan_.sets.size(), 0);
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!finished_[i]) {
                result.interrupted = true;
                continue;
            }
            const FinishedFile& file = *finished_[i];
            result.records[all_[i].set] += file.records;
            result.bytes += file.bytes;
            ++result.files_written;
            result.skipped.insert(result.skipped.end(), file.skipped.begin(), file.skipped.end());
            for (const auto& [note, count] : file.notes) {
                result.notes[note] += count;
            }
        }
        result.files_written -= kept_files_;
        return result;
    }

    std::string path(std::string_view name) const { return plan_.folder + "/" + std::string(name); }

    const ShardPlan& plan_;
    const ShardJob& job_;
    FileSystem& files_;
    const std::vector<ShardFile> all_;
    std::vector<std::size_t> todo_;
    std::int64_t total_ = 0;         // number of sources
    std::int64_t kept_sources_ = 0;  // in files of an earlier run
    std::int64_t kept_files_ = 0;
    Lists lists_;  // as the journal knows them

    std::atomic<std::size_t> next_{0};  // index in todo_
    std::atomic<std::int64_t> done_{0};
    std::atomic<bool> stopping_{false};

    std::mutex mutex_;  // guards all following members, and the journal
    std::condition_variable ended_;
    std::vector<std::optional<FinishedFile>> finished_;  // by file
    std::vector<std::vector<SkippedSource>> skipped_;    // by file, including unfinished files
    std::vector<SkippedSource> unreported_;
    std::int64_t skipped_count_ = 0;
    std::exception_ptr failure_;
    int active_ = 0;
};

}  // namespace

std::string shard_name(std::string_view prefix, std::size_t shard, std::size_t shards) {
    std::array<char, 64> numbers{};
    std::snprintf(numbers.data(), numbers.size(), "-%05zu-of-%05zu", shard, shards);
    return std::string(prefix) + numbers.data();
}

ShardResult write_shards(const ShardPlan& plan, const ShardJob& job, FileSystem& files) {
    return Run(plan, job, files).run();
}

void fail_storing(const Error& error, std::size_t finished, std::size_t files) {
    throw Error(error.kind(), std::string(error.what()) + "; " + std::to_string(finished) + " of " +
                                  std::to_string(files) +
                                  " files are finished and stay: run the same command again to go on with the rest");
}

std::int64_t count_of(const std::map<std::string, std::int64_t>& notes, const char* note) {
    const auto found = notes.find(note);
    return found == notes.end() ? 0 : found->second;
}

namespace {

using nlohmann::json;

constexpr std::string_view kJournal = "conversion.jsonl";
constexpr const char* kPlan = "plan";

/// File names may be invalid UTF-8; the journal must be valid.
std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string line_of(const Fingerprint& fingerprint) {
    json entries = json::array();
    for (const auto& [name, value] : fingerprint) {
        entries.push_back({name, value});
    }
    return text_of({{kPlan, entries}});
}

std::string line_of(const FinishedFile& file) {
    json skipped = json::array();
    for (const SkippedSource& source : file.skipped) {
        skipped.push_back({source.name, source.reason});
    }
    return text_of({{"file", file.name},
                    {"records", file.records},
                    {"bytes", file.bytes},
                    {"skipped", skipped},
                    {"notes", file.notes}});
}

std::string line_of(const std::string& list, const FileContent& content) {
    return text_of({{"list", list}, {"bytes", content.bytes}, {"crc32c", content.checksum}});
}

FinishedFile finished_file(const json& line) {
    FinishedFile file{line.at("file"), line.at("records"), line.at("bytes")};
    for (const json& source : line.at("skipped")) {
        file.skipped.push_back({source.at(0), source.at(1)});
    }
    line.at("notes").get_to(file.notes);
    return file;
}

void read_line(const json& line, Journal& journal) {
    if (line.contains("file")) {
        const FinishedFile file = finished_file(line);
        journal.finished[file.name] = file;
        return;
    }
    if (line.contains("list")) {
        journal.lists[line.at("list")].push_back({line.at("bytes"), line.at("crc32c")});
        return;
    }
    for (const json& entry : line.at(kPlan)) {
        journal.fingerprint.emplace_back(entry.at(0), entry.at(1));
    }
}

const std::string* find(const Fingerprint& fingerprint, const std::string& name) {
    const auto found =
        std::find_if(fingerprint.begin(), fingerprint.end(), [&](const auto& entry) { return entry.first == name; });
    return found == fingerprint.end() ? nullptr : &found->second;
}

}  // namespace

std::string journal_path(const std::string& folder) {
    return folder + "/" + std::string(kJournal);
}

std::optional<Journal> read_journal(const FileSystem& files, const std::string& path) {
    if (!exists(files, path)) return std::nullopt;
    Journal journal;
    std::istringstream lines(read_text(files, path));
    for (std::string line; std::getline(lines, line);) {
        try {
            check_json(line);
            read_line(json::parse(line), journal);
        } catch (const Error&) {
            continue;
        } catch (const json::exception&) {
            continue;
        }
    }
    return journal;
}

bool is_journal(const FileSystem& files, const std::string& path) {
    const std::string begin = "{\"" + std::string(kPlan) + "\":[[";  // as line_of() writes it
    return beginning_of(files, path, begin.size()) == begin;
}

void write_journal(FileSystem& files, const std::string& path, const Fingerprint& fingerprint,
                   const std::vector<FinishedFile>& finished, const Lists& lists) {
    std::string text = line_of(fingerprint);
    for (const FinishedFile& file : finished) {
        text += line_of(file);
    }
    for (const auto& [list, contents] : lists) {
        for (const FileContent& content : contents)
            text += line_of(list, content);
    }
    write_text(files, path, text);
}

void append_to_journal(FileSystem& files, const std::string& path, const FinishedFile& file) {
    files.append(path, line_of(file));
}

void append_to_journal(FileSystem& files, const std::string& path, const std::string& list,
                       const FileContent& content) {
    files.append(path, line_of(list, content));
}

std::string differences(const Fingerprint& now, const Fingerprint& before) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    for (const auto& [name, value] : now) {
        const std::string* old = find(before, name);
        if (old == nullptr) {
            add(name + " is " + value + ", was not there");
        } else if (*old != value) {
            add(name + " is " + value + ", was " + *old);
        }
    }
    for (const auto& [name, value] : before) {
        if (find(now, name) == nullptr) add(name + " was " + value + ", is not there");
    }
    return text;
}

}  // namespace cnntrain::data
