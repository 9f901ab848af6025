#include "tasks/task_table.h"

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "tasks/image_classification/task.h"
#include "tasks/pretraining/task.h"
#include "tasks/text_classification/task.h"

namespace cnntrain::tasks {

const std::vector<run::TaskRow>& task_table() {
    static const std::vector<run::TaskRow> table = {
        image_classification_row(),
        pretraining_row(options::Command::pretrain),
        text_classification_row(),
    };
    return table;
}

void check_rows(const options::TaskOptions& task) {
    std::vector<std::string> missing;
    for (const char* flag : {"--help", "--restore-path", "--init-path", "--seed", "--epochs", "--iterations",
                             "--micro-batch-size", "--gradient-accumulation-count", "--replicas"}) {
        if (task.options().with_shared(flag) == nullptr) missing.emplace_back(flag);
    }
    if (missing.empty()) return;
    throw Error(ErrorKind::internal, "the options of task " + std::string(task.name) + " lack " + listed(missing) +
                                         ", which every run reads; take them with shared()");
}

std::vector<std::string_view> task_names() {
    std::vector<std::string_view> names;
    for (const run::TaskRow& row : task_table())
        names.push_back(row.options.name);
    return names;
}

}  // namespace cnntrain::tasks
