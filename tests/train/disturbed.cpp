#include "train/disturbed.h"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/faulty_communicator.h"
#include "support/faulty_files.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {

Subject image_network() {
    return {.command = options::Command::train,
            .line = train_line("--seed 7 --epochs 0 --micro-batch-size 2 --precision 32.32 --logs-per-epoch 80"),
            .alone = " --iterations 2 --ckpts-per-epoch 80 --validate-every-updates 2 --keep-best loss",
            .together = " --iterations 2 --ckpts-per-epoch 20 --no-validation",
            .own_files = " --log-all-instances",
            .first_column = 0,
            .end_column = 8};
}

Subject pretraining() {
    return {.command = options::Command::pretrain,
            .line =
                "--vocab-size 50 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 1 "
                "--intermediate-size 64 --max-position-embeddings 16 --use-qkv-split --no-use-cls-layer "
                "--seq-length 16 --static-mask --max-predictions-per-seq 3 --generated-data --precision 32 "
                "--seed 5 --threads 1 --micro-batch-size 2 --gradient-accumulation-count 2 --num-train-steps 2 "
                "--optimizer lamb --epsilon 1e-6 --base-learning-rate 0.01 --warmup 0 "
                "--hidden-dropout-prob 0.1 --attention-probs-dropout-prob 0.1",
            .alone = " --steps-per-ckpts 1",
            .together = " --steps-per-ckpts 0",
            .own_files = " --log-all-workers",
            .first_column = 1,
            .end_column = 12};
}

