// Faults by number: the n-th operation on files fails, for n = 1, 2, 3, ... until a training meets no fault. Whatever
// fails, the error says so, what was saved is whole, and the run that goes on ends with the undisturbed one's bytes.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/folder.h"
#include "support/errors.h"
#include "support/faulty_files.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

const std::string kLine = "--iterations 6 --epochs 0 --ckpts-per-epoch 10 --validate-every-updates 3 --keep-best loss ";

/// The kind of error that ended the run; empty for a run to its end.
std::optional<ErrorKind> end_of(test::FaultyFiles& files) {
    return test::kind_of([&] { EXPECT_EQ(train(files, kLine).exit_code, 0); });
}

void expect_whole_checkpoints(const MemoryFiles& files) {
    for (const checkpoint::Found& found : checkpoint::numbered_checkpoints(files, "run"))
        EXPECT_NO_THROW(checkpoint::load(files, found.path)) << found.path;
    const std::string best = checkpoint::best_path("run");
    if (!exists(files, best)) return;
    EXPECT_NO_THROW(checkpoint::load(files, best));
}

/// As its user would: `restore`, or the own line where nothing was saved.
void go_on(MemoryFiles& files) {
    const bool is_there = exists(files, "run/arguments.json") && checkpoint::latest(files, "run");
    EXPECT_EQ((is_there ? restore(files) : train(files, kLine)).exit_code, 0);
}

TEST(Faults, OfFilesLoseNothing) {
    MemoryFiles undisturbed;
    train(undisturbed, kLine);
    const std::string best = read_text(undisturbed, checkpoint::best_path("run"));
    std::map<std::string, int> tried;
    bool failed = true;
    for (int number = 1; failed; ++number) {
        MemoryFiles memory;
        test::FaultyFiles files(memory, number);
        const std::optional<ErrorKind> end = end_of(files);
        failed = !files.failed().empty();
        SCOPED_TRACE("operation " + std::to_string(number) + ", " + files.failed());
        if (failed) ++tried[files.failed()];
        const ErrorKind kind = end.value_or(ErrorKind::storage);
        EXPECT_TRUE(kind == ErrorKind::storage || kind == ErrorKind::data) << exit_code(kind);
        expect_whole_checkpoints(memory);
        go_on(memory);
        EXPECT_EQ(weights(memory, 6), weights(undisturbed, 6));
        EXPECT_EQ(loss_rows(memory), loss_rows(undisturbed));
        EXPECT_EQ(read_text(memory, checkpoint::best_path("run")).size(), best.size());
        if (HasFailure()) return;
    }
    int all = 0;
    for (const auto& [operation, count] : tried) {
        RecordProperty(operation, count);
        all += count;
    }
    RecordProperty("faults", all);
    EXPECT_GT(all, 30);
}

}  // namespace
}  // namespace cnntrain::train::testing
