#include "tasks/task_table.h"

#include "tasks/image_classification/row.h"
#include "tasks/pretraining/row.h"
#include "tasks/text_classification/row.h"

namespace cnntrain::tasks {

const std::vector<train::TaskRow>& task_table() {
    static const std::vector<train::TaskRow> table = {
        image_classification_row(),
        pretraining_row(config::Command::pretrain),
        text_classification_row(),
    };
    return table;
}

std::vector<std::string_view> task_names() {
    std::vector<std::string_view> names;
    for (const train::TaskRow& row : task_table())
        names.push_back(row.options.name);
    return names;
}

}  // namespace cnntrain::tasks