Result result(const Subject& subject, const FileSystem& files, const std::string& folder) {
    Result result;
    const auto last = weights::latest(files, folder);
    if (!last) return result;
    for (const auto& [name, tensor] : weights::load(files, last->path).tensors) {
        const auto bytes = tensor.bytes();
        result.weights += name;
        result.weights.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    std::istringstream table(read_text(files, folder + "/training.csv"));
    for (std::string row; std::getline(table, row);) {
        std::istringstream line(row);
        std::string field;
        for (int column = 0; std::getline(line, field, ','); ++column) {
            if (column >= subject.first_column && column < subject.end_column) result.rows += field + " ";
        }
        result.rows += "\n";
    }
    return result;
}

void expect_whole_files(const FileSystem& files, const std::string& folder) {
    if (!is_directory(files, folder)) return;
    for (const std::string& name : files.list(folder)) {
        const std::string path = folder + "/" + name;
        EXPECT_FALSE(finished_name(name)) << path << " is left over";
        if (name.ends_with(weights::kCheckpointSuffix)) {
            EXPECT_NO_THROW(weights::load(files, path)) << path;
        } else if (name.ends_with(".json")) {
            EXPECT_TRUE(nlohmann::json::accept(read_text(files, path))) << path;
        }
    }
}

std::string line_alone(const Subject& subject, const std::string& folder) {
    return subject.line + subject.alone + " --logs-path " + folder;
}

bool is_restorable(const FileSystem& files, const std::string& folder) {
    return exists(files, folder + "/arguments.json") && weights::latest(files, folder);
}

namespace {

void expect_file_error(const std::optional<ErrorKind>& kind) {
    EXPECT_TRUE(!kind || *kind == ErrorKind::storage || *kind == ErrorKind::data) << exit_code(*kind);
}

/// `in_new_folder` calls what it is given with files and a folder that has not been there. `disturbed` calls what it is
/// given with files of which the fault strikes one operation.
template <typename InNewFolder, typename Disturbed>
std::map<std::string, int> try_files(const Subject& subject, const InNewFolder& in_new_folder,
                                     const Disturbed& disturbed) {
    Result undisturbed;
    const auto line = [&](const std::string& folder) { return line_alone(subject, folder); };
    in_new_folder([&](FileSystem& files, const std::string& folder) {
        run_line(files, subject.command, line(folder));
        undisturbed = result(subject, files, folder);
    });
    return test::try_every_fault([&](test::Fault& fault) {
        in_new_folder([&](FileSystem& whole, const std::string& folder) {
            disturbed(whole, fault, [&](FileSystem& files) {
                expect_file_error(kind_of([&] { run_line(files, subject.command, line(folder)); }));
            });
            expect_whole_files(whole, folder);
            const bool restores = is_restorable(whole, folder);
            const std::string again = restores ? "--restore-path " + folder : line(folder);
            EXPECT_EQ(run_line(whole, restores ? options::Command::restore : subject.command, again).exit_code, 0);
            EXPECT_EQ(result(subject, whole, folder), undisturbed);
        });
    });
}

void with_faulty_files(FileSystem& whole, test::Fault& fault, const std::function<void(FileSystem&)>& run) {
    test::FaultyFiles files(whole, fault);
    run(files);
}

constexpr auto kFileOperations = {"append", "commit", "create", "make_directories", "open", "sync_folder", "write"};

const auto kInTemporaryFolder = [](const auto& attempt) {
    const test::TemporaryFolder folder;
    attempt(posix_files(), folder / "run");
};

void expect_kinds(const std::map<std::string, int>& tried, std::initializer_list<const char*> kinds) {
    for (const char* kind : kinds)
        EXPECT_TRUE(tried.contains(kind)) << kind;
}

constexpr std::size_t kRanks = 2;
const std::string kFolder = "run";

std::string line_of_ranks(const Subject& subject, const std::string& options) {
    return subject.line + subject.together + options + " --logs-path " + kFolder;
}

Result undisturbed_ranks(const Subject& subject, const std::string& options) {
    std::vector<Process> ranks(kRanks);
    run_together(ranks, subject.command, line_of_ranks(subject, options));
    return result(subject, ranks[0].files, kFolder);
}

/// The other rank ends because of the one that failed, unless both have met the same error, or none.
void expect_common_end(const std::vector<Process>& ranks, std::size_t failed, const test::Fault& fault) {
    const Process& other = ranks[1 - failed];
    if (ranks[failed].error && !ranks[failed].of_all) {
        EXPECT_EQ(other.error, ErrorKind::peers) << other.message;
        EXPECT_THAT(other.message, HasSubstr("rank " + std::to_string(failed) + " has left: "));
    } else if (!fault.struck().empty()) {
        EXPECT_EQ(other.error, ranks[failed].error) << other.message;
    }
}

/// Two ranks go on with what the first one has saved.
void expect_nothing_lost(const Subject& subject, std::vector<Process>& left, const std::string& options,
                         const Result& undisturbed) {
    expect_whole_files(left[0].files, kFolder);
    expect_whole_files(left[1].files, kFolder + "-instance1");
    std::vector<Process> ranks(kRanks);
    for (std::size_t rank = 0; rank < kRanks; ++rank)
        ranks[rank].files = std::move(left[rank].files);
    if (is_restorable(ranks[0].files, kFolder)) {
        restore_together(ranks);
    } else {
        run_together(ranks, subject.command, line_of_ranks(subject, options));
    }
    for (const Process& rank : ranks)
        EXPECT_FALSE(rank.error) << rank.message;
    EXPECT_EQ(result(subject, ranks[0].files, kFolder), undisturbed);
}

}  // namespace

void try_file_faults(const Subject& subject) {
    const auto in_memory = [](const auto& attempt) {
        MemoryFiles files;
        attempt(files, "run");
    };
    expect_kinds(try_files(subject, in_memory, with_faulty_files), kFileOperations);
}

void try_disk_faults(const Subject& subject) {
    expect_kinds(try_files(subject, kInTemporaryFolder, with_faulty_files), kFileOperations);
}

void try_call_faults(const Subject& subject, const DisturbedCalls& disturbed) {
    const auto with_faulty_calls = [&](FileSystem& files, test::Fault& fault, const auto& run) {
        disturbed(fault, [&] { run(files); });
    };
    expect_kinds(try_files(subject, kInTemporaryFolder, with_faulty_calls),
                 {"fsync", "mkdir", "open", "rename", "write"});
}

void try_file_faults_of_ranks(const Subject& subject) {
    const Result undisturbed = undisturbed_ranks(subject, subject.own_files);
    for (std::size_t failing = 0; failing < kRanks; ++failing) {
        test::try_every_fault([&](test::Fault& fault) {
            std::vector<Process> ranks(kRanks);
            test::FaultyFiles files(ranks[failing].files, fault);
            ranks[failing].disk = &files;
            run_together(ranks, subject.command, line_of_ranks(subject, subject.own_files));
            expect_file_error(ranks[failing].error);
            expect_common_end(ranks, failing, fault);
            expect_nothing_lost(subject, ranks, subject.own_files, undisturbed);
        });
        if (::testing::Test::HasFailure()) return;
    }
}

void try_message_faults(const Subject& subject) {
    const Result undisturbed = undisturbed_ranks(subject, "");
    for (std::size_t failing = 0; failing < kRanks; ++failing) {
        const auto tried = test::try_every_fault([&](test::Fault& fault) {
            std::vector<Process> ranks(kRanks);
            ranks[failing].connect = [&](std::shared_ptr<comm::Communicator> inner) {
                return std::make_shared<test::FaultyCommunicator>(std::move(inner), fault);
            };
            run_together(ranks, subject.command, line_of_ranks(subject, ""));
            EXPECT_EQ(ranks[failing].error.has_value(), !fault.struck().empty());
            EXPECT_EQ(ranks[failing].error.value_or(ErrorKind::peers), ErrorKind::peers) << ranks[failing].message;
            expect_common_end(ranks, failing, fault);
            expect_nothing_lost(subject, ranks, "", undisturbed);
        });
        if (::testing::Test::HasFailure()) return;
        expect_kinds(tried, {"all_gather", "broadcast", "finish", "start_all_reduce", "wait"});
    }
}

}  // namespace cnntrain::run::testing
