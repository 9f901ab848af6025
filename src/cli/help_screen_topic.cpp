#include "cli/help_screen_topic.h"

#include <algorithm>
#include <string_view>

#include "cnntrain/metrics/json_lines.h"

namespace cnntrain::cli {
namespace {

constexpr std::string_view kScreen =
    R"(On a terminal, a run begins with its network, data, length, learning rate, precision and folder in a
few lines. All settings, log lines and the list of variables are in log.txt; --verbose prints them,
too. A training of two epochs or more is a table with a row for each validation, or for each epoch
without one; the best is marked. One line below the others shows how far the work is, loss and
accuracy (means of the last updates, the newest with the largest weight), the rate and the time
left. It follows the width of the terminal, is not shown in the background, and is removed at the
end and by signals.

In a pipe or file, and in processes of mpirun or poprun, the standard output has every line of
log.txt, in the format that programs parse, and no progress line. Lines about IPUs (half partials,
infeeds, IO) are left out unless the line names a script of the originals or --backend ipu. Work
that prints nothing for a minute has a line a minute.

  --quiet            results only: validations, predictions, measurements, the reason of an early
                     stop. log.txt is complete. Notices are left out; warnings and errors are not.
  --log-format json  an object a line on the standard output for each event. Notices, warnings and
                     errors are such objects on the standard error; errors in the command line
                     itself are text. log.txt stays text.

Colours are used on terminals only, and not with NO_COLOR, CLICOLOR=0 or TERM=dumb. TERM=dumb has
no progress line either.

Events of --log-format json. Each object has "event", the name here, and "time", in seconds since
1970. Numbers that are not finite are null.
)";

constexpr std::size_t kColumn = 23;

std::string topic_row(std::string head, std::string_view what) {
    head.resize(std::max(head.size() + 1, kColumn), ' ');
    return head + std::string(what) + "\n";
}

std::string event_rows(const metrics::JsonEvent& event) {
    std::string text = "\n" + topic_row("  " + std::string(event.name), event.when);
    for (const metrics::JsonField& field : event.fields) {
        const std::string meaning = field.meaning.empty() ? "" : ": " + std::string(field.meaning);
        text += topic_row("    " + std::string(field.name), std::string(name(field.type)) + meaning);
    }
    if (!event.more.empty()) text += topic_row("    ...", event.more);
    return text;
}

}  // namespace

std::string screen_topic() {
    std::string text(kScreen);
    for (const metrics::JsonEvent& event : metrics::json_events())
        text += event_rows(event);
    return text;
}

}  // namespace cnntrain::cli
